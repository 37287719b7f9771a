/* Planted: many short holds, and at nearly each of them the thread that holds the lock gives up its CPU, as one whose
   time slice ends, or that takes a page fault. The others queue up behind it and sleep. */
#include "cause.h"

static pthread_mutex_t counter = PTHREAD_MUTEX_INITIALIZER;
static long n;

__attribute__((noinline)) static void count(void)
{
    pthread_mutex_lock(&counter);
    n++;
    pthread_mutex_unlock(&counter);
    sched_yield();
}

__attribute__((noinline)) static void stall(void)
{
    pthread_mutex_lock(&counter);
    sched_yield();
    pthread_mutex_unlock(&counter);
}

static void *work(void *argument)
{
    for (int i = 0; i < 20000; i++)
        if (i % 4)
            count();
        else
            stall();
    return argument;
}

int main(void)
{
    run(8, (void *(*[])(void *)){work, work, work, work, work, work, work, work});
    return 0;
}
