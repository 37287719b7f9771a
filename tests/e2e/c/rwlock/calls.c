/* Every function of read-write locks with every answer, for each initialiser and each kind. */
#include "expect.h"

static const int kinds[] = { PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                             PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP };
static const struct timespec past = { 1, 0 }, long_past = { -5, 0 }, late = { 1, 1000000000 }, early = { 1, -1 };
/* The clocks that these calls do not know. */
static const clockid_t bad_clocks[] = { 77, -1, CLOCK_PROCESS_CPUTIME_ID, CLOCK_MONOTONIC_RAW };

static void attributes(void)
{
    pthread_rwlockattr_t attr;
    int value = -1;
    EXPECT(0, pthread_rwlockattr_init(&attr));
    EXPECT(0, pthread_rwlockattr_getkind_np(&attr, &value));
    SAME(PTHREAD_RWLOCK_DEFAULT_NP, value);
    EXPECT(0, pthread_rwlockattr_getpshared(&attr, &value));
    SAME(PTHREAD_PROCESS_PRIVATE, value);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        EXPECT(0, pthread_rwlockattr_setkind_np(&attr, kinds[i]));
        EXPECT(0, pthread_rwlockattr_getkind_np(&attr, &value));
        SAME(kinds[i], value);
    }
    EXPECT(EINVAL, pthread_rwlockattr_setkind_np(&attr, 3));
    EXPECT(EINVAL, pthread_rwlockattr_setkind_np(&attr, -1));
    EXPECT(0, pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    EXPECT(EINVAL, pthread_rwlockattr_setpshared(&attr, 2));
    EXPECT(0, pthread_rwlockattr_getpshared(&attr, &value));
    SAME(PTHREAD_PROCESS_SHARED, value);
    EXPECT(0, pthread_rwlockattr_getkind_np(&attr, &value));
    SAME(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, value);
    EXPECT(0, pthread_rwlockattr_destroy(&attr));
}

/* ---- The times. ---- */

/* A bad time or clock is refused before anything else, whatever the state of the lock. */
static void bad_times_are_refused(pthread_rwlock_t *l)
{
    EXPECT(EINVAL, pthread_rwlock_timedrdlock(l, &late));
    EXPECT(EINVAL, pthread_rwlock_timedrdlock(l, &early));
    EXPECT(EINVAL, pthread_rwlock_timedwrlock(l, &late));
    EXPECT(EINVAL, pthread_rwlock_timedwrlock(l, &early));
    EXPECT(EINVAL, pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &late));
    EXPECT(EINVAL, pthread_rwlock_clockwrlock(l, CLOCK_REALTIME, &early));
    for (size_t i = 0; i < COUNT(bad_clocks); i++) {
        EXPECT(EINVAL, pthread_rwlock_clockrdlock(l, bad_clocks[i], &past));
        EXPECT(EINVAL, pthread_rwlock_clockwrlock(l, bad_clocks[i], &past));
    }
}

static void reads_time_out(pthread_rwlock_t *l)
{
    EXPECT(EBUSY, pthread_rwlock_tryrdlock(l));
    EXPECT(ETIMEDOUT, pthread_rwlock_timedrdlock(l, &past));
    EXPECT(ETIMEDOUT, pthread_rwlock_timedrdlock(l, &long_past));
    EXPECT(ETIMEDOUT, pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &long_past));
    EXPECT_TIMEOUT(CLOCK_REALTIME, 3, pthread_rwlock_timedrdlock(l, &until));
    EXPECT_TIMEOUT(CLOCK_REALTIME, 3, pthread_rwlock_clockrdlock(l, CLOCK_REALTIME, &until));
    EXPECT_TIMEOUT(CLOCK_MONOTONIC, 3, pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &until));
}

static void writes_time_out(pthread_rwlock_t *l)
{
    EXPECT(EBUSY, pthread_rwlock_trywrlock(l));
    EXPECT(ETIMEDOUT, pthread_rwlock_timedwrlock(l, &past));
    EXPECT(ETIMEDOUT, pthread_rwlock_timedwrlock(l, &long_past));
    EXPECT(ETIMEDOUT, pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &long_past));
    EXPECT_TIMEOUT(CLOCK_REALTIME, 3, pthread_rwlock_timedwrlock(l, &until));
    EXPECT_TIMEOUT(CLOCK_REALTIME, 3, pthread_rwlock_clockwrlock(l, CLOCK_REALTIME, &until));
    EXPECT_TIMEOUT(CLOCK_MONOTONIC, 3, pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &until));
}

