/* Takes locks a known number of times, and prints the truth: for each lock its kind, address, calls that asked for it, and
 * those of them that were refused (trylock) or gave up (a deadline). */
#include "row.h"

enum { THREADS = 4, TIMES = 3000, LOCKS = 8, REFUSALS = 50, TIMEOUTS = 3, TURNS = 200, CHILDREN = 2 };

struct truth {
    const char *kind;
    void *lock;
    long calls, refused, gave_up;
};

static pthread_mutex_t normal[LOCKS], held = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER, rw_held = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t start_line;

static long tries, tries_refused;

/* Different callers of the same locks. */
__attribute__((noinline)) static void one_way(pthread_mutex_t *m)
{
    MUST(pthread_mutex_lock(m));
    MUST(pthread_mutex_unlock(m));
}

__attribute__((noinline)) static void another_way(pthread_mutex_t *m)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 60000);
    MUST(pthread_mutex_timedlock(m, &until));
    MUST(pthread_mutex_unlock(m));
}

static void *work(void *unused)
{
    long mine = 0, refused = 0;
    pthread_barrier_wait(&start_line);
    for (int i = 0; i < TIMES; i++)
        for (int k = 0; k < LOCKS - 1; k++)
            (i % 2 ? one_way : another_way)(&normal[k]);
    for (int i = 0; i < TIMES; i++, mine++)
        if (pthread_mutex_trylock(&normal[LOCKS - 1]) == 0)
            MUST(pthread_mutex_unlock(&normal[LOCKS - 1]));
        else
            refused++;
    for (int i = 0; i < TIMES; i++) {
        for (int deep = 0; deep < 3; deep++)
            MUST(pthread_mutex_lock(&recursive));
        for (int deep = 0; deep < 3; deep++)
            MUST(pthread_mutex_unlock(&recursive));
    }
    for (int i = 0; i < TIMES; i++) {
        MUST(i % 3 ? pthread_rwlock_rdlock(&rw) : pthread_rwlock_wrlock(&rw));
        MUST(pthread_rwlock_unlock(&rw));
        MUST(pthread_spin_lock(&spin));
        MUST(pthread_spin_unlock(&spin));
    }
    __atomic_add_fetch(&tries, mine, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&tries_refused, refused, __ATOMIC_SEQ_CST);
    return unused;
}

static void *be_refused(void *unused)
{
    for (int i = 0; i < REFUSALS; i++) {
        MUST(pthread_mutex_trylock(&held) == EBUSY ? 0 : EINVAL);
        MUST(pthread_rwlock_tryrdlock(&rw_held) == EBUSY ? 0 : EINVAL);
        MUST(pthread_rwlock_trywrlock(&rw_held) == EBUSY ? 0 : EINVAL);
    }
    for (int i = 0; i < TIMEOUTS; i++) {
        struct timespec until = in_ms(CLOCK_REALTIME, 2);
        MUST(pthread_mutex_timedlock(&held, &until) == ETIMEDOUT ? 0 : EINVAL);
        MUST(pthread_rwlock_timedrdlock(&rw_held, &until) == ETIMEDOUT ? 0 : EINVAL);
        MUST(pthread_rwlock_timedwrlock(&rw_held, &until) == ETIMEDOUT ? 0 : EINVAL);
    }
    return unused;
}

/* ---- What is waited for. ---- */

static pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static sem_t tokens, none;
static int turn;
static long turn_waits, turn_timeouts;

/* Spurious wake-ups cannot be predicted, so the waiter counts its waits. */
static void *take_turns(void *odd)
{
    long waits = 0;
    MUST(pthread_mutex_lock(&turns));
    for (int i = 0; i < TURNS; i++) {
        for (; turn % 2 != (odd != NULL); waits++)
            MUST(pthread_cond_wait(&turned, &turns));
        turn++;
        MUST(pthread_cond_signal(&turned));
    }
    turn_waits += waits;
    MUST(pthread_mutex_unlock(&turns));
    for (int i = 0; i < TURNS; i++) {
        MUST_SYS(sem_wait(&tokens));
        MUST_SYS(sem_post(&tokens));
    }
    return NULL;
}

