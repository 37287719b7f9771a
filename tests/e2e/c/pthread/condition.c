/* Conditions: waking, waiting for a time, and being cancelled while asleep. */
#include "row.h"

struct place {
    pthread_mutex_t m;
    pthread_cond_t c;
    int inside, ready, woken;
};

static void init(struct place *p, int kind, clockid_t clock, int shared, int protocol)
{
    pthread_mutexattr_t mutexattr;
    pthread_condattr_t condattr;
    MUST(pthread_mutexattr_init(&mutexattr));
    MUST(pthread_mutexattr_settype(&mutexattr, kind));
    MUST(pthread_mutexattr_setpshared(&mutexattr, shared));
    MUST(pthread_mutexattr_setprotocol(&mutexattr, protocol));
    MUST(pthread_condattr_init(&condattr));
    MUST(pthread_condattr_setclock(&condattr, clock));
    MUST(pthread_condattr_setpshared(&condattr, shared));
    memset(p, 0, sizeof *p);
    MUST(pthread_mutex_init(&p->m, &mutexattr));
    ROW("init", pthread_cond_init(&p->c, &condattr));
}

static int trylock(void *p) { return pthread_mutex_trylock(&((struct place *)p)->m); }

static int wait_ready(void *argument)
{
    struct place *p = argument;
    int result = 0;
    MUST(pthread_mutex_lock(&p->m));
    p->inside++;
    while (!p->ready && result == 0)
        result = pthread_cond_wait(&p->c, &p->m);
    p->woken++;
    MUST(pthread_mutex_unlock(&p->m));
    return result;
}

static void *wait_in_crowd(void *p)
{
    wait_ready(p);
    return NULL;
}

/* Under the mutex a waiter that counts as inside is one that has been added to the condition. */
static void await_inside(struct place *p, int count)
{
    for (int inside = -1; inside != count;) {
        MUST(pthread_mutex_lock(&p->m));
        inside = p->inside;
        MUST(pthread_mutex_unlock(&p->m));
        if (inside != count)
            pause_ms(1);
    }
}

static void set_ready(struct place *p, int (*wake)(pthread_cond_t *))
{
    MUST(pthread_mutex_lock(&p->m));
    p->ready = 1;
    ROW("wake", wake(&p->c));
    MUST(pthread_mutex_unlock(&p->m));
}

/* ---- Waking. ---- */

static void woken(struct place *p)
{
    struct job waiter;
    ROW("signal to nobody", pthread_cond_signal(&p->c));
    ROW("broadcast to nobody", pthread_cond_broadcast(&p->c));
    start(&waiter, wait_ready, p);
    await_inside(p, 1);
    set_ready(p, pthread_cond_signal);
    row_job("signalled", &waiter);
    p->inside = p->ready = 0;
    start(&waiter, wait_ready, p);
    await_inside(p, 1);
    set_ready(p, pthread_cond_broadcast);
    row_job("among all", &waiter);
}

static void fifty(struct place *p)
{
    enum { WAITERS = 50 };
    pthread_t threads[WAITERS];
    p->inside = p->ready = p->woken = 0;
    for (int i = 0; i < WAITERS; i++)
        MUST(pthread_create(&threads[i], NULL, wait_in_crowd, p));
    await_inside(p, WAITERS);
    set_ready(p, pthread_cond_broadcast);
    for (int i = 0; i < WAITERS; i++)
        MUST(pthread_join(threads[i], NULL));
    line("woken of fifty", "%d", p->woken);
}

/* ---- A time. ---- */