/* A free lock is acquired whatever the time is, and without a time as by the calls that know none. */
static void free_lock_is_acquired(pthread_rwlock_t *l)
{
    const struct timespec *volatile none = NULL;
    EXPECT(0, then_unlock(pthread_rwlock_rdlock(l), l));
    EXPECT(0, then_unlock(pthread_rwlock_wrlock(l), l));
    EXPECT(0, then_unlock(pthread_rwlock_tryrdlock(l), l));
    EXPECT(0, then_unlock(pthread_rwlock_trywrlock(l), l));
    EXPECT(0, then_unlock(pthread_rwlock_timedrdlock(l, &past), l));
    EXPECT(0, then_unlock(pthread_rwlock_timedwrlock(l, &long_past), l));
    EXPECT(0, then_unlock(pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &past), l));
    EXPECT(0, then_unlock(pthread_rwlock_clockwrlock(l, CLOCK_REALTIME, &long_past), l));
    EXPECT(0, then_unlock(pthread_rwlock_timedrdlock(l, none), l));
    EXPECT(0, then_unlock(pthread_rwlock_timedwrlock(l, none), l));
    EXPECT(0, then_unlock(pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, none), l));
    EXPECT(0, then_unlock(pthread_rwlock_clockwrlock(l, 77, none), l));
}

/* ---- The states. ---- */

static void held_for_reading(pthread_rwlock_t *l)
{
    struct holder reader;
    start_holder(&reader, rd, l);
    writes_time_out(l);
    bad_times_are_refused(l);
    EXPECT(0, rd_unlock(l));
    EXPECT(0, timed_rd_unlock(l));
    EXPECT(0, pthread_rwlock_tryrdlock(l));
    EXPECT(EBUSY, pthread_rwlock_trywrlock(l));
    EXPECT(ETIMEDOUT, pthread_rwlock_timedwrlock(l, &past));
    EXPECT(0, pthread_rwlock_unlock(l));
    EXPECT(EBUSY, elsewhere(trywr, l));
    EXPECT(0, end_holder(&reader));
    EXPECT(0, elsewhere(trywr_unlock, l));
}

static void held_for_writing(pthread_rwlock_t *l)
{
    struct holder writer;
    start_holder(&writer, wr, l);
    reads_time_out(l);
    writes_time_out(l);
    bad_times_are_refused(l);
    EXPECT(0, end_holder(&writer));
    EXPECT(0, elsewhere(trywr_unlock, l));
}

/* The writer is told that it would wait for itself. A try call is not a wait. */
static void held_by_the_caller(pthread_rwlock_t *l)
{
    const struct timespec *volatile none = NULL;
    int (*const acquire[])(void *) = { wr, trywr };
    for (size_t i = 0; i < COUNT(acquire); i++) {
        EXPECT(0, acquire[i](l));
        EXPECT(EDEADLK, pthread_rwlock_wrlock(l));
        EXPECT(EDEADLK, pthread_rwlock_rdlock(l));
        EXPECT(EDEADLK, pthread_rwlock_timedrdlock(l, &past));
        EXPECT(EDEADLK, pthread_rwlock_timedwrlock(l, &past));
        EXPECT(EDEADLK, pthread_rwlock_timedrdlock(l, none));
        EXPECT(EDEADLK, pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &past));
        EXPECT(EDEADLK, pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &past));
        EXPECT(EDEADLK, pthread_rwlock_clockwrlock(l, CLOCK_REALTIME, none));
        EXPECT(EBUSY, pthread_rwlock_tryrdlock(l));
        EXPECT(EBUSY, pthread_rwlock_trywrlock(l));
        bad_times_are_refused(l);
        EXPECT(EBUSY, elsewhere(tryrd, l));
        EXPECT(EBUSY, elsewhere(trywr, l));
        EXPECT(0, pthread_rwlock_unlock(l));
        EXPECT(0, elsewhere(trywr_unlock, l));
    }
}

/* One function releases both sides: the lock knows how the caller holds it. */
static void right_side_is_released(pthread_rwlock_t *l)
{
    for (int i = 0; i < 2; i++) {
        EXPECT(0, pthread_rwlock_rdlock(l));
        EXPECT(0, pthread_rwlock_rdlock(l));
        EXPECT(0, pthread_rwlock_unlock(l));
        EXPECT(EBUSY, elsewhere(trywr, l));
        EXPECT(0, elsewhere(tryrd_unlock, l));
        EXPECT(0, pthread_rwlock_unlock(l));
        EXPECT(0, pthread_rwlock_wrlock(l));
        EXPECT(EBUSY, elsewhere(tryrd, l));
        EXPECT(0, pthread_rwlock_unlock(l));
        EXPECT(0, elsewhere(trywr_unlock, l));
    }
    /* Each of three threads may release for another one. */
    for (int i = 0; i < 3; i++)
        EXPECT(0, elsewhere(i % 2 ? rd : tryrd, l));
    for (int i = 0; i < 3; i++) {
        EXPECT(EBUSY, pthread_rwlock_trywrlock(l));
        EXPECT(0, i == 0 ? pthread_rwlock_unlock(l) : elsewhere(unlock, l));
    }
    EXPECT(0, pthread_rwlock_rdlock(l));
    EXPECT(0, elsewhere(unlock, l));
    EXPECT(0, trywr_unlock(l));
    EXPECT(0, elsewhere(trywr_unlock, l));
}

