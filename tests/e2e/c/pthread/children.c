/* fork(2) while other threads hold locks, want them and wait: the child has their state but not these threads. */
#include "row.h"

static struct place {
    pthread_mutex_t m;
    pthread_cond_t c;
    int inside, ready;
} places[2] = { { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 },
                { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 } };

enum { WAITERS = 4 };

static int lock_then_unlock(void *argument)
{
    struct place *p = argument;
    int result = pthread_mutex_lock(&p->m);
    return result != 0 ? result : pthread_mutex_unlock(&p->m);
}

static int wait_ready(void *argument)
{
    struct place *p = argument;
    MUST(pthread_mutex_lock(&p->m));
    p->inside++;
    while (!p->ready)
        MUST(pthread_cond_wait(&p->c, &p->m));
    return pthread_mutex_unlock(&p->m);
}

static void await_inside(struct place *p)
{
    for (int inside = -1; inside != WAITERS;) {
        MUST(pthread_mutex_lock(&p->m));
        inside = p->inside;
        MUST(pthread_mutex_unlock(&p->m));
        pause_ms(1);
    }
}

/* One waits and is woken, in whatever process. */
static void one_is_woken(struct place *p)
{
    struct job waiter;
    p->ready = 0;
    start(&waiter, wait_ready, p);
    await_asleep(&waiter);
    MUST(pthread_mutex_lock(&p->m));
    p->ready = 1;
    ROW("signal", pthread_cond_signal(&p->c));
    MUST(pthread_mutex_unlock(&p->m));
    row_job("a waiter", &waiter);
}

/* Threads sleep for the mutex, which the forking thread holds. */
static void in_the_middle_of_a_crowd(void)
{
    struct place *p = &places[0];
    struct job wanting[WAITERS];
    MUST(pthread_mutex_lock(&p->m));
    for (int i = 0; i < WAITERS; i++)
        start(&wanting[i], lock_then_unlock, p);
    for (int i = 0; i < WAITERS; i++)
        await_asleep(&wanting[i]);
    /* Those that starve have said so by now. */
    pause_ms(20);
    for (int i = 0; i < 2; i++)
        IN_CHILD("the child", {
            ROW("unlock", pthread_mutex_unlock(&p->m));
            for (int n = 0; n < 3; n++) {
                ROW("lock", pthread_mutex_lock(&p->m));
                struct job waiter;
                start(&waiter, lock_then_unlock, p);
                await_asleep(&waiter);
                ROW("unlock", pthread_mutex_unlock(&p->m));
                row_job("one of its own", &waiter);
            }
            one_is_woken(p);
        });
    ROW("unlock", pthread_mutex_unlock(&p->m));
    for (int i = 0; i < WAITERS; i++)
        row_job("one of the crowd", &wanting[i]);
}

/* Threads wait for the condition. */
static void before_waiters(void)
{
    struct place *p = &places[1];
    struct job waiters[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        start(&waiters[i], wait_ready, p);
    await_inside(p);
    IN_CHILD("the child", {
        struct timespec until = in_ms(CLOCK_REALTIME, 5);
        MUST(pthread_mutex_lock(&p->m));
        ROW("wait for a time", pthread_cond_timedwait(&p->c, &p->m, &until));
        MUST(pthread_mutex_unlock(&p->m));
        for (int i = 0; i < 3; i++)
            row_elsewhere("a new thread", lock_then_unlock, p);
    });
    MUST(pthread_mutex_lock(&p->m));
    p->ready = 1;
    ROW("broadcast", pthread_cond_broadcast(&p->c));
    MUST(pthread_mutex_unlock(&p->m));
    for (int i = 0; i < WAITERS; i++)
        row_job("a waiter", &waiters[i]);
    one_is_woken(p);
    ROW("destroy", pthread_cond_destroy(&p->c));
}

/* A fork at any moment of contention. */
static int over;

static void *quarrel(void *argument)
{
    struct place *p = argument;
    while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST)) {
        MUST(pthread_mutex_lock(&p->m));
        MUST(pthread_mutex_unlock(&p->m));
    }
    return NULL;
}

static void at_any_moment(void)
{
    struct place *p = &places[0];
    pthread_t threads[2];
    int failed = 0;
    for (int i = 0; i < 2; i++)
        MUST(pthread_create(&threads[i], NULL, quarrel, p));
    for (int i = 0; i < 50; i++) {
        MUST(pthread_mutex_lock(&p->m));
        fflush(stdout);
        pid_t child = (pid_t)MUST_SYS(fork());
        MUST(pthread_mutex_unlock(&p->m));
        if (child == 0) {
            MUST(pthread_mutex_lock(&p->m));
            MUST(pthread_mutex_unlock(&p->m));
            _exit(0);
        }
        int status;
        MUST_SYS(waitpid(child, &status, 0));
        failed += status != 0;
    }
    __atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 2; i++)
        MUST(pthread_join(threads[i], NULL));
    line("children that failed", "%d", failed);
}

int main(void)
{
    in_the_middle_of_a_crowd();
    before_waiters();
    at_any_moment();
    return 0;
}