static void times(struct place *p, clockid_t clock)
{
    const struct timespec bad = { 1, 1000000000 }, past = { 1, 0 };
    MUST(pthread_mutex_lock(&p->m));
    ROW_TIMED("timedwait", clock, 20, pthread_cond_timedwait(&p->c, &p->m, &until));
    row_elsewhere("the mutex afterwards", trylock, p);
    ROW("timedwait, past", pthread_cond_timedwait(&p->c, &p->m, &past));
    ROW("timedwait, bad nsec", pthread_cond_timedwait(&p->c, &p->m, &bad));
    ROW_TIMED("clockwait realtime", CLOCK_REALTIME, 20,
              pthread_cond_clockwait(&p->c, &p->m, CLOCK_REALTIME, &until));
    ROW_TIMED("clockwait monotonic", CLOCK_MONOTONIC, 20,
              pthread_cond_clockwait(&p->c, &p->m, CLOCK_MONOTONIC, &until));
    ROW("clockwait, bad nsec", pthread_cond_clockwait(&p->c, &p->m, CLOCK_MONOTONIC, &bad));
    ROW("clockwait, bad clock", pthread_cond_clockwait(&p->c, &p->m, CLOCK_PROCESS_CPUTIME_ID, &past));
    row_elsewhere("the mutex afterwards", trylock, p);
    MUST(pthread_mutex_unlock(&p->m));
}

/* ---- Cancellation. ---- */

enum how { WAIT, TIMEDWAIT, CLOCKWAIT };

struct cancelled {
    struct place place;
    enum how how;
    int cleaned;
};

/* Runs with the mutex held: an error-checking mutex knows its owner. */
static void clean_up(void *argument)
{
    struct cancelled *c = argument;
    ROW("own mutex in the clean-up", pthread_mutex_lock(&c->place.m));
    row_elsewhere("another's view in the clean-up", trylock, &c->place);
    c->cleaned++;
    ROW("unlock in the clean-up", pthread_mutex_unlock(&c->place.m));
}

static void *be_cancelled(void *argument)
{
    struct cancelled *c = argument;
    struct place *p = &c->place;
    struct timespec real = in_ms(CLOCK_REALTIME, 60000), monotonic = in_ms(CLOCK_MONOTONIC, 60000);
    MUST(pthread_mutex_lock(&p->m));
    pthread_cleanup_push(clean_up, c);
    p->inside++;
    for (;;)
        if (c->how == WAIT)
            pthread_cond_wait(&p->c, &p->m);
        else if (c->how == TIMEDWAIT)
            pthread_cond_timedwait(&p->c, &p->m, &real);
        else
            pthread_cond_clockwait(&p->c, &p->m, CLOCK_MONOTONIC, &monotonic);
    pthread_cleanup_pop(0);
    return NULL;
}

static void row_cancelled(const char *row, pthread_t thread, struct cancelled *c)
{
    void *value;
    MUST(pthread_join(thread, &value));
    line(row, "%s, cleaned up %d", value == PTHREAD_CANCELED ? "cancelled" : "ended", c->cleaned);
    ROW("lock after it", pthread_mutex_lock(&c->place.m));
    ROW("unlock after it", pthread_mutex_unlock(&c->place.m));
}

static void cancelled(int kind)
{
    static const char *names[] = { "wait", "timedwait", "clockwait" };
    for (enum how how = WAIT; how <= CLOCKWAIT; how++) {
        struct cancelled c = { .how = how };
        pthread_t thread;
        init(&c.place, kind, CLOCK_REALTIME, PTHREAD_PROCESS_PRIVATE, PTHREAD_PRIO_NONE);
        MUST(pthread_create(&thread, NULL, be_cancelled, &c));
        await_inside(&c.place, 1);
        MUST(pthread_cancel(thread));
        row_cancelled(names[how], thread, &c);
        /* Before it waits at all: what is pending takes effect at the wait. */
        MUST(pthread_mutex_lock(&c.place.m));
        MUST(pthread_create(&thread, NULL, be_cancelled, &c));
        MUST(pthread_cancel(thread));
        MUST(pthread_mutex_unlock(&c.place.m));
        row_cancelled(names[how], thread, &c);
        ROW("destroy", pthread_cond_destroy(&c.place.c));
    }
}

/* ---- Others. ---- */

static struct place ping;
static int turns = 1000;

static void *pong(void *odd)
{
    MUST(pthread_mutex_lock(&ping.m));
    for (int i = 0; i < turns; i++) {
        while (ping.ready % 2 != (odd != NULL))
            MUST(pthread_cond_wait(&ping.c, &ping.m));
        ping.ready++;
        MUST(pthread_cond_signal(&ping.c));
    }
    MUST(pthread_mutex_unlock(&ping.m));
    return NULL;
}

