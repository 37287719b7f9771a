/* Spin locks as programs use them although no standard says so: what glibc does there, with its lock of one int. */
#include "row.h"

static int lock(void *s) { return pthread_spin_lock((pthread_spinlock_t *)s); }
static int trylock(void *s) { return pthread_spin_trylock((pthread_spinlock_t *)s); }
static int unlock(void *s) { return pthread_spin_unlock((pthread_spinlock_t *)s); }

static int lock_then_unlock(void *s)
{
    int result = lock(s);
    return result != 0 ? result : unlock(s);
}

/* Held once, with another thread that waits, and free again. */
static void use(const char *what, pthread_spinlock_t *s)
{
    line("used", "%s", what);
    ROW("trylock", trylock((void *)s));
    ROW("trylock again", trylock((void *)s));
    struct job waiter;
    start(&waiter, lock_then_unlock, (void *)s);
    pause_ms(20);
    ROW("unlock", unlock((void *)s));
    row_job("the waiter", &waiter);
    ROW("lock", lock((void *)s));
    row_elsewhere("unlocked by another", unlock, (void *)s);
}

static void odd_beginnings(void)
{
    pthread_spinlock_t s, copy;
    MUST(pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE));
    use("initialised", &s);
    memcpy((void *)&copy, (void *)&s, sizeof s);
    use("a copy of a free lock", &copy);
    MUST(pthread_spin_lock(&s));
    memcpy((void *)&copy, (void *)&s, sizeof s);
    ROW("trylock a copy of a held lock", pthread_spin_trylock(&copy));
    ROW("unlock it", pthread_spin_unlock(&copy));
    use("a copy of a held lock", &copy);
    ROW("trylock the original", pthread_spin_trylock(&s));
    ROW("unlock the original", pthread_spin_unlock(&s));
    ROW("unlock a free lock", pthread_spin_unlock(&s));
    ROW("unlock a free lock", pthread_spin_unlock(&s));
    use("unlocked twice", &s);
    ROW("destroy", pthread_spin_destroy(&s));
    use("destroyed", &s);
    MUST(pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE));
    use("initialised again", &s);
    memset((void *)&s, 0, sizeof s);
    ROW("trylock zeroes", pthread_spin_trylock(&s));
    ROW("unlock zeroes", pthread_spin_unlock(&s));
    use("unlocked zeroes", &s);
    static pthread_spinlock_t one = 1;
    use("a one", (pthread_spinlock_t *)&one);
    MUST(pthread_spin_init(&s, 77));
    use("initialised for a strange sharing", &s);
}

/* An initialisation releases a lock, as it stores what an unlock stores. */
static void initialised_while_held(void)
{
    pthread_spinlock_t s;
    MUST(pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE));
    MUST(pthread_spin_lock(&s));
    struct job waiters[3];
    for (int i = 0; i < 3; i++)
        start(&waiters[i], lock_then_unlock, (void *)&s);
    pause_ms(30);
    ROW("init", pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE));
    for (int i = 0; i < 3; i++)
        row_job("a waiter", &waiters[i]);
    use("initialised for waiters", &s);
}

/* glibc does not look at the argument of the initialisation. */
static void private_lock_of_two_processes(void)
{
    struct {
        pthread_spinlock_t s;
        long count;
    } *page = shared_page();
    MUST(pthread_spin_init(&page->s, PTHREAD_PROCESS_PRIVATE));
    MUST(pthread_spin_lock(&page->s));
    fflush(stdout);
    pid_t child = (pid_t)MUST_SYS(fork());
    if (child == 0)
        pause_ms(1);
    else {
        pause_ms(30);
        MUST(pthread_spin_unlock(&page->s));
    }
    for (int i = 0; i < 1000; i++) {
        MUST(pthread_spin_lock(&page->s));
        page->count++;
        if (i % 100 == 0)
            pause_ms(1);
        MUST(pthread_spin_unlock(&page->s));
    }
    if (child == 0)
        _exit(0);
    row_child("the child", child);
    line("counted by two processes", "%ld", page->count);
}

/* Threads wait while the owner forks: the child has the lock, and not these threads. */
static void fork_with_a_held_lock(void)
{
    pthread_spinlock_t s;
    MUST(pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE));
    struct job wanting[4];
    MUST(pthread_spin_lock(&s));
    for (int i = 0; i < 4; i++)
        start(&wanting[i], lock_then_unlock, (void *)&s);
    pause_ms(20);
    for (int i = 0; i < 3; i++)
        IN_CHILD("the child", {
            ROW("trylock", pthread_spin_trylock(&s));
            struct job waiter;
            start(&waiter, lock_then_unlock, (void *)&s);
            pause_ms(10);
            ROW("unlock", pthread_spin_unlock(&s));
            row_job("one of its own", &waiter);
            use("in the child", &s);
        });
    ROW("unlock", pthread_spin_unlock(&s));
    for (int i = 0; i < 4; i++)
        row_job("one of the parent's", &wanting[i]);
}

int main(void)
{
    odd_beginnings();
    initialised_while_held();
    private_lock_of_two_processes();
    fork_with_a_held_lock();
    return 0;
}
