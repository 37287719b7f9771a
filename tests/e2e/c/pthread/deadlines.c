/* Ends while threads wait for locks that it holds, with a deadline and without. Prints the kernel's id of each thread,
   and whether its wait has a deadline. */
#define _GNU_SOURCE
#include "sleeps.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static mtx_t c11;

enum { WAITS = 13 };
static volatile pid_t ids[WAITS];

static void *waits(void *number)
{
    struct timespec real, monotonic;
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    real.tv_sec += 1000;
    monotonic.tv_sec += 1000;
    ids[(intptr_t)number] = gettid();
    switch ((intptr_t)number) {
    case 0: pthread_mutex_timedlock(&mutex, &real); break;
    case 1: pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &monotonic); break;
    case 2: pthread_rwlock_timedrdlock(&rwlock, &real); break;
    case 3: pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &monotonic); break;
    case 4: pthread_rwlock_timedwrlock(&rwlock, &real); break;
    case 5: pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &monotonic); break;
    case 6: sem_timedwait(&semaphore, &real); break;
    case 7: sem_clockwait(&semaphore, CLOCK_MONOTONIC, &monotonic); break;
    case 8: mtx_timedlock(&c11, &real); break;
    case 9: pthread_mutex_lock(&mutex); break;
    case 10: pthread_rwlock_rdlock(&rwlock); break;
    case 11: sem_wait(&semaphore); break;
    case 12: mtx_lock(&c11); break;
    }
    abort();
}

int main(void)
{
    sem_init(&semaphore, 0, 0);
    mtx_init(&c11, mtx_timed);
    pthread_mutex_lock(&mutex);
    pthread_rwlock_wrlock(&rwlock);
    mtx_lock(&c11);
    for (intptr_t i = 0; i < WAITS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, waits, (void *)i);
        while (!ids[i] || !sleeps(ids[i]))
            usleep(1000);
        printf("%d %s\n", ids[i], i < 9 ? "deadline" : "none");
    }
    fflush(stdout);
    _exit(0);
}
