/* Destruction of a mutex that a thread has released by waiting for a condition: every kind of mutex, private and shared
 * conditions. glibc counts the waiting thread as a user of the mutex, except if the mutex is robust. */
#include "row.h"

struct place {
    pthread_mutex_t m;
    pthread_cond_t c;
    int is_waiting, is_ready;
};

/* How the wait ends. */
enum end { SIGNALLED, SIGNALLED_BEFORE_TIMEOUT, CANCELLED };

static struct place *p;
static pthread_mutexattr_t attr;
static pthread_condattr_t condition_attr;
static int is_robust;

static void unlock(void *unused)
{
    (void)unused;
    MUST(pthread_mutex_unlock(&p->m));
}

static int wait_ready(void *end)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 1000000);
    int code = 0;
    MUST(pthread_mutex_lock(&p->m));
    p->is_waiting = 1;
    pthread_cleanup_push(unlock, NULL);
    while (code == 0 && !p->is_ready)
        code = *(enum end *)end == SIGNALLED_BEFORE_TIMEOUT ? pthread_cond_timedwait(&p->c, &p->m, &until)
                                                            : pthread_cond_wait(&p->c, &p->m);
    pthread_cleanup_pop(1);
    return code;
}

static void init(void)
{
    memset(p, 0, sizeof *p);
    MUST(pthread_mutex_init(&p->m, &attr));
    MUST(pthread_cond_init(&p->c, &condition_attr));
}

/* How many threads glibc counts as users: a robust mutex that was destroyed and made again counts wrongly. */
static void users(const char *row)
{
    if (!is_robust)
        line(row, "%u", p->m.__data.__nusers);
}

static void destroy(const char *row)
{
    int code;
    ROW(row, code = pthread_mutex_destroy(&p->m));
    if (code == 0)
        MUST(pthread_mutex_init(&p->m, &attr));
}

static void wait_that_ends(enum end end)
{
    struct job waiter;
    init();
    start(&waiter, wait_ready, &end);
    for (int seen = 0; !seen; sched_yield()) {
        MUST(pthread_mutex_lock(&p->m));
        seen = p->is_waiting;
        MUST(pthread_mutex_unlock(&p->m));
    }
    users("users, a thread waits");
    destroy("destroy, a thread waits");
    if (end == CANCELLED) {
        MUST(pthread_cancel(waiter.thread));
        MUST(pthread_join(waiter.thread, NULL));
    } else {
        MUST(pthread_mutex_lock(&p->m));
        users("users, locked while a thread waits");
        p->is_ready = 1;
        MUST(pthread_cond_signal(&p->c));
        MUST(pthread_mutex_unlock(&p->m));
        row_job("the waiter", &waiter);
    }
    users("users, no thread waits");
    destroy("destroy, no thread waits");
}

static int wait_without_the_mutex(void *unused)
{
    (void)unused;
    p->is_waiting = 1;
    return pthread_cond_wait(&p->c, &p->m);
}

/* The thread that waits is not the one that has locked the mutex. glibc checks that for some types only. */
static void wait_with_anothers_mutex(void)
{
    struct job waiter;
    init();
    MUST(pthread_mutex_lock(&p->m));
    start(&waiter, wait_without_the_mutex, NULL);
    await_value(&p->is_waiting, 1);
    await_asleep(&waiter);
    users("users, a thread waits with another's mutex");
    destroy("destroy, a thread waits with another's mutex");
    MUST(pthread_cond_signal(&p->c));
    row_job("the waiter", &waiter);
    users("users, after the wait with another's mutex");
}

/* With an argument, each thread waits with a mutex that it has locked itself. */
int main(int argc, char **argv)
{
    (void)argv;
    static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP };
    p = shared_page();
    MUST(pthread_mutexattr_init(&attr));
    MUST(pthread_condattr_init(&condition_attr));
    for (int n = 0; n < 64; n++) {
        int type = types[n & 3], protocol = n & 4 ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE;
        is_robust = n >> 4 & 1;
        MUST(pthread_mutexattr_settype(&attr, type));
        MUST(pthread_mutexattr_setprotocol(&attr, protocol));
        MUST(pthread_mutexattr_setpshared(&attr, n & 8 ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE));
        MUST(pthread_mutexattr_setrobust(&attr, is_robust ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED));
        MUST(pthread_condattr_setpshared(&condition_attr, n & 32 ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE));
        line("mutex", "type %d%s%s%s, %s condition", type, protocol == PTHREAD_PRIO_INHERIT ? ", inherits" : "",
             n & 8 ? ", shared" : "", is_robust ? ", robust" : "", n & 32 ? "shared" : "private");
        for (enum end end = SIGNALLED; end <= CANCELLED; end++)
            wait_that_ends(end);
        int is_checked = type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK;
        if (!is_checked && protocol == PTHREAD_PRIO_NONE && !is_robust && argc == 1)
            wait_with_anothers_mutex();
    }
    return 0;
}
