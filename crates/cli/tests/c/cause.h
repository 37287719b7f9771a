/* Shared by the programs with one planted cause each. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Computes for about this many nanoseconds of the thread's own CPU time. */
static inline void compute(long ns)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < ns);
}

static inline void pause_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

/* Runs the functions in one thread each, and waits for them. */
static inline void run(int n, void *(*functions[])(void *))
{
    pthread_t threads[64];
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, functions[i], (void *)(intptr_t)i);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}
