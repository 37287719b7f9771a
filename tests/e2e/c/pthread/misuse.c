/* Misuse of mutexes, and the fields of a mutex that programs can read: glibc's words for owner and users must have the same
 * values as with glibc. */
#include "row.h"

static pthread_mutex_t m;

static int lock(void *mutex) { return pthread_mutex_lock(mutex); }
static int trylock(void *mutex) { return pthread_mutex_trylock(mutex); }
static int unlock(void *mutex) { return pthread_mutex_unlock(mutex); }

static int lock_then_unlock(void *mutex)
{
    int result = pthread_mutex_lock(mutex);
    return result != 0 ? result : pthread_mutex_unlock(mutex);
}

static void words(const char *row)
{
    pid_t owner = m.__data.__owner;
    line(row, "owner %s, count %u, users %d", owner == 0 ? "nobody" : owner == gettid() ? "here" : "elsewhere",
         m.__data.__count, (int)m.__data.__nusers);
}

static void init(int kind)
{
    pthread_mutexattr_t attr;
    MUST(pthread_mutexattr_init(&attr));
    MUST(pthread_mutexattr_settype(&attr, kind));
    MUST(pthread_mutex_init(&m, &attr));
}

static void seen_from_outside(int kind)
{
    line("kind", "%d", kind);
    init(kind);
    words("free");
    MUST(pthread_mutex_lock(&m));
    words("locked");
    ROW("destroy locked", pthread_mutex_destroy(&m));
    row_elsewhere("another tries", trylock, &m);
    words("tried by another");
    if (kind == PTHREAD_MUTEX_RECURSIVE) {
        MUST(pthread_mutex_lock(&m));
        words("locked twice");
        MUST(pthread_mutex_unlock(&m));
    }
    MUST(pthread_mutex_unlock(&m));
    words("unlocked");
    MUST(pthread_mutex_trylock(&m));
    words("tried");
    MUST(pthread_mutex_unlock(&m));
    struct timespec until = in_ms(CLOCK_REALTIME, 60000);
    MUST(pthread_mutex_timedlock(&m, &until));
    words("locked in time");
    row_elsewhere("unlocked elsewhere", unlock, &m);
    words("then");
    if (m.__data.__owner != 0)
        MUST(pthread_mutex_unlock(&m));
    ROW("unlocked again", pthread_mutex_unlock(&m));
    words("then");
    row_elsewhere("still of use", lock_then_unlock, &m);
    init(kind);
    ROW("destroy", pthread_mutex_destroy(&m));
    ROW("lock destroyed", pthread_mutex_lock(&m));
    ROW("unlock destroyed", pthread_mutex_unlock(&m));
    ROW("destroy destroyed", pthread_mutex_destroy(&m));
}

/* A thread that waits for a condition uses the mutex, though it does not hold it. */
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int waiting, ready;

static int wait_ready(void *unused)
{
    (void)unused;
    MUST(pthread_mutex_lock(&m));
    waiting = 1;
    while (!ready)
        MUST(pthread_cond_wait(&c, &m));
    words("after the wait");
    return pthread_mutex_unlock(&m);
}

static void used_by_a_waiter(int kind)
{
    struct job waiter;
    init(kind);
    waiting = ready = 0;
    start(&waiter, wait_ready, NULL);
    for (int seen = 0; !seen;) {
        MUST(pthread_mutex_lock(&m));
        seen = waiting;
        MUST(pthread_mutex_unlock(&m));
        pause_ms(1);
    }
    words("a waiter");
    ROW("destroy before a waiter", pthread_mutex_destroy(&m));
    MUST(pthread_mutex_lock(&m));
    words("locked before a waiter");
    ready = 1;
    MUST(pthread_cond_signal(&c));
    MUST(pthread_mutex_unlock(&m));
    row_job("the waiter", &waiter);
    words("no waiter");
}

/* To wait with the mutex locked twice is to wait with the mutex: libc gives it up once. */
static void deep(void)
{
    init(PTHREAD_MUTEX_RECURSIVE);
    MUST(pthread_mutex_lock(&m));
    MUST(pthread_mutex_lock(&m));
    struct timespec until = in_ms(CLOCK_REALTIME, 10);
    ROW("wait, locked twice", pthread_cond_timedwait(&c, &m, &until));
    words("then");
    MUST(pthread_mutex_unlock(&m));
    MUST(pthread_mutex_unlock(&m));
    ROW("wait with a mutex of nobody", pthread_cond_timedwait(&c, &m, &until));
}

/* POSIX forbids copying a mutex, but programs do it: they assign structures. */
static void copied(void)
{
    pthread_mutex_t other;
    init(PTHREAD_MUTEX_NORMAL);
    MUST(pthread_mutex_lock(&m));
    MUST(pthread_mutex_unlock(&m));
    memcpy(&other, &m, sizeof m);
    ROW("lock a copy", pthread_mutex_lock(&other));
    row_elsewhere("another's view", trylock, &other);
    row_elsewhere("of the original", lock_then_unlock, &m);
    struct job waiter;
    start(&waiter, lock_then_unlock, &other);
    await_asleep(&waiter);
    ROW("unlock it", pthread_mutex_unlock(&other));
    row_job("its waiter", &waiter);
}

static void released_by_strangers(void)
{
    struct job waiter;
    memset(&m, 0, sizeof m);
    for (int i = 0; i < 3; i++) {
        row_elsewhere("locked by who has ended", lock, &m);
        start(&waiter, lock_then_unlock, &m);
        await_asleep(&waiter);
        row_elsewhere("unlocked by another", unlock, &m);
        row_job("the waiter", &waiter);
    }
    words("then");
}

int main(int argc, char **argv)
{
    static const int kinds[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                 PTHREAD_MUTEX_ADAPTIVE_NP };
    /* libc's own inheriting mutexes are released by their owners only. */
    int strangers = argc < 2 || strcmp(argv[1], "owners") != 0;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        seen_from_outside(kinds[i]);
        used_by_a_waiter(kinds[i]);
    }
    deep();
    copied();
    if (strangers)
        released_by_strangers();
    return 0;
}
