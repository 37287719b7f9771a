/* Threads: thousands, short, small, cancelled; and the locks that they take on their way out. */
#include "row.h"
#include <limits.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long count;

static void add(void)
{
    MUST(pthread_mutex_lock(&m));
    count++;
    MUST(pthread_mutex_unlock(&m));
}

static void row_count(const char *row)
{
    line(row, "%ld", count);
    count = 0;
}

static void *once(void *unused)
{
    add();
    return unused;
}

static void thousands(void)
{
    for (int i = 0; i < 1000; i++)
        crowd(1, once, NULL);
    row_count("a thousand, one after the other");
    for (int i = 0; i < 30; i++)
        crowd(100, once, NULL);
    row_count("three thousand, a hundred at a time");
}

static pthread_barrier_t all_there;

static void *together(void *unused)
{
    pthread_barrier_wait(&all_there);
    add();
    pthread_barrier_wait(&all_there);
    return unused;
}

static void at_once(void)
{
    MUST(pthread_barrier_init(&all_there, NULL, 256));
    crowd(256, together, NULL);
    row_count("256 that live at once");
}

static int left;

static void *leave(void *unused)
{
    add();
    __atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST);
    return unused;
}

static void detached(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    MUST(pthread_attr_init(&attr));
    MUST(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
    for (int i = 0; i < 200; i++) {
        left = 1;
        MUST(pthread_create(&thread, &attr, leave, NULL));
        await_value(&left, 0);
    }
    row_count("detached");
}

/* A stack of the smallest size that there is. */
static void small(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    MUST(pthread_attr_init(&attr));
    MUST(pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN));
    for (int i = 0; i < 50; i++) {
        MUST(pthread_create(&thread, &attr, once, NULL));
        MUST(pthread_join(thread, NULL));
    }
    row_count("smallest stacks");
}

/* ---- Ways out. ---- */

static pthread_key_t keys[3];

/* The value counts how often its destructor shall still run: up to four times. */
static void at_thread_end(void *value)
{
    add();
    intptr_t more = (intptr_t)value - 1;
    if (more > 0)
        for (size_t i = 0; i < COUNT(keys); i++)
            MUST(pthread_setspecific(keys[i], (void *)more));
}

static void *with_keys(void *unused)
{
    add();
    for (size_t i = 0; i < COUNT(keys); i++)
        MUST(pthread_setspecific(keys[i], (void *)(intptr_t)PTHREAD_DESTRUCTOR_ITERATIONS));
    return unused;
}

/* Its first lock is in a destructor. */
static void *only_keys(void *unused)
{
    MUST(pthread_setspecific(keys[1], (void *)1));
    return unused;
}

static void keyed(void)
{
    for (size_t i = 0; i < COUNT(keys); i++)
        MUST(pthread_key_create(&keys[i], at_thread_end));
    crowd(1, with_keys, NULL);
    row_count("locks in destructors");
    crowd(20, with_keys, NULL);
    row_count("locks in destructors of twenty");
    crowd(20, only_keys, NULL);
    row_count("first locks in destructors");
}

__attribute__((noinline)) static void leave_deep_below(void *value)
{
    add();
    pthread_exit(value);
}

static void *exits(void *unused)
{
    add();
    leave_deep_below((void *)5);
    return unused;
}

static void unlock_at_exit(void *unused)
{
    (void)unused;
    count++;
    MUST(pthread_mutex_unlock(&m));
}

static void *exits_locked(void *unused)
{
    MUST(pthread_mutex_lock(&m));
    pthread_cleanup_push(unlock_at_exit, NULL);
    pthread_exit(unused);
    pthread_cleanup_pop(0);
    return NULL;
}

/* ---- Cancellation. ---- */

static int running;

static void *spins(void *unused)
{
    int old;
    add();
    MUST(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
    __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
    for (;;)
        __asm__ volatile("pause");
    return unused;
}

/* Reaches a cancellation point between locks only: no lock is one. */
static void *locks_on(void *unused)
{
    for (;;) {
        for (int i = 0; i < 50; i++) {
            add();
            if (pthread_mutex_trylock(&m) == 0)
                MUST(pthread_mutex_unlock(&m));
        }
        __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
        pthread_testcancel();
    }
    return unused;
}

/* Cancelled while it waits for a mutex, which goes on; then at the next point. */
static void *waits_for_it(void *unused)
{
    add();
    __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
    pthread_testcancel();
    return unused;
}

static void row_cancelled(const char *row, pthread_t thread)
{
    void *value = NULL;
    MUST(pthread_join(thread, &value));
    line(row, "%s", value == PTHREAD_CANCELED ? "cancelled" : "ended");
}

static void cancelled(void)
{
    pthread_t thread;
    void *(*const all[])(void *) = { spins, locks_on };
    for (int i = 0; i < 20; i++) {
        running = 0;
        MUST(pthread_create(&thread, NULL, all[i % 2], NULL));
        while (__atomic_load_n(&running, __ATOMIC_SEQ_CST) == 0)
            sched_yield();
        MUST(pthread_cancel(thread));
        row_cancelled(i % 2 ? "deferred" : "asynchronous", thread);
    }
    running = 0;
    MUST(pthread_mutex_lock(&m));
    MUST(pthread_create(&thread, NULL, waits_for_it, NULL));
    MUST(pthread_cancel(thread));
    pause_ms(5);
    line("got past a mutex that is held", "%d", __atomic_load_n(&running, __ATOMIC_SEQ_CST));
    MUST(pthread_mutex_unlock(&m));
    row_cancelled("cancelled while it waited", thread);
    line("it had the mutex first", "%d", running);
    ROW("nobody left with the mutex", pthread_mutex_trylock(&m));
    MUST(pthread_mutex_unlock(&m));
}

/* ---- After main. ---- */

static void at_exit(void)
{
    count = 0;
    add();
    crowd(3, once, NULL);
    row_count("locks in an exit handler");
}

__attribute__((destructor)) static void at_the_very_end(void)
{
    add();
    row_count("locks in a destructor of the program");
}

int main(void)
{
    pthread_t thread;
    void *value;
    atexit(at_exit);
    thousands();
    at_once();
    detached();
    small();
    keyed();
    MUST(pthread_create(&thread, NULL, exits, NULL));
    MUST(pthread_join(thread, &value));
    line("pthread_exit", "%ld", (long)value);
    row_count("locked before it");
    crowd(10, exits_locked, NULL);
    row_count("pthread_exit with the lock");
    cancelled();
    return 0;
}