static int handled;

static void handler(int signal)
{
    (void)signal;
    __atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static void interrupted(struct place *p)
{
    struct job waiter;
    struct sigaction action = { .sa_handler = handler };
    sigaction(SIGUSR1, &action, NULL);
    p->inside = p->ready = 0;
    start(&waiter, wait_ready, p);
    await_inside(p, 1);
    await_asleep(&waiter);
    for (int i = 1; i <= 3; i++) {
        MUST(pthread_kill(waiter.thread, SIGUSR1));
        await_value(&handled, i);
    }
    set_ready(p, pthread_cond_signal);
    row_job("a waiter interrupted thrice", &waiter);
}

/* The thread that signals dies with the robust mutex. */
static int signal_and_die(void *argument)
{
    struct place *p = argument;
    MUST(pthread_mutex_lock(&p->m));
    p->ready = 1;
    return pthread_cond_signal(&p->c);
}

static int wait_for_the_dead(void *argument)
{
    struct place *p = argument;
    MUST(pthread_mutex_lock(&p->m));
    p->inside++;
    int result = pthread_cond_wait(&p->c, &p->m);
    MUST(pthread_mutex_consistent(&p->m));
    MUST(pthread_mutex_unlock(&p->m));
    return result;
}

static void robust(void)
{
    struct place p;
    struct job waiter;
    pthread_mutexattr_t attr;
    memset(&p, 0, sizeof p);
    MUST(pthread_mutexattr_init(&attr));
    MUST(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
    MUST(pthread_mutex_init(&p.m, &attr));
    MUST(pthread_cond_init(&p.c, NULL));
    start(&waiter, wait_for_the_dead, &p);
    await_inside(&p, 1);
    row_elsewhere("signal and die", signal_and_die, &p);
    row_job("woken by the dead", &waiter);
}

static void between_processes(void)
{
    struct place *p = shared_page();
    init(p, PTHREAD_MUTEX_NORMAL, CLOCK_MONOTONIC, PTHREAD_PROCESS_SHARED, PTHREAD_PRIO_NONE);
    fflush(stdout);
    pid_t child = (pid_t)MUST_SYS(fork());
    if (child == 0)
        _exit(wait_ready(p));
    await_inside(p, 1);
    set_ready(p, pthread_cond_signal);
    row_child("a waiting child", child);
}

/* The argument says how often a pair takes turns. */
int main(int argc, char **argv)
{
    static const int kinds[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                 PTHREAD_MUTEX_ADAPTIVE_NP };
    struct place p = { .m = PTHREAD_MUTEX_INITIALIZER, .c = PTHREAD_COND_INITIALIZER };
    if (argc > 1)
        turns = atoi(argv[1]);
    woken(&p);
    for (size_t i = 0; i < COUNT(kinds); i++)
        for (int protocol = PTHREAD_PRIO_NONE; protocol <= PTHREAD_PRIO_INHERIT; protocol++) {
            clockid_t clock = i % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
            line("kind", "%d, protocol %d", kinds[i], protocol);
            init(&p, kinds[i], clock, PTHREAD_PROCESS_PRIVATE, protocol);
            woken(&p);
            times(&p, clock);
            ROW("destroy", pthread_cond_destroy(&p.c));
        }
    init(&p, PTHREAD_MUTEX_ERRORCHECK, CLOCK_REALTIME, PTHREAD_PROCESS_PRIVATE, PTHREAD_PRIO_NONE);
    ROW("wait without the mutex", pthread_cond_wait(&p.c, &p.m));
    memset(&p, 0, sizeof p);
    fifty(&p);
    interrupted(&p);
    cancelled(PTHREAD_MUTEX_ERRORCHECK);
    pthread_t pair[2];
    for (int i = 0; i < 2; i++)
        MUST(pthread_create(&pair[i], NULL, pong, i ? &ping : NULL));
    for (int i = 0; i < 2; i++)
        MUST(pthread_join(pair[i], NULL));
    line("to and fro", "%d", ping.ready);
    robust();
    between_processes();
    return 0;
}
