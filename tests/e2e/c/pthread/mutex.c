/* Mutexes: every kind, and what each answers to its owner and to other threads. */
#include "row.h"
#include <limits.h>

static int lock(void *m) { return pthread_mutex_lock(m); }
static int trylock(void *m) { return pthread_mutex_trylock(m); }
static int unlock(void *m) { return pthread_mutex_unlock(m); }

static int lock_then_unlock(void *m)
{
    int result = pthread_mutex_lock(m);
    return result != 0 ? result : pthread_mutex_unlock(m);
}

static int timedlock_20ms(void *m)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 20);
    return pthread_mutex_timedlock(m, &until);
}

static int timedlock_60s_then_unlock(void *m)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 60000);
    int result = pthread_mutex_timedlock(m, &until);
    return result != 0 ? result : pthread_mutex_unlock(m);
}

static void init(pthread_mutex_t *m, int kind, int protocol, int shared)
{
    pthread_mutexattr_t attr;
    MUST(pthread_mutexattr_init(&attr));
    MUST(pthread_mutexattr_settype(&attr, kind));
    MUST(pthread_mutexattr_setprotocol(&attr, protocol));
    MUST(pthread_mutexattr_setpshared(&attr, shared));
    MUST(pthread_mutex_init(m, &attr));
    MUST(pthread_mutexattr_destroy(&attr));
}

/* ---- One mutex, two threads. ---- */

static void questions(const char *kind, pthread_mutex_t *m, int nests, int knows_owner)
{
    const struct timespec past = { 1, 0 };
    line("kind", "%s", kind);
    ROW("lock", pthread_mutex_lock(m));
    ROW("trylock own", pthread_mutex_trylock(m));
    if (nests)
        ROW("unlock once", pthread_mutex_unlock(m));
    if (knows_owner) {
        ROW("lock own", pthread_mutex_lock(m));
        if (nests)
            ROW("unlock once", pthread_mutex_unlock(m));
        row_elsewhere("unlock another's", unlock, m);
    }
    ROW("timedlock own", pthread_mutex_timedlock(m, &past));
    if (nests)
        ROW("unlock once", pthread_mutex_unlock(m));
    row_elsewhere("trylock another's", trylock, m);
    row_elsewhere("timedlock another's", timedlock_20ms, m);
    ROW("destroy locked", pthread_mutex_destroy(m));
    struct job waiter;
    start(&waiter, lock_then_unlock, m);
    await_asleep(&waiter);
    ROW("unlock before a waiter", pthread_mutex_unlock(m));
    row_job("the waiter", &waiter);
    start(&waiter, timedlock_60s_then_unlock, m);
    row_job("timedlock free", &waiter);
    if (knows_owner)
        ROW("unlock nobody's", pthread_mutex_unlock(m));
    ROW("trylock free", pthread_mutex_trylock(m));
    start(&waiter, timedlock_60s_then_unlock, m);
    await_asleep(&waiter);
    ROW("unlock before a timed waiter", pthread_mutex_unlock(m));
    row_job("the timed waiter", &waiter);
}

static void kinds(void)
{
    static const struct {
        const char *name;
        int kind, nests, knows_owner;
    } all[] = {
        { "normal", PTHREAD_MUTEX_NORMAL, 0, 0 },
        { "recursive", PTHREAD_MUTEX_RECURSIVE, 1, 1 },
        { "errorcheck", PTHREAD_MUTEX_ERRORCHECK, 0, 1 },
        { "adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, 0, 0 },
    };
    static pthread_mutex_t still[] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                                       PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                                       PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP };
    for (size_t i = 0; i < COUNT(all); i++) {
        pthread_mutex_t m;
        questions(all[i].name, &still[i], all[i].nests, all[i].knows_owner);
        for (int protocol = PTHREAD_PRIO_NONE; protocol <= PTHREAD_PRIO_INHERIT; protocol++) {
            init(&m, all[i].kind, protocol, PTHREAD_PROCESS_PRIVATE);
            line("protocol", "%d", protocol);
            questions(all[i].name, &m, all[i].nests, all[i].knows_owner);
            ROW("destroy", pthread_mutex_destroy(&m));
            ROW("lock destroyed", pthread_mutex_trylock(&m));
        }
    }
}

