/* Read-write locks: which threads share the lock, which are excluded, and for how long. */
#include "row.h"

static int tryrd(void *l) { return pthread_rwlock_tryrdlock(l); }
static int trywr(void *l) { return pthread_rwlock_trywrlock(l); }
static int unlock(void *l) { return pthread_rwlock_unlock(l); }

static int then_unlock(int result, pthread_rwlock_t *l)
{
    return result != 0 ? result : pthread_rwlock_unlock(l);
}

static int read_then_unlock(void *l) { return then_unlock(pthread_rwlock_rdlock(l), l); }
static int write_then_unlock(void *l) { return then_unlock(pthread_rwlock_wrlock(l), l); }
static int tryrd_then_unlock(void *l) { return then_unlock(tryrd(l), l); }

static int timedrd_60s_then_unlock(void *l)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 60000);
    return then_unlock(pthread_rwlock_timedrdlock(l, &until), l);
}

static int clockwr_60s_then_unlock(void *l)
{
    struct timespec until = in_ms(CLOCK_MONOTONIC, 60000);
    return then_unlock(pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &until), l);
}

/* ---- One lock, held in one way. ---- */

static int timed_reads(void *l)
{
    const struct timespec bad = { 1, 1000000000 }, past = { 1, 0 };
    ROW_TIMED("timedrdlock", CLOCK_REALTIME, 10, pthread_rwlock_timedrdlock(l, &until));
    ROW_TIMED("clockrdlock", CLOCK_MONOTONIC, 10, pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &until));
    ROW("timedrdlock, past", pthread_rwlock_timedrdlock(l, &past));
    ROW("timedrdlock, bad nsec", pthread_rwlock_timedrdlock(l, &bad));
    ROW("clockrdlock, bad clock", pthread_rwlock_clockrdlock(l, 77, &past));
    errno = UNTOUCHED;
    return pthread_rwlock_tryrdlock(l);
}

static int timed_writes(void *l)
{
    const struct timespec bad = { 1, -1 }, past = { 1, 0 };
    ROW_TIMED("timedwrlock", CLOCK_REALTIME, 10, pthread_rwlock_timedwrlock(l, &until));
    ROW_TIMED("clockwrlock", CLOCK_MONOTONIC, 10, pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &until));
    ROW("timedwrlock, past", pthread_rwlock_timedwrlock(l, &past));
    ROW("timedwrlock, bad nsec", pthread_rwlock_timedwrlock(l, &bad));
    ROW("clockwrlock, bad clock", pthread_rwlock_clockwrlock(l, CLOCK_PROCESS_CPUTIME_ID, &past));
    errno = UNTOUCHED;
    return pthread_rwlock_trywrlock(l);
}

/* glibc looks at the time, and at the clock, even where the lock is free. */
static void free_and_in_no_time(pthread_rwlock_t *l)
{
    const struct timespec late = { 1, 1000000000 }, early = { 1, -1 }, past = { -5, 0 };
    ROW("free, timedrdlock, bad nsec", then_unlock(pthread_rwlock_timedrdlock(l, &late), l));
    ROW("free, timedwrlock, bad nsec", then_unlock(pthread_rwlock_timedwrlock(l, &early), l));
    ROW("free, clockrdlock, bad nsec", then_unlock(pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &early), l));
    ROW("free, clockwrlock, bad nsec", then_unlock(pthread_rwlock_clockwrlock(l, CLOCK_REALTIME, &late), l));
    ROW("free, clockrdlock, bad clock", then_unlock(pthread_rwlock_clockrdlock(l, 77, &past), l));
    ROW("free, timedwrlock, past", then_unlock(pthread_rwlock_timedwrlock(l, &past), l));
}

static void read_held(pthread_rwlock_t *l)
{
    struct job writer;
    ROW("rdlock", pthread_rwlock_rdlock(l));
    ROW("rdlock again", pthread_rwlock_rdlock(l));
    ROW("unlock again", pthread_rwlock_unlock(l));
    row_elsewhere("another reads", read_then_unlock, l);
    row_elsewhere("another reads, timed", timedrd_60s_then_unlock, l);
    row_elsewhere("another tries to write", trywr, l);
    row_elsewhere("another writes, timed", timed_writes, l);
    ROW("trywrlock own read lock", pthread_rwlock_trywrlock(l));
    start(&writer, clockwr_60s_then_unlock, l);
    await_asleep(&writer);
    row_elsewhere("another tries to read while a writer waits", tryrd_then_unlock, l);
    ROW("unlock before a writer", pthread_rwlock_unlock(l));
    row_job("the writer", &writer);
}

