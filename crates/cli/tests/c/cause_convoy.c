/* Planted: a short hold, in which the owner gives up its CPU, as at the end of a time slice or at a page fault. The
   threads that come meanwhile queue up behind it and sleep, and each comes back soon. */
#include "cause.h"
#include <sys/prctl.h>

enum { THREADS = 24 };

static pthread_mutex_t counter = PTHREAD_MUTEX_INITIALIZER;
static long n;

__attribute__((noinline)) static void count(void)
{
    pthread_mutex_lock(&counter);
    n++;
    sched_yield();
    pthread_mutex_unlock(&counter);
}

static void *work(void *argument)
{
    struct timespec soon = {0, 1000};
    prctl(PR_SET_TIMERSLACK, 1);
    for (int i = 0; i < 1000; i++) {
        count();
        nanosleep(&soon, NULL);
    }
    return argument;
}

int main(void)
{
    void *(*all[THREADS])(void *);
    for (int i = 0; i < THREADS; i++)
        all[i] = work;
    run(THREADS, all);
    return 0;
}
