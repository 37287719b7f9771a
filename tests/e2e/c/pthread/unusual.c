/* Uses of locks that are hard to count, and the truth about them, as counts.c prints it; and how often a lock was released by
 * another thread than its owner, and how often when no thread held it. */
#include "row.h"
#include <sys/time.h>

enum { MANY = 10000, THREADS = 2, AT_ONCE = 200, HANDED = 5, LEFT = 2, NOBODYS = 3, SIGNALS = 200, OFTEN = 40000 };

/* ---- More locks than one can hold. ---- */

static pthread_mutex_t many[MANY];

static void *each_once(void *unused)
{
    for (int i = 0; i < MANY; i++) {
        MUST(pthread_mutex_lock(&many[i]));
        MUST(pthread_mutex_unlock(&many[i]));
    }
    return unused;
}

/* Released in the order in which they were taken, then in the opposite one. */
static void hold_at_once(void)
{
    for (int i = 0; i < AT_ONCE; i++)
        MUST(pthread_mutex_lock(&many[i]));
    for (int i = 0; i < AT_ONCE; i++)
        MUST(pthread_mutex_unlock(&many[i]));
    for (int i = 0; i < AT_ONCE; i++)
        MUST(pthread_mutex_lock(&many[i]));
    for (int i = AT_ONCE; i-- > 0;)
        MUST(pthread_mutex_unlock(&many[i]));
}

/* From lock to lock, each time with the next in hand before the last is released. */
static void hand_over_hand(void)
{
    MUST(pthread_mutex_lock(&many[0]));
    for (int i = 1; i < MANY; i++) {
        MUST(pthread_mutex_lock(&many[i]));
        MUST(pthread_mutex_unlock(&many[i - 1]));
    }
    MUST(pthread_mutex_unlock(&many[MANY - 1]));
}

/* ---- Locks that have no owner, or another. ---- */

static pthread_mutex_t handed = PTHREAD_MUTEX_INITIALIZER, wiped, nobodys;

static void *take_handed(void *unused)
{
    MUST(pthread_mutex_lock(&handed));
    return unused;
}

static void *give_handed(void *unused)
{
    MUST(pthread_mutex_unlock(&handed));
    return unused;
}

static void without_owner(void)
{
    for (int i = 0; i < HANDED; i++) {
        take_handed(NULL);
        crowd(1, give_handed, NULL);
    }
    /* The threads that took these have ended when they are released. */
    for (int i = 0; i < LEFT; i++) {
        crowd(1, take_handed, NULL);
        give_handed(NULL);
    }
    for (int i = 0; i < NOBODYS; i++) {
        memset(&nobodys, 0, sizeof nobodys);
        MUST(pthread_mutex_unlock(&nobodys));
    }
    memset(&wiped, 0, sizeof wiped);
    MUST(pthread_mutex_lock(&wiped));
    memset(&wiped, 0, sizeof wiped);
    MUST(pthread_mutex_lock(&wiped));
    MUST(pthread_mutex_init(&wiped, NULL));
    MUST(pthread_mutex_lock(&wiped));
    MUST(pthread_mutex_unlock(&wiped));
}

/* ---- Handlers in the middle of it. ---- */

static pthread_mutex_t of_main[OFTEN / 16], of_handler[SIGNALS], shared = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t signals;
static volatile long shared_tries, shared_refused;

/* One caller, be it in the handler or in what that interrupted. */
__attribute__((noinline)) static int try_shared(void)
{
    return pthread_mutex_trylock(&shared);
}

/* A new lock each time, so that each signal is a new row, perhaps in the middle of the making of one. */
static void handler(int signal)
{
    (void)signal;
    if (signals == SIGNALS)
        return;
    MUST(pthread_mutex_lock(&of_handler[signals]));
    MUST(pthread_mutex_unlock(&of_handler[signals]));
    signals = signals + 1;
    int result = try_shared();
    if (result == 0)
        MUST(pthread_mutex_unlock(&shared));
    shared_tries = shared_tries + 1;
    shared_refused = shared_refused + (result != 0);
}

static long main_rounds;

static void interrupted(void)
{
    struct sigaction action = { .sa_handler = handler };
    struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (long i = 0; signals < SIGNALS || i < OFTEN; i++) {
        pthread_mutex_t *m = &of_main[i / 16 % (OFTEN / 16)];
        MUST(pthread_mutex_lock(m));
        MUST(pthread_mutex_unlock(m));
        main_rounds = i + 1;
        if (try_shared() == 0)
            MUST(pthread_mutex_unlock(&shared));
        else
            abort();
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigprocmask(SIG_BLOCK, &alarm, NULL);
    shared_tries = shared_tries + main_rounds;
}

int main(void)
{
    crowd(THREADS, each_once, NULL);
    hold_at_once();
    hand_over_hand();
    without_owner();
    interrupted();
    for (int i = 0; i < MANY; i++)
        printf("mutex %p %d 0 0\n", (void *)&many[i], THREADS + 1 + (i < AT_ONCE ? 2 : 0));
    for (long i = 0; i < OFTEN / 16; i++) {
        const long all = OFTEN / 16 * 16, rest = main_rounds % all - i * 16;
        printf("mutex %p %ld 0 0\n", (void *)&of_main[i],
               main_rounds / all * 16 + (rest < 0 ? 0 : rest > 16 ? 16 : rest));
    }
    for (int i = 0; i < SIGNALS; i++)
        printf("mutex %p 1 0 0\n", (void *)&of_handler[i]);
    printf("mutex %p %ld %ld 0\n", (void *)&shared, shared_tries, shared_refused);
    printf("mutex %p %d 0 0\n", (void *)&handed, HANDED + LEFT);
    printf("mutex %p 3 0 0\n", (void *)&wiped);
    return 0;
}