static void wait_in_vain(void)
{
    MUST(pthread_mutex_lock(&turns));
    for (int i = 0; i < TIMEOUTS; i++) {
        struct timespec until = in_ms(CLOCK_REALTIME, 2);
        int result;
        while ((result = pthread_cond_timedwait(&turned, &turns, &until)) == 0)
            turn_waits++;
        MUST(result == ETIMEDOUT ? 0 : result);
        turn_timeouts++;
    }
    MUST(pthread_mutex_unlock(&turns));
    for (int i = 0; i < REFUSALS; i++)
        MUST(sem_trywait(&none) == -1 && errno == EAGAIN ? 0 : EINVAL);
    for (int i = 0; i < TIMEOUTS; i++) {
        struct timespec until = in_ms(CLOCK_REALTIME, 2);
        MUST(sem_timedwait(&none, &until) == -1 && errno == ETIMEDOUT ? 0 : EINVAL);
    }
}

static void waits(void)
{
    pthread_t pair[2];
    MUST_SYS(sem_init(&tokens, 0, 1));
    MUST_SYS(sem_init(&none, 0, 0));
    for (int i = 0; i < 2; i++)
        MUST(pthread_create(&pair[i], NULL, take_turns, i ? &turn : NULL));
    for (int i = 0; i < 2; i++)
        MUST(pthread_join(pair[i], NULL));
    wait_in_vain();
}

/* Its locks lie at the parent's addresses. */
static void children(void)
{
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        pid_t child = (pid_t)MUST_SYS(fork());
        if (child == 0) {
            for (int n = 0; n < TIMES; n++)
                one_way(&normal[0]);
            _exit(0);
        }
        MUST_SYS(waitpid(child, &status, 0));
    }
}

int main(void)
{
    for (int k = 0; k < LOCKS; k++)
        MUST(pthread_mutex_init(&normal[k], NULL));
    MUST(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
    MUST(pthread_barrier_init(&start_line, NULL, THREADS));
    crowd(THREADS, work, NULL);
    MUST(pthread_mutex_lock(&held));
    MUST(pthread_rwlock_wrlock(&rw_held));
    crowd(THREADS, be_refused, NULL);
    MUST(pthread_mutex_unlock(&held));
    MUST(pthread_rwlock_unlock(&rw_held));
    waits();
    children();

    const long each = (long)THREADS * TIMES, refusals = (long)THREADS * REFUSALS, timeouts = (long)THREADS * TIMEOUTS;
    struct truth all[] = {
        { "mutex", &held, 1 + refusals + timeouts, refusals, timeouts },
        { "mutex", &recursive, 3 * each, 0, 0 },
        { "mutex", &normal[LOCKS - 1], tries, tries_refused, 0 },
        { "mutex", &normal[0], each + CHILDREN * TIMES, 0, 0 },
        { "read", &rw, each * 2 / 3, 0, 0 },
        { "write", &rw, each / 3, 0, 0 },
        { "read", &rw_held, refusals + timeouts, refusals, timeouts },
        { "write", &rw_held, 1 + refusals + timeouts, refusals, timeouts },
        { "spin", (void *)&spin, each, 0, 0 },
        { "barrier", &start_line, THREADS, 0, 0 },
        { "mutex", &turns, 3, 0, 0 },
        /* A wait for a condition that ends by its time is no refusal: the mutex comes back as ever. */
        { "condition", &turned, turn_waits + turn_timeouts, 0, turn_timeouts },
        { "signal", &turned, 2 * TURNS, 0, 0 },
        { "reacquired", &turns, turn_waits + turn_timeouts, 0, 0 },
        { "semaphore", &tokens, 2 * TURNS, 0, 0 },
        { "semaphore", &none, REFUSALS + TIMEOUTS, REFUSALS, TIMEOUTS },
    };
    for (int k = 1; k < LOCKS - 1; k++)
        printf("mutex %p %ld 0 0\n", (void *)&normal[k], each);
    for (size_t i = 0; i < COUNT(all); i++)
        printf("%s %p %ld %ld %ld\n", all[i].kind, all[i].lock, all[i].calls, all[i].refused, all[i].gave_up);
    return 0;
}
