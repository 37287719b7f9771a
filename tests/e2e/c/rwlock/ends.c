/* Threads that are cancelled, and threads that end while they hold read-write locks. No call of these is a cancellation point. */
#include "expect.h"
#include <limits.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void row_end(const char *row, pthread_t thread, int is_cancelled)
{
    void *value = NULL;
    MUST(pthread_join(thread, &value));
    line("ended", "%s", row);
    SAME(is_cancelled, value == PTHREAD_CANCELED);
}

/* ---- Cancelled while they wait. ---- */

struct waiter {
    int (*acquire)(void *);
    int acquired;
    pid_t tid;
    pthread_t thread;
};

/* Set when the thread has been cancelled. */
static int may_end;

/* It gets what it waits for, and is cancelled behind that. On a busy machine a short wait may be over before another thread sees it:
 * then this one is cancelled where it waits for that. */
static void *acquire_then_test(void *p)
{
    struct waiter *me = (struct waiter *)p;
    __atomic_store_n(&me->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
    int result = me->acquire(&lock);
    __atomic_store_n(&me->acquired, 1 + result, __ATOMIC_SEQ_CST);
    if (result == 0)
        MUST(unlock(&lock));
    await_value(&may_end, 1);
    pthread_testcancel();
    return NULL;
}

static int timed_wr(void *l)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 60000);
    return pthread_rwlock_timedwrlock((pthread_rwlock_t *)l, &until);
}

static int clock_rd(void *l)
{
    struct timespec until = in_ms(CLOCK_MONOTONIC, 60000);
    return pthread_rwlock_clockrdlock((pthread_rwlock_t *)l, CLOCK_MONOTONIC, &until);
}

static int brief_wr(void *l)
{
    struct timespec until = in_ms(CLOCK_MONOTONIC, 20);
    return pthread_rwlock_clockwrlock((pthread_rwlock_t *)l, CLOCK_MONOTONIC, &until);
}

static int brief_rd(void *l)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 20);
    return pthread_rwlock_timedrdlock((pthread_rwlock_t *)l, &until);
}

static void cancelled_while_it_waits(const char *row, int (*hold)(void *), int (*acquire)(void *), int is_brief)
{
    struct waiter waiter = { acquire, 0, 0, 0 };
    __atomic_store_n(&may_end, 0, __ATOMIC_SEQ_CST);
    MUST(hold(&lock));
    MUST(pthread_create(&waiter.thread, NULL, acquire_then_test, &waiter));
    await_asleep_tid(&waiter.tid);
    MUST(pthread_cancel(waiter.thread));
    __atomic_store_n(&may_end, 1, __ATOMIC_SEQ_CST);
    if (!is_brief) {
        pause_ms(5);
        SAME(0, __atomic_load_n(&waiter.acquired, __ATOMIC_SEQ_CST));
        MUST(unlock(&lock));
    }
    row_end(row, waiter.thread, 1);
    SAME(is_brief ? ETIMEDOUT : 0, waiter.acquired - 1);
    if (is_brief)
        MUST(unlock(&lock));
    EXPECT(0, trywr_unlock(&lock));
}

/* Cancelled before it comes to a lock at all. */
static void *acquire_cancelled(void *unused)
{
    (void)unused;
    MUST(pthread_cancel(pthread_self()));
    MUST(rd(&lock));
    MUST(unlock(&lock));
    MUST(wr(&lock));
    MUST(unlock(&lock));
    MUST(tryrd_unlock(&lock));
    MUST(trywr_unlock(&lock));
    MUST(timed_rd_unlock(&lock));
    MUST(clock_wr_unlock(&lock));
    line("cancelled before", "got through");
    pthread_testcancel();
    return NULL;
}

static void cancelled_and_deferred(void)
{
    pthread_t thread;
    cancelled_while_it_waits("wrlock behind a writer", wr, wr, 0);
    cancelled_while_it_waits("wrlock behind a reader", rd, wr, 0);
    cancelled_while_it_waits("rdlock behind a writer", wr, rd, 0);
    cancelled_while_it_waits("timedwrlock behind a writer", wr, timed_wr, 0);
    cancelled_while_it_waits("timedwrlock behind a reader", rd, timed_wr, 0);
    cancelled_while_it_waits("clockrdlock behind a writer", wr, clock_rd, 0);
    cancelled_while_it_waits("clockwrlock that ends by itself", rd, brief_wr, 1);
    cancelled_while_it_waits("timedrdlock that ends by itself", wr, brief_rd, 1);
    MUST(pthread_create(&thread, NULL, acquire_cancelled, NULL));
    row_end("a thread that cancelled itself", thread, 1);
}

/* ---- Cancelled at any moment, but outside of the calls. ---- */

static int running;

static void release(void *l)
{
    MUST(unlock(l));
}

