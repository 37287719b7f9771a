/* What the programs about read-write locks share: calls whose answers are known, made here or by another thread. Each prints a
 * line; another answer ends the program, which may wait for ever behind it, with exit status 1. */
#ifndef EXPECT_H
#define EXPECT_H
#include "../pthread/row.h"

SHARED_HELPER void expect(const char *row, int wanted, int result, int error, int at)
{
    report(row, result, error);
    if (result != wanted || error != UNTOUCHED) {
        fprintf(stderr, "line %d: %s: %s, errno %s\n", at, row, name_of(result), name_of(error));
        _exit(1);
    }
}

/* A call that answers this number, and leaves errno alone. */
#define EXPECT(wanted, call)                                       \
    do {                                                           \
        errno = UNTOUCHED;                                         \
        int result_ = (call);                                      \
        expect(#call, (wanted), result_, errno, __LINE__);         \
    } while (0)

/* A value, or a condition that must hold. */
#define SAME(wanted, value)                                        \
    do {                                                           \
        long value_ = (long)(value);                               \
        same(#value, (long)(wanted), value_, __LINE__);            \
    } while (0)

SHARED_HELPER void same(const char *row, long wanted, long value, int at)
{
    line(row, "%ld", value);
    if (value != wanted) {
        fprintf(stderr, "line %d: %s: %ld\n", at, row, value);
        _exit(1);
    }
}

/* A wait until `until`, which lies that far in the future: it must not end before. */
#define EXPECT_TIMEOUT(clock, ms, call)                            \
    do {                                                           \
        struct timespec until = in_ms((clock), (ms));              \
        EXPECT(ETIMEDOUT, (call));                                 \
        int is_over_ = is_past((clock), &until);                   \
        if (!is_over_)                                             \
            SAME(1, is_over_);                                     \
    } while (0)

/* What must hold, or the program cannot go on. */
#define HOLDS(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition);       \
            abort();                                                              \
        }                                                                         \
    } while (0)

/* ---- Calls for other threads. ---- */

SHARED_HELPER int rd(void *l) { return pthread_rwlock_rdlock((pthread_rwlock_t *)l); }
SHARED_HELPER int wr(void *l) { return pthread_rwlock_wrlock((pthread_rwlock_t *)l); }
SHARED_HELPER int tryrd(void *l) { return pthread_rwlock_tryrdlock((pthread_rwlock_t *)l); }
SHARED_HELPER int trywr(void *l) { return pthread_rwlock_trywrlock((pthread_rwlock_t *)l); }
SHARED_HELPER int unlock(void *l) { return pthread_rwlock_unlock((pthread_rwlock_t *)l); }

SHARED_HELPER int then_unlock(int result, void *l) { return result != 0 ? result : unlock(l); }
SHARED_HELPER int rd_unlock(void *l) { return then_unlock(rd(l), l); }
SHARED_HELPER int wr_unlock(void *l) { return then_unlock(wr(l), l); }
SHARED_HELPER int tryrd_unlock(void *l) { return then_unlock(tryrd(l), l); }
SHARED_HELPER int trywr_unlock(void *l) { return then_unlock(trywr(l), l); }

/* A minute is for ever here: a test that waits so long fails by it. */
SHARED_HELPER int timed_rd_unlock(void *l)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 60000);
    return then_unlock(pthread_rwlock_timedrdlock((pthread_rwlock_t *)l, &until), l);
}

SHARED_HELPER int clock_wr_unlock(void *l)
{
    struct timespec until = in_ms(CLOCK_MONOTONIC, 60000);
    return then_unlock(pthread_rwlock_clockwrlock((pthread_rwlock_t *)l, CLOCK_MONOTONIC, &until), l);
}

/* The answer that the call has in a new thread, and its errno. */
SHARED_HELPER int elsewhere(int (*call)(void *), void *argument)
{
    struct job job;
    start(&job, call, argument);
    MUST(pthread_join(job.thread, NULL));
    errno = job.error;
    return job.result;
}

/* The answer of a call that was started. */
SHARED_HELPER int answer_of(struct job *job)
{
    MUST(pthread_join(job->thread, NULL));
    errno = job->error;
    return job->result;
}

SHARED_HELPER void start_asleep(struct job *job, int (*call)(void *), void *argument)
{
    start(job, call, argument);
    await_asleep(job);
}

/* A thread that acquires a lock, and releases it when it is told to. */
struct holder {
    int (*acquire)(void *);
    void *lock;
    int holds, leave;
    struct job job;
};

SHARED_HELPER int hold(void *p)
{
    struct holder *holder = (struct holder *)p;
    int result = holder->acquire(holder->lock);
    __atomic_store_n(&holder->holds, 1, __ATOMIC_SEQ_CST);
    await_value(&holder->leave, 1);
    return then_unlock(result, holder->lock);
}

SHARED_HELPER void start_holder(struct holder *holder, int (*acquire)(void *), void *lock)
{
    memset(holder, 0, sizeof *holder);
    holder->acquire = acquire;
    holder->lock = lock;
    start(&holder->job, hold, holder);
    await_value(&holder->holds, 1);
}

/* The answer of the release. */
SHARED_HELPER int end_holder(struct holder *holder)
{
    __atomic_store_n(&holder->leave, 1, __ATOMIC_SEQ_CST);
    return answer_of(&holder->job);
}

/* ---- Other processes. ---- */

/* Runs the body in a child, which must succeed. */
#define IN_PROCESS(body)                                   \
    do {                                                   \
        fflush(stdout);                                    \
        pid_t child_ = (pid_t)MUST_SYS(fork());            \
        if (child_ == 0) {                                 \
            body;                                          \
            fflush(stdout);                                \
            _exit(0);                                      \
        }                                                  \
        SAME(0, status_of(child_));                        \
    } while (0)

SHARED_HELPER int status_of(pid_t child)
{
    int status = -1;
    MUST_SYS(waitpid(child, &status, 0));
    return status;
}

/* ---- Small things. ---- */

SHARED_HELPER void start_small(pthread_t *thread, void *(*run)(void *), void *argument)
{
    pthread_attr_t attr;
    MUST(pthread_attr_init(&attr));
    MUST(pthread_attr_setstacksize(&attr, 128 << 10));
    MUST(pthread_create(thread, &attr, run, argument));
    MUST(pthread_attr_destroy(&attr));
}

SHARED_HELPER pthread_rwlock_t lock_of_kind(int kind)
{
    pthread_rwlock_t lock;
    pthread_rwlockattr_t attr;
    MUST(pthread_rwlockattr_init(&attr));
    MUST(pthread_rwlockattr_setkind_np(&attr, kind));
    MUST(pthread_rwlock_init(&lock, &attr));
    MUST(pthread_rwlockattr_destroy(&attr));
    return lock;
}

/* The random numbers of a seed (xorshift, Marsaglia 2003). */
SHARED_HELPER unsigned random_below(uint64_t *state, unsigned limit)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (unsigned)((*state >> 32) % limit);
}

#endif