static void write_held(pthread_rwlock_t *l)
{
    struct job readers[3], writer;
    const struct timespec past = { 1, 0 };
    ROW("wrlock", pthread_rwlock_wrlock(l));
    ROW("wrlock own", pthread_rwlock_wrlock(l));
    ROW("rdlock own", pthread_rwlock_rdlock(l));
    ROW("timedrdlock own", pthread_rwlock_timedrdlock(l, &past));
    ROW("clockwrlock own", pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &past));
    ROW("tryrdlock own", pthread_rwlock_tryrdlock(l));
    ROW("trywrlock own", pthread_rwlock_trywrlock(l));
    row_elsewhere("another tries to read", tryrd, l);
    row_elsewhere("another reads, timed", timed_reads, l);
    row_elsewhere("another writes, timed", timed_writes, l);
    for (size_t i = 0; i < COUNT(readers); i++) {
        start(&readers[i], i == 0 ? timedrd_60s_then_unlock : read_then_unlock, l);
        await_asleep(&readers[i]);
    }
    start(&writer, write_then_unlock, l);
    await_asleep(&writer);
    ROW("unlock before all", pthread_rwlock_unlock(l));
    for (size_t i = 0; i < COUNT(readers); i++)
        row_job("a reader", &readers[i]);
    row_job("a writer", &writer);
}

static void kinds(void)
{
    static pthread_rwlock_t still[] = { PTHREAD_RWLOCK_INITIALIZER,
                                        PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP };
    for (size_t i = 0; i < COUNT(still); i++) {
        line("static", "%zu", i);
        free_and_in_no_time(&still[i]);
        read_held(&still[i]);
        write_held(&still[i]);
    }
    for (int kind = PTHREAD_RWLOCK_PREFER_READER_NP; kind <= PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP; kind++)
        for (int shared = PTHREAD_PROCESS_PRIVATE; shared <= PTHREAD_PROCESS_SHARED; shared++) {
            pthread_rwlockattr_t attr;
            pthread_rwlock_t l;
            MUST(pthread_rwlockattr_init(&attr));
            MUST(pthread_rwlockattr_setkind_np(&attr, kind));
            MUST(pthread_rwlockattr_setpshared(&attr, shared));
            line("kind", "%d", kind);
            ROW("init", pthread_rwlock_init(&l, &attr));
            read_held(&l);
            write_held(&l);
            ROW("destroy", pthread_rwlock_destroy(&l));
        }
}

/* ---- Others. ---- */

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t inside;

/* Ends only if all are inside at once. */
static void *meet(void *unused)
{
    (void)unused;
    MUST(pthread_rwlock_rdlock(&lock));
    pthread_barrier_wait(&inside);
    MUST(pthread_rwlock_unlock(&lock));
    return NULL;
}

static long count, torn;

static void *add(void *p)
{
    pthread_rwlock_t *l = p;
    for (int i = 0; i < 3000; i++)
        if (i % 4 == 0) {
            MUST(pthread_rwlock_wrlock(l));
            count++;
            torn++;
            MUST(pthread_rwlock_unlock(l));
        } else {
            MUST(pthread_rwlock_rdlock(l));
            if (count != torn)
                abort();
            MUST(pthread_rwlock_unlock(l));
        }
    return NULL;
}

static void unusual(void)
{
    pthread_rwlock_t l;
    memset(&l, 0, sizeof l);
    ROW("wrlock zeroes", pthread_rwlock_wrlock(&l));
    row_elsewhere("unlocked by another", unlock, &l);
    ROW("rdlock", pthread_rwlock_rdlock(&l));
    row_elsewhere("unlocked by another", unlock, &l);
    ROW("trywrlock", pthread_rwlock_trywrlock(&l));
    memset(&l, 0, sizeof l);
    ROW("tryrdlock, wiped while locked", pthread_rwlock_tryrdlock(&l));
    ROW("init while locked", pthread_rwlock_init(&l, NULL));
    ROW("wrlock", pthread_rwlock_wrlock(&l));
    IN_CHILD("the child", {
        row_elsewhere("read in the child", tryrd, &l);
        ROW("init in the child", pthread_rwlock_init(&l, NULL));
        row_elsewhere("read in the child", read_then_unlock, &l);
    });
    ROW("unlock", pthread_rwlock_unlock(&l));
}

static void between_processes(void)
{
    pthread_rwlockattr_t attr;
    pthread_rwlock_t *l = shared_page();
    MUST(pthread_rwlockattr_init(&attr));
    MUST(pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    MUST(pthread_rwlock_init(l, &attr));
    ROW("rdlock", pthread_rwlock_rdlock(l));
    IN_CHILD("a child", {
        ROW("tryrdlock in the child", pthread_rwlock_tryrdlock(l));
        ROW("trywrlock in the child", pthread_rwlock_trywrlock(l));
        ROW("unlock in the child", pthread_rwlock_unlock(l));
    });
    ROW("unlock", pthread_rwlock_unlock(l));
    ROW("wrlock", pthread_rwlock_wrlock(l));
    IN_CHILD("a child", ROW("tryrdlock in the child", pthread_rwlock_tryrdlock(l)));
    ROW("unlock", pthread_rwlock_unlock(l));
}

int main(void)
{
    kinds();
    MUST(pthread_barrier_init(&inside, NULL, 6));
    crowd(6, meet, NULL);
    line("six readers at once", "yes");
    crowd(4, add, &lock);
    line("writers counted", "%ld", count);
    unusual();
    between_processes();
    return 0;
}