/* Holds it, and is cancelled in the middle of it. */
static void *spin_with_it(void *acquire)
{
    int old;
    MUST(((struct waiter *)acquire)->acquire(&lock));
    pthread_cleanup_push(release, &lock);
    __atomic_store_n(&running, 1, __ATOMIC_SEQ_CST);
    MUST(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
    for (;;)
        __asm__ volatile("pause");
    pthread_cleanup_pop(1);
    return NULL;
}

static void *use_then_spin(void *unused)
{
    int old;
    MUST(rd_unlock(&lock));
    MUST(wr_unlock(&lock));
    MUST(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
    __atomic_store_n(&running, 1, __ATOMIC_SEQ_CST);
    for (;;)
        __asm__ volatile("pause");
    return unused;
}

/* Reaches a cancellation point with the lock, and another one without. */
static void reach_point_with_it(int (*acquire)(void *))
{
    MUST(acquire(&lock));
    pthread_cleanup_push(release, &lock);
    __atomic_store_n(&running, 1, __ATOMIC_SEQ_CST);
    pthread_testcancel();
    pthread_cleanup_pop(1);
}

static void *reach_points(void *acquire)
{
    for (;;) {
        reach_point_with_it(((struct waiter *)acquire)->acquire);
        pthread_testcancel();
    }
    return NULL;
}

static void cancelled_outside(void)
{
    void *(*const bodies[])(void *) = { spin_with_it, use_then_spin, reach_points };
    int (*const acquire[])(void *) = { rd, wr };
    for (size_t i = 0; i < 24; i++) {
        struct waiter how = { acquire[i % 2], 0, 0, 0 };
        pthread_t thread;
        running = 0;
        MUST(pthread_create(&thread, NULL, bodies[i % 3], &how));
        while (!__atomic_load_n(&running, __ATOMIC_SEQ_CST))
            sched_yield();
        MUST(pthread_cancel(thread));
        row_end("cancelled outside", thread, 1);
        EXPECT(0, trywr_unlock(&lock));
    }
}

/* ---- Ended with locks. ---- */

enum { LOCKS = 12 };
static pthread_rwlock_t kept[LOCKS];

static void *end_with_reads(void *how)
{
    for (int i = 0; i < LOCKS; i++) {
        MUST(i % 2 ? rd(&kept[i]) : tryrd(&kept[i]));
        if (i % 3 == 0)
            MUST(rd(&kept[i]));
    }
    if (how != NULL)
        pthread_exit(how);
    return how;
}

static void *come_and_go(void *unused)
{
    for (int i = 0; i < LOCKS; i++)
        MUST(tryrd_unlock(&kept[i]));
    MUST(rd_unlock(&lock));
    return unused;
}

/* A lock that a thread held at its end stays held for reading, whatever threads come after it. Any thread releases it. */
static void ended_with_reads(void)
{
    pthread_t thread;
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < LOCKS; i++)
            kept[i] = lock_of_kind(i % 3);
        MUST(pthread_create(&thread, NULL, end_with_reads, round % 2 ? PTHREAD_CANCELED : NULL));
        row_end("a thread with locks", thread, round % 2);
        crowd(20, come_and_go, NULL);
        for (int i = 0; i < LOCKS; i++) {
            struct job writer;
            EXPECT(EBUSY, trywr(&kept[i]));
            if (i % 3 == 0) {
                MUST(elsewhere(unlock, &kept[i]));
                EXPECT(EBUSY, elsewhere(trywr, &kept[i]));
            }
            start_asleep(&writer, wr_unlock, &kept[i]);
            EXPECT(0, i % 2 ? elsewhere(unlock, &kept[i]) : unlock(&kept[i]));
            EXPECT(0, answer_of(&writer));
            EXPECT(0, trywr_unlock(&kept[i]));
        }
        crowd(20, come_and_go, NULL);
    }
}

static void *end_with_a_write(void *unused)
{
    MUST(wr(&kept[0]));
    return unused;
}

/* A writer that ended keeps it for ever. */
static void ended_with_a_write(void)
{
    pthread_t thread;
    kept[0] = lock_of_kind(PTHREAD_RWLOCK_DEFAULT_NP);
    MUST(pthread_create(&thread, NULL, end_with_a_write, NULL));
    row_end("a thread that wrote", thread, 0);
    EXPECT(EBUSY, tryrd(&kept[0]));
    EXPECT(EBUSY, elsewhere(trywr, &kept[0]));
    EXPECT_TIMEOUT(CLOCK_REALTIME, 3, pthread_rwlock_timedrdlock(&kept[0], &until));
    EXPECT(0, pthread_rwlock_init(&kept[0], NULL));
    EXPECT(0, elsewhere(trywr_unlock, &kept[0]));
}

/* ---- Locks in destructors of thread-specific data, the last code of a thread. ---- */

static pthread_key_t key;

static void at_end(void *value)
{
    intptr_t more = (intptr_t)value - 1;
    MUST(rd(&lock));
    MUST(rd_unlock(&kept[1]));
    MUST(unlock(&lock));
    MUST(wr_unlock(&lock));
    if (more > 0)
        MUST(pthread_setspecific(key, (void *)more));
}

static void *end_with_values(void *unused)
{
    MUST(pthread_setspecific(key, (void *)(intptr_t)PTHREAD_DESTRUCTOR_ITERATIONS));
    return unused;
}

static void destructors_lock(void)
{
    kept[1] = lock_of_kind(PTHREAD_RWLOCK_DEFAULT_NP);
    MUST(pthread_key_create(&key, at_end));
    crowd(30, end_with_values, NULL);
    EXPECT(0, trywr_unlock(&lock));
    EXPECT(0, trywr_unlock(&kept[1]));
}

int main(void)
{
    cancelled_and_deferred();
    cancelled_outside();
    ended_with_reads();
    ended_with_a_write();
    destructors_lock();
    return 0;
}