static void depth(void)
{
    pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    for (int i = 0; i < 1000; i++)
        MUST(i % 3 ? pthread_mutex_lock(&m) : pthread_mutex_trylock(&m));
    for (int i = 0; i < 999; i++)
        MUST(pthread_mutex_unlock(&m));
    row_elsewhere("held 1 deep of 1000", trylock, &m);
    m.__data.__count = UINT_MAX;
    ROW("lock too deep", pthread_mutex_lock(&m));
    ROW("trylock too deep", pthread_mutex_trylock(&m));
    m.__data.__count = 1;
    ROW("the last unlock", pthread_mutex_unlock(&m));
    row_elsewhere("free", lock_then_unlock, &m);
}

static void deadlines(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    struct timespec bad[] = { { 1, -1 }, { 1, 1000000000 }, { -1, 0 } };
    ROW("timedlock free, bad nsec", pthread_mutex_timedlock(&m, &bad[0]));
    for (size_t i = 0; i < COUNT(bad); i++) {
        ROW("timedlock, bad time", pthread_mutex_timedlock(&m, &bad[i]));
        ROW("clocklock, bad time", pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &bad[i]));
    }
    ROW_TIMED("timedlock", CLOCK_REALTIME, 20, pthread_mutex_timedlock(&m, &until));
    ROW_TIMED("clocklock realtime", CLOCK_REALTIME, 20, pthread_mutex_clocklock(&m, CLOCK_REALTIME, &until));
    ROW_TIMED("clocklock monotonic", CLOCK_MONOTONIC, 20, pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &until));
    const clockid_t clocks[] = { CLOCK_PROCESS_CPUTIME_ID, CLOCK_BOOTTIME, 77 };
    for (size_t i = 0; i < COUNT(clocks); i++)
        ROW("clocklock, bad clock", pthread_mutex_clocklock(&m, clocks[i], &(struct timespec){ 1, 0 }));
    ROW("unlock", pthread_mutex_unlock(&m));
    ROW("clocklock free, bad clock", pthread_mutex_clocklock(&m, 77, &(struct timespec){ 1, 0 }));
}

/* ---- Priorities. ---- */

/* Only a real-time thread can be raised. */
static int become_realtime(int priority)
{
    struct sched_param parameter = { .sched_priority = priority };
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter);
}

static int realtime_lock_then_unlock(void *m)
{
    int result = become_realtime(3);
    return result != 0 ? result : lock_then_unlock(m);
}

static int realtime_trylock(void *m)
{
    int result = become_realtime(3);
    return result != 0 ? result : trylock(m);
}

/* In a thread of its own, which ends as what it has become. */
static int ceiling(void *unused)
{
    pthread_mutexattr_t attr;
    pthread_mutex_t m;
    int old = -1;
    (void)unused;
    MUST(pthread_mutexattr_init(&attr));
    MUST(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT));
    ROW("setprioceiling of attributes", pthread_mutexattr_setprioceiling(&attr, 10));
    ROW("init", pthread_mutex_init(&m, &attr));
    ROW("lock, not real-time", pthread_mutex_lock(&m));
    ROW("become real-time", become_realtime(2));
    ROW("lock", pthread_mutex_lock(&m));
    row_elsewhere("trylock another's", realtime_trylock, &m);
    ROW("unlock", pthread_mutex_unlock(&m));
    ROW("setprioceiling", pthread_mutex_setprioceiling(&m, 12, &old));
    ROW("getprioceiling", pthread_mutex_getprioceiling(&m, &old));
    line("ceiling", "%d", old);
    row_elsewhere("lock", realtime_lock_then_unlock, &m);
    ROW("destroy", pthread_mutex_destroy(&m));
    errno = UNTOUCHED;
    return 0;
}

/* ---- Unusual lives. ---- */

static void handed_over(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < 3; i++) {
        row_elsewhere("locked by one", lock, &m);
        row_elsewhere("tried by another", trylock, &m);
        row_elsewhere("unlocked by a third", unlock, &m);
    }
    ROW("locked here", pthread_mutex_lock(&m));
    row_elsewhere("unlocked there", unlock, &m);
    ROW("locked here again", pthread_mutex_lock(&m));
    ROW("unlocked here", pthread_mutex_unlock(&m));
}

