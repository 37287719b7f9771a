/* Conditions that are shared between processes, and mutexes that are not. */
#include "row.h"

static struct place {
    pthread_mutex_t m;
    int inside, ready;
} p;
static pthread_cond_t *c;

static void init(int kind, clockid_t clock)
{
    pthread_mutexattr_t mutexattr;
    pthread_condattr_t condattr;
    MUST(pthread_mutexattr_init(&mutexattr));
    MUST(pthread_mutexattr_settype(&mutexattr, kind));
    MUST(pthread_condattr_init(&condattr));
    MUST(pthread_condattr_setpshared(&condattr, PTHREAD_PROCESS_SHARED));
    MUST(pthread_condattr_setclock(&condattr, clock));
    MUST(pthread_mutex_init(&p.m, &mutexattr));
    MUST(pthread_cond_init(c, &condattr));
    p.inside = p.ready = 0;
}

static int trylock(void *unused)
{
    (void)unused;
    return pthread_mutex_trylock(&p.m);
}

static int wait_ready(void *unused)
{
    (void)unused;
    MUST(pthread_mutex_lock(&p.m));
    p.inside++;
    while (!p.ready)
        MUST(pthread_cond_wait(c, &p.m));
    return pthread_mutex_unlock(&p.m);
}

static void clean_up(void *unused)
{
    (void)unused;
    row_elsewhere("another's view in the clean-up", trylock, NULL);
    ROW("unlock in the clean-up", pthread_mutex_unlock(&p.m));
}

static void *be_cancelled(void *unused)
{
    MUST(pthread_mutex_lock(&p.m));
    pthread_cleanup_push(clean_up, NULL);
    p.inside++;
    for (;;)
        MUST(pthread_cond_wait(c, &p.m));
    pthread_cleanup_pop(0);
    return unused;
}

static void await_inside(int count)
{
    for (int inside = -1; inside != count;) {
        MUST(pthread_mutex_lock(&p.m));
        inside = p.inside;
        MUST(pthread_mutex_unlock(&p.m));
        pause_ms(1);
    }
}

static void woken(int (*wake)(pthread_cond_t *))
{
    struct job waiters[2];
    p.inside = p.ready = 0;
    for (int i = 0; i < 2; i++)
        start(&waiters[i], wait_ready, NULL);
    await_inside(2);
    MUST(pthread_mutex_lock(&p.m));
    p.ready = 1;
    ROW("wake", wake(c));
    ROW("wake", wake(c));
    MUST(pthread_mutex_unlock(&p.m));
    for (int i = 0; i < 2; i++)
        row_job("a waiter", &waiters[i]);
}

static void times(clockid_t clock)
{
    const struct timespec bad = { 1, 1000000000 }, past = { 1, 0 };
    MUST(pthread_mutex_lock(&p.m));
    ROW_TIMED("timedwait", clock, 20, pthread_cond_timedwait(c, &p.m, &until));
    ROW("timedwait, past", pthread_cond_timedwait(c, &p.m, &past));
    ROW("timedwait, bad nsec", pthread_cond_timedwait(c, &p.m, &bad));
    ROW_TIMED("clockwait", CLOCK_MONOTONIC, 20, pthread_cond_clockwait(c, &p.m, CLOCK_MONOTONIC, &until));
    ROW("clockwait, bad clock", pthread_cond_clockwait(c, &p.m, CLOCK_PROCESS_CPUTIME_ID, &past));
    row_elsewhere("the mutex afterwards", trylock, NULL);
    MUST(pthread_mutex_unlock(&p.m));
}

static void cancelled(void)
{
    pthread_t thread;
    void *value;
    p.inside = 0;
    MUST(pthread_create(&thread, NULL, be_cancelled, NULL));
    await_inside(1);
    MUST(pthread_cancel(thread));
    MUST(pthread_join(thread, &value));
    line("a waiter", "%s", value == PTHREAD_CANCELED ? "cancelled" : "ended");
}

/* A child signals until its parent's waiter says that it was woken. */
static void from_a_child(void)
{
    int *over = shared_page();
    struct job waiter;
    p.inside = p.ready = 0;
    start(&waiter, wait_ready, NULL);
    await_inside(1);
    p.ready = 1;
    fflush(stdout);
    pid_t child = (pid_t)MUST_SYS(fork());
    if (child == 0) {
        while (!__atomic_load_n(over, __ATOMIC_SEQ_CST)) {
            MUST(pthread_cond_signal(c));
            pause_ms(1);
        }
        _exit(0);
    }
    row_job("a waiter woken by a child", &waiter);
    __atomic_store_n(over, 1, __ATOMIC_SEQ_CST);
    row_child("the child", child);
}

int main(void)
{
    static const int kinds[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK };
    c = shared_page();
    for (size_t i = 0; i < COUNT(kinds); i++) {
        clockid_t clock = i % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
        line("kind", "%d", kinds[i]);
        init(kinds[i], clock);
        woken(pthread_cond_signal);
        woken(pthread_cond_broadcast);
        times(clock);
        cancelled();
        from_a_child();
        ROW("destroy", pthread_cond_destroy(c));
    }
    return 0;
}
