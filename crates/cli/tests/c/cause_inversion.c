/* Planted: a thread of the lowest priority holds the lock, and others, which do not need it, keep it from the CPU while
   a thread of normal priority waits. */
#include "cause.h"
#include <sys/resource.h>

static pthread_mutex_t device = PTHREAD_MUTEX_INITIALIZER;
static volatile int held, done;

__attribute__((noinline)) static void clean_up(void)
{
    pthread_mutex_lock(&device);
    held = 1;
    compute(5000000);
    pthread_mutex_unlock(&device);
}

__attribute__((noinline)) static void answer(void)
{
    pthread_mutex_lock(&device);
    pthread_mutex_unlock(&device);
}

static void on_one_cpu(void)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(sched_getcpu(), &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
}

static void *low(void *argument)
{
    setpriority(PRIO_PROCESS, 0, 19);
    clean_up();
    /* The kernel is asked for the owner's priority after the wait. */
    while (!done)
        pause_ms(1);
    return argument;
}

static void *medium(void *argument)
{
    while (!held)
        sched_yield();
    while (!done)
        compute(1000000);
    return argument;
}

static void *high(void *argument)
{
    while (!held)
        sched_yield();
    answer();
    done = 1;
    return argument;
}

int main(void)
{
    on_one_cpu();
    run(4, (void *(*[])(void *)){low, medium, medium, high});
    return 0;
}
