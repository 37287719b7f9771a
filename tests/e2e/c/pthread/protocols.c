/* A real-time thread waits for mutexes of each protocol while a thread of lower priority holds them. Prints the address
   of the mutex without a protocol. */
#define _GNU_SOURCE
#include "sleeps.h"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MUTEXES = 3 };
static pthread_mutex_t mutexes[MUTEXES];
static pthread_barrier_t barrier;
static volatile pid_t high_tid;
static volatile int wanted;

static void *high(void *argument)
{
    high_tid = gettid();
    for (int i = 0; i < MUTEXES; i++) {
        pthread_barrier_wait(&barrier);
        wanted = i + 1;
        pthread_mutex_lock(&mutexes[i]);
        pthread_mutex_unlock(&mutexes[i]);
    }
    return argument;
}

int main(void)
{
    static const int protocols[MUTEXES] = {PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT, PTHREAD_PRIO_PROTECT};
    struct sched_param low = {.sched_priority = 1}, real_time = {.sched_priority = 2};
    /* A mutex with a ceiling changes the priority of real-time threads only. */
    if (sched_setscheduler(0, SCHED_FIFO, &low) != 0)
        return 77;
    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < MUTEXES; i++) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setprotocol(&attributes, protocols[i]);
        if (protocols[i] == PTHREAD_PRIO_PROTECT)
            pthread_mutexattr_setprioceiling(&attributes, real_time.sched_priority);
        pthread_mutex_init(&mutexes[i], &attributes);
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &real_time);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, high, NULL) != 0)
        return 77;
    for (int i = 0; i < MUTEXES; i++) {
        pthread_mutex_lock(&mutexes[i]);
        pthread_barrier_wait(&barrier);
        while (wanted != i + 1 || !sleeps(high_tid))
            usleep(1000);
        usleep(1000);
        pthread_mutex_unlock(&mutexes[i]);
    }
    pthread_join(thread, NULL);
    printf("%p\n", (void *)&mutexes[0]);
    return 0;
}
