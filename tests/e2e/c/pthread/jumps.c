/* Ways out of a wait: cancellation of both types, and a jump from a signal handler, which glibc takes for one: the
 * clean-up of its own waits runs. */
#include "row.h"
#include <setjmp.h>

static pthread_mutex_t m;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int inside, cleaned, ready;

static void init(int kind)
{
    pthread_mutexattr_t attr;
    MUST(pthread_mutexattr_init(&attr));
    MUST(pthread_mutexattr_settype(&attr, kind));
    MUST(pthread_mutex_init(&m, &attr));
    inside = cleaned = ready = 0;
}

static int trylock(void *unused)
{
    (void)unused;
    return pthread_mutex_trylock(&m);
}

static void await_inside(int count)
{
    for (int now = -1; now != count;) {
        MUST(pthread_mutex_lock(&m));
        now = inside;
        MUST(pthread_mutex_unlock(&m));
        pause_ms(1);
    }
}

static void clean_up(void *unused)
{
    (void)unused;
    row_elsewhere("another's view in the clean-up", trylock, NULL);
    int type = -1;
    MUST(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type));
    cleaned++;
    ROW("unlock in the clean-up", pthread_mutex_unlock(&m));
}

static void *wait_as(void *type)
{
    MUST(pthread_setcanceltype(type != NULL ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED, NULL));
    MUST(pthread_mutex_lock(&m));
    pthread_cleanup_push(clean_up, NULL);
    inside++;
    while (!ready)
        MUST(pthread_cond_wait(&c, &m));
    int before = -1;
    MUST(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before));
    line("type after the wait", "%d", before);
    pthread_cleanup_pop(1);
    return NULL;
}

static void row_end(const char *row, pthread_t thread)
{
    void *value;
    MUST(pthread_join(thread, &value));
    line(row, "%s, cleaned up %d", value == PTHREAD_CANCELED ? "cancelled" : "ended", cleaned);
}

/* Cancelled in its sleep; then one that is woken. */
static void cancelled(int kind, void *type)
{
    pthread_t thread;
    init(kind);
    line("kind", "%d, type %d", kind, type != NULL);
    MUST(pthread_create(&thread, NULL, wait_as, type));
    await_inside(1);
    MUST(pthread_cancel(thread));
    row_end("a waiter", thread);
    MUST(pthread_create(&thread, NULL, wait_as, type));
    await_inside(2);
    MUST(pthread_mutex_lock(&m));
    ready = 1;
    MUST(pthread_cond_signal(&c));
    MUST(pthread_mutex_unlock(&m));
    row_end("another", thread);
}

/* A signal that meets a cancelled waiter is not lost: of two waiters one is cancelled and one signalled, in a race. */
static int rounds_woken;

static void unlock(void *unused)
{
    (void)unused;
    MUST(pthread_mutex_unlock(&m));
}

static void *wait_round(void *unused)
{
    MUST(pthread_mutex_lock(&m));
    pthread_cleanup_push(unlock, NULL);
    inside++;
    while (!ready)
        MUST(pthread_cond_wait(&c, &m));
    rounds_woken++;
    pthread_cleanup_pop(1);
    return unused;
}

static void no_signal_is_lost(void)
{
    enum { ROUNDS = 100 };
    int lost = 0;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t threads[2];
        init(PTHREAD_MUTEX_NORMAL);
        rounds_woken = 0;
        for (int n = 0; n < 2; n++)
            MUST(pthread_create(&threads[n], NULL, wait_round, NULL));
        await_inside(2);
        MUST(pthread_mutex_lock(&m));
        ready = 1;
        if (i % 2)
            MUST(pthread_cancel(threads[0]));
        MUST(pthread_cond_signal(&c));
        if (i % 2 == 0)
            MUST(pthread_cancel(threads[0]));
        MUST(pthread_mutex_unlock(&m));
        MUST(pthread_join(threads[0], NULL));
        /* The other one is woken now, or was; if the first one took the signal for itself it needs one more. */
        MUST(pthread_mutex_lock(&m));
        int first_took_it = rounds_woken > 0;
        MUST(pthread_mutex_unlock(&m));
        if (first_took_it)
            MUST(pthread_cond_signal(&c));
        MUST(pthread_join(threads[1], NULL));
        lost += rounds_woken == 0;
    }
    line("signals lost", "%d", lost);
}

/* ---- Jumps. ---- */

static sigjmp_buf out;

static void handler(int signal)
{
    (void)signal;
    siglongjmp(out, 1);
}

static int wait_and_jump(void *unused)
{
    (void)unused;
    MUST(pthread_mutex_lock(&m));
    if (sigsetjmp(out, 1) == 0) {
        inside++;
        for (;;)
            MUST(pthread_cond_wait(&c, &m));
    }
    row_elsewhere("another's view after the jump", trylock, NULL);
    return pthread_mutex_unlock(&m);
}

static int want_and_jump(void *unused)
{
    (void)unused;
    if (sigsetjmp(out, 1) == 0)
        MUST(pthread_mutex_lock(&m));
    return 0;
}

static void jumped(void)
{
    struct job job;
    pthread_t thread;
    struct sigaction action = { .sa_handler = handler };
    sigaction(SIGUSR1, &action, NULL);
    init(PTHREAD_MUTEX_NORMAL);
    start(&job, wait_and_jump, NULL);
    await_inside(1);
    await_asleep(&job);
    MUST(pthread_kill(job.thread, SIGUSR1));
    row_job("out of a wait", &job);
    MUST(pthread_create(&thread, NULL, wait_as, NULL));
    await_inside(2);
    MUST(pthread_mutex_lock(&m));
    ready = 1;
    MUST(pthread_cond_signal(&c));
    MUST(pthread_mutex_unlock(&m));
    row_end("a waiter after it", thread);
    for (int i = 0; i < 3; i++) {
        MUST(pthread_mutex_lock(&m));
        start(&job, want_and_jump, NULL);
        await_asleep(&job);
        MUST(pthread_kill(job.thread, SIGUSR1));
        row_job("out of a lock", &job);
        MUST(pthread_mutex_unlock(&m));
    }
    row_elsewhere("the mutex after it", trylock, NULL);
}

int main(int argc, char **argv)
{
    static const int kinds[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE };
    for (size_t i = 0; i < COUNT(kinds); i++)
        for (char *type = NULL; type <= (char *)1; type++)
            cancelled(kinds[i], type);
    no_signal_is_lost();
    /* A FIFO lock with spinning waiters keeps the position of a waiter that a jump has taken away. */
    if (argc < 2 || strcmp(argv[1], "no jumps") != 0)
        jumped();
    return 0;
}