/* The waiters get it, all readers at once. */
static void released_to_waiters(pthread_rwlock_t *l)
{
    struct job readers[3], writers[2];
    EXPECT(0, pthread_rwlock_wrlock(l));
    for (size_t i = 0; i < COUNT(readers); i++)
        start_asleep(&readers[i], i == 1 ? timed_rd_unlock : rd_unlock, l);
    for (size_t i = 0; i < COUNT(writers); i++)
        start_asleep(&writers[i], i == 1 ? clock_wr_unlock : wr_unlock, l);
    EXPECT(0, pthread_rwlock_unlock(l));
    for (size_t i = 0; i < COUNT(readers); i++)
        EXPECT(0, answer_of(&readers[i]));
    for (size_t i = 0; i < COUNT(writers); i++)
        EXPECT(0, answer_of(&writers[i]));
    EXPECT(0, pthread_rwlock_rdlock(l));
    start_asleep(&writers[0], clock_wr_unlock, l);
    EXPECT(0, pthread_rwlock_unlock(l));
    EXPECT(0, answer_of(&writers[0]));
    EXPECT(0, elsewhere(trywr_unlock, l));
}

/* The kind and whether processes share the lock can be read in it, and stay what they are. */
static void every_state(pthread_rwlock_t *l, int shared, int kind)
{
    line("a lock", "shared %d, kind %d", shared, kind);
    SAME(shared, l->__data.__shared);
    SAME(kind, l->__data.__flags);
    free_lock_is_acquired(l);
    bad_times_are_refused(l);
    held_for_reading(l);
    held_for_writing(l);
    held_by_the_caller(l);
    right_side_is_released(l);
    released_to_waiters(l);
    free_lock_is_acquired(l);
    SAME(shared, l->__data.__shared);
    SAME(kind, l->__data.__flags);
}