static void wiped(void)
{
    static const int kinds[] = { PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_NORMAL };
    pthread_mutex_t m;
    memset(&m, 0, sizeof m);
    ROW("lock zeroes", pthread_mutex_lock(&m));
    for (size_t i = 0; i < COUNT(kinds); i++) {
        memset(&m, 0, sizeof m);
        ROW("lock, wiped while locked", pthread_mutex_lock(&m));
        init(&m, kinds[i], PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE);
        ROW("lock, made anew while locked", pthread_mutex_lock(&m));
    }
    memset(&m, 0, sizeof m);
    ROW("unlock nobody's", pthread_mutex_unlock(&m));
    memset(&m, 0, sizeof m);
    ROW("lock", pthread_mutex_lock(&m));
    ROW("unlock", pthread_mutex_unlock(&m));
}

static pthread_mutex_t forked = PTHREAD_MUTEX_INITIALIZER;

static void before(void) { MUST(pthread_mutex_lock(&forked)); }
static void behind(void) { MUST(pthread_mutex_unlock(&forked)); }

static void across_fork(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    row_elsewhere("locked by a thread", lock, &m);
    IN_CHILD("the child", {
        ROW("trylock in the child", pthread_mutex_trylock(&m));
        ROW("init in the child", pthread_mutex_init(&m, NULL));
        ROW("lock in the child", pthread_mutex_lock(&m));
        row_elsewhere("trylock in the child's thread", trylock, &m);
        ROW("unlock in the child", pthread_mutex_unlock(&m));
        row_elsewhere("lock in the child's thread", lock_then_unlock, &m);
    });
    ROW("trylock in the parent", pthread_mutex_trylock(&m));
    MUST(pthread_mutex_unlock(&m));
    MUST(pthread_atfork(before, behind, behind));
    IN_CHILD("the child of fork handlers", row_elsewhere("lock", lock_then_unlock, &forked));
    row_elsewhere("lock after fork handlers", lock_then_unlock, &forked);
}

/* ---- Crowds. ---- */

enum { THREADS = 4 };
static int times = 5000;

struct counter {
    pthread_mutex_t m;
    long count;
};

static void *add(void *p)
{
    struct counter *c = p;
    for (int i = 0; i < times; i++) {
        while (i % 16 == 1 && pthread_mutex_trylock(&c->m) == EBUSY)
            sched_yield();
        if (i % 16 != 1)
            MUST(pthread_mutex_lock(&c->m));
        c->count++;
        MUST(pthread_mutex_unlock(&c->m));
    }
    return NULL;
}

static void counted(void)
{
    for (int kind = PTHREAD_MUTEX_NORMAL; kind <= PTHREAD_MUTEX_ADAPTIVE_NP; kind++)
        for (int protocol = PTHREAD_PRIO_NONE; protocol <= PTHREAD_PRIO_INHERIT; protocol++) {
            struct counter c = { .count = 0 };
            init(&c.m, kind, protocol, PTHREAD_PROCESS_PRIVATE);
            crowd(THREADS, add, &c);
            line("counted", "%ld", c.count);
        }
}

static void between_processes(void)
{
    struct counter *c = shared_page();
    init(&c->m, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED);
    ROW("lock", pthread_mutex_lock(&c->m));
    IN_CHILD("the child", ROW("trylock in the child", pthread_mutex_trylock(&c->m)));
    ROW("unlock", pthread_mutex_unlock(&c->m));
    pid_t child = (pid_t)MUST_SYS(fork());
    crowd(2, add, c);
    if (child == 0)
        _exit(0);
    row_child("the adding child", child);
    line("counted by two processes", "%ld", c->count);
}

/* The argument says how often each thread of a crowd adds. */
int main(int argc, char **argv)
{
    if (argc > 1)
        times = atoi(argv[1]);
    kinds();
    depth();
    deadlines();
    row_elsewhere("with a ceiling", ceiling, NULL);
    handed_over();
    wiped();
    counted();
    between_processes();
    across_fork();
    return 0;
}
