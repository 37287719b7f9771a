/* Mutexes of every type, protocol and robustness, contended: what their functions answer while their owner holds them, when it
 * releases them at any moment, and when it dies. A condition gives the mutex back, whatever it is. */
#include "table.h"

enum { NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE, ROBUST, INHERITING, SHARED, TYPES };
static const char *const names[TYPES] = { "normal", "recursive", "errorcheck", "adaptive", "robust", "inheriting", "shared" };
enum { ROUNDS = 2000, THREADS = 3 };

static pthread_mutex_t mutex;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static long guarded;
static int turn;
static sem_t held;
static long hold_us;

static void make(int type)
{
    pthread_mutexattr_t how;
    MUST(pthread_mutexattr_init(&how));
    if (type == RECURSIVE)
        MUST(pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE));
    if (type == ERRORCHECK)
        MUST(pthread_mutexattr_settype(&how, PTHREAD_MUTEX_ERRORCHECK));
    if (type == ADAPTIVE)
        MUST(pthread_mutexattr_settype(&how, PTHREAD_MUTEX_ADAPTIVE_NP));
    if (type == ROBUST)
        MUST(pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST));
    if (type == INHERITING)
        MUST(pthread_mutexattr_setprotocol(&how, PTHREAD_PRIO_INHERIT));
    if (type == SHARED)
        MUST(pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED));
    MUST(pthread_mutex_init(&mutex, &how));
    MUST(pthread_mutexattr_destroy(&how));
}

static void *add(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        MUST(pthread_mutex_lock(&mutex));
        long before = guarded;
        for (volatile int work = 0; work < i % 50; work++)
            ;
        guarded = before + 1;
        MUST(pthread_mutex_unlock(&mutex));
    }
    return NULL;
}

/* Holds it for `hold_us`. */
static void *hold(void *unused)
{
    (void)unused;
    MUST(pthread_mutex_lock(&mutex));
    MUST_SYS(sem_post(&held));
    usleep(hold_us);
    MUST(pthread_mutex_unlock(&mutex));
    return NULL;
}

/* Dies with it. */
static void *die(void *unused)
{
    (void)unused;
    MUST(pthread_mutex_lock(&mutex));
    MUST_SYS(sem_post(&held));
    usleep(hold_us);
    return NULL;
}

static void *pass(void *me)
{
    int mine = (int)(long)me;
    for (int i = 0; i < ROUNDS; i++) {
        MUST(pthread_mutex_lock(&mutex));
        while (turn != mine)
            MUST(pthread_cond_wait(&turned, &mutex));
        turn = !mine;
        guarded++;
        MUST(pthread_cond_signal(&turned));
        MUST(pthread_mutex_unlock(&mutex));
    }
    return NULL;
}

static int is_waiting, is_over;

/* Waits with the mutex, which another thread tries to destroy meanwhile. */
static void *await_with(void *unused)
{
    (void)unused;
    MUST(pthread_mutex_lock(&mutex));
    is_waiting = 1;
    while (!is_over)
        MUST(pthread_cond_wait(&turned, &mutex));
    MUST(pthread_mutex_unlock(&mutex));
    return NULL;
}

static pthread_t started(void *(*body)(void *), long argument)
{
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, body, (void *)argument));
    return thread;
}

static void together(void *(*body)(void *), int threads, const char *what)
{
    pthread_t all[THREADS];
    guarded = 0;
    for (int i = 0; i < threads; i++)
        all[i] = started(body, i);
    for (int i = 0; i < threads; i++)
        MUST(pthread_join(all[i], NULL));
    printf("  %s: %ld\n", what, guarded);
}

/* By its owner: a second lock, where that does not block for ever. */
static void again(int type)
{
    MUST(pthread_mutex_lock(&mutex));
    if (type == RECURSIVE || type == ERRORCHECK) {
        int code = pthread_mutex_lock(&mutex);
        printf("  owner locks again: %s\n", code ? strerror(code) : "held twice");
        if (!code)
            MUST(pthread_mutex_unlock(&mutex));
    }
    printf("  owner tries: %s\n", type == RECURSIVE ? "-" : strerror(pthread_mutex_trylock(&mutex)));
    MUST(pthread_mutex_unlock(&mutex));
}

static void destroy_during_a_wait(void)
{
    is_waiting = is_over = 0;
    pthread_t waiter = started(await_with, 0);
    for (int seen = 0; !seen; sched_yield()) {
        MUST(pthread_mutex_lock(&mutex));
        seen = is_waiting;
        MUST(pthread_mutex_unlock(&mutex));
    }
    printf("  destroyed while a thread waits with it: %s\n", strerror(pthread_mutex_destroy(&mutex)));
    MUST(pthread_mutex_lock(&mutex));
    is_over = 1;
    MUST(pthread_cond_signal(&turned));
    MUST(pthread_mutex_unlock(&mutex));
    MUST(pthread_join(waiter, NULL));
}

int main(void)
{
    MUST_SYS(sem_init(&held, 0, 0));
    for (int type = 0; type < TYPES; type++) {
        printf("%s\n", names[type]);
        make(type);
        again(type);
        together(add, THREADS, "added by three threads");
        together(pass, 2, "passed to and fro");
        if (type != ROBUST) /* glibc destroys a robust mutex while a thread waits with it. */
            destroy_during_a_wait();
        int kept = 0;
        for (hold_us = 0; hold_us < 200; hold_us += 10) {
            pthread_t owner = started(hold, 0);
            MUST_SYS(sem_wait(&held));
            MUST(pthread_mutex_lock(&mutex));
            kept += pthread_mutex_trylock(&mutex) == (type == RECURSIVE ? 0 : EBUSY);
            if (type == RECURSIVE)
                MUST(pthread_mutex_unlock(&mutex));
            MUST(pthread_mutex_unlock(&mutex));
            MUST(pthread_join(owner, NULL));
        }
        printf("  released while another waits, and locked: %d times\n", kept);
        if (type == ROBUST)
            for (hold_us = 0; hold_us < 100; hold_us += 20) {
                pthread_t owner = started(die, 0);
                MUST_SYS(sem_wait(&held));
                printf("  owner dies: %s\n", strerror(pthread_mutex_lock(&mutex)));
                MUST(pthread_mutex_consistent(&mutex));
                MUST(pthread_mutex_unlock(&mutex));
                MUST(pthread_join(owner, NULL));
            }
        if (type == ROBUST) {
            pthread_t owner = started(die, 0);
            MUST(pthread_join(owner, NULL));
            MUST_SYS(sem_wait(&held));
            printf("  owner is dead: %s\n", strerror(pthread_mutex_lock(&mutex)));
            MUST(pthread_mutex_unlock(&mutex));
            printf("  not made consistent: %s\n", strerror(pthread_mutex_lock(&mutex)));
        }
        int code = pthread_mutex_destroy(&mutex);
        printf("  destroyed: %s\n", code ? strerror(code) : "yes");
    }
    return 0;
}