static void every_lock(void)
{
    static pthread_rwlock_t zeroes;
    static pthread_rwlock_t still = PTHREAD_RWLOCK_INITIALIZER;
    static pthread_rwlock_t writers_first = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    pthread_rwlock_t l;
    pthread_rwlockattr_t attr;
    every_state(&zeroes, 0, PTHREAD_RWLOCK_DEFAULT_NP);
    every_state(&still, 0, PTHREAD_RWLOCK_DEFAULT_NP);
    every_state(&writers_first, 0, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    EXPECT(0, pthread_rwlock_destroy(&zeroes));
    EXPECT(0, pthread_rwlock_destroy(&still));
    EXPECT(0, pthread_rwlock_destroy(&writers_first));
    MUST(pthread_rwlockattr_init(&attr));
    for (size_t i = 0; i < COUNT(kinds); i++)
        for (int shared = 0; shared < 2; shared++) {
            MUST(pthread_rwlockattr_setkind_np(&attr, kinds[i]));
            MUST(pthread_rwlockattr_setpshared(&attr, shared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE));
            memset(&l, 0xa5, sizeof l);
            EXPECT(0, pthread_rwlock_init(&l, &attr));
            every_state(&l, shared, kinds[i]);
            EXPECT(0, pthread_rwlock_destroy(&l));
        }
    /* Destroyed, and made again as another kind, without a destruction too. */
    EXPECT(0, pthread_rwlock_init(&l, NULL));
    every_state(&l, 0, PTHREAD_RWLOCK_DEFAULT_NP);
    EXPECT(0, pthread_rwlock_init(&l, &attr));
    SAME(1, l.__data.__shared);
    SAME(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, l.__data.__flags);
    EXPECT(0, pthread_rwlock_init(&l, NULL));
    SAME(0, l.__data.__shared);
    EXPECT(0, trywr_unlock(&l));
}

/* ---- What programs do with the memory of a lock. ---- */

static void held_locks_are_made_again(void)
{
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    int (*const acquire[])(void *) = { rd, wr };
    for (size_t i = 0; i < COUNT(acquire); i++) {
        line("made again while held", "%s", i == 0 ? "for reading" : "for writing");
        EXPECT(0, acquire[i](&l));
        EXPECT(0, pthread_rwlock_init(&l, NULL));
        EXPECT(0, elsewhere(trywr_unlock, &l));
        EXPECT(0, elsewhere(acquire[i], &l));
        EXPECT(0, pthread_rwlock_destroy(&l));
        EXPECT(0, pthread_rwlock_init(&l, NULL));
        EXPECT(0, elsewhere(trywr_unlock, &l));
        EXPECT(0, acquire[i](&l));
        memset(&l, 0, sizeof l);
        EXPECT(0, elsewhere(trywr_unlock, &l));
        EXPECT(0, trywr_unlock(&l));
        EXPECT(0, elsewhere(acquire[i], &l));
        l = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
        EXPECT(0, trywr_unlock(&l));
    }
}

/* A free lock may be copied: it is a lock of its own then, of the same kind. */
static void copies_are_independent(void)
{
    for (size_t i = 0; i < COUNT(kinds); i++) {
        pthread_rwlock_t a = lock_of_kind(kinds[i]), copies[4];
        for (size_t n = 0; n < COUNT(copies); n++) {
            memcpy(&copies[n], &a, sizeof a);
            EXPECT(0, pthread_rwlock_wrlock(&copies[n]));
            EXPECT(0, elsewhere(trywr_unlock, &a));
            SAME(kinds[i], copies[n].__data.__flags);
            /* Each copy is made of a lock that has seen more. */
            EXPECT(0, rd_unlock(&a));
            released_to_waiters(&a);
            for (int reads = 0; reads < 100; reads++)
                MUST(rd_unlock(&a));
        }
        EXPECT(0, pthread_rwlock_rdlock(&a));
        for (size_t n = 0; n < COUNT(copies); n++) {
            EXPECT(EBUSY, elsewhere(tryrd, &copies[n]));
            EXPECT(EDEADLK, pthread_rwlock_wrlock(&copies[n]));
            EXPECT(0, pthread_rwlock_unlock(&copies[n]));
        }
        EXPECT(0, pthread_rwlock_unlock(&a));
        memset(&copies, 0, sizeof copies);
        EXPECT(0, pthread_rwlock_rdlock(&copies[0]));
        EXPECT(0, elsewhere(trywr_unlock, &copies[1]));
        EXPECT(0, pthread_rwlock_unlock(&copies[0]));
        EXPECT(0, elsewhere(trywr_unlock, &a));
    }
}

/* ---- Two processes. ---- */

struct page {
    pthread_rwlock_t lock;
    long count, twin;
};

static void add_many(struct page *page)
{
    for (int i = 0; i < 2000; i++)
        if (i % 4 == 0) {
            MUST(pthread_rwlock_wrlock(&page->lock));
            page->count++;
            page->twin--;
            MUST(pthread_rwlock_unlock(&page->lock));
        } else {
            MUST(pthread_rwlock_rdlock(&page->lock));
            HOLDS(page->count == -page->twin);
            MUST(pthread_rwlock_unlock(&page->lock));
        }
}

static void two_processes(int kind)
{
    struct page *page = (struct page *)shared_page();
    pthread_rwlock_t *l = &page->lock;
    pthread_rwlockattr_t attr;
    struct timespec until;
    MUST(pthread_rwlockattr_init(&attr));
    MUST(pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    MUST(pthread_rwlockattr_setkind_np(&attr, kind));
    EXPECT(0, pthread_rwlock_init(l, &attr));
    EXPECT(0, pthread_rwlock_rdlock(l));
    IN_PROCESS({
        EXPECT(EBUSY, pthread_rwlock_trywrlock(l));
        EXPECT(0, rd_unlock(l));
        EXPECT(0, pthread_rwlock_tryrdlock(l));
        EXPECT(0, pthread_rwlock_unlock(l));
    });
    EXPECT(0, pthread_rwlock_unlock(l));
    EXPECT(0, pthread_rwlock_wrlock(l));
    IN_PROCESS({
        EXPECT(EBUSY, pthread_rwlock_tryrdlock(l));
        EXPECT(EBUSY, pthread_rwlock_trywrlock(l));
        EXPECT_TIMEOUT(CLOCK_REALTIME, 3, pthread_rwlock_timedwrlock(l, &until));
        EXPECT_TIMEOUT(CLOCK_MONOTONIC, 3, pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &until));
    });
    fflush(stdout);
    pid_t child = (pid_t)MUST_SYS(fork());
    if (child == 0) {
        until = in_ms(CLOCK_REALTIME, 60000);
        MUST(pthread_rwlock_timedwrlock(l, &until));
        MUST(pthread_rwlock_unlock(l));
        add_many(page);
        _exit(0);
    }
    pause_ms(5);
    EXPECT(0, pthread_rwlock_unlock(l));
    add_many(page);
    SAME(0, status_of(child));
    SAME(1000, page->count);
    EXPECT(0, trywr_unlock(l));
    EXPECT(0, pthread_rwlock_destroy(l));
    MUST_SYS(munmap(page, 4096));
}

int main(void)
{
    attributes();
    every_lock();
    held_locks_are_made_again();
    copies_are_independent();
    for (size_t i = 0; i < COUNT(kinds); i++)
        two_processes(kinds[i]);
    return 0;
}
