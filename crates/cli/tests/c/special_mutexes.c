/* A mutex with the property that the argument names, for which one thread waits: shared, robust, inheriting or plain. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t special;

static void *take(void *none) {
    pthread_mutex_lock(&special);
    pthread_mutex_unlock(&special);
    return none;
}

int main(int argc, char **argv) {
    const char *property = argc > 1 ? argv[1] : "plain";
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if (!strcmp(property, "shared"))
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (!strcmp(property, "robust"))
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (!strcmp(property, "inheriting"))
        pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&special, &attributes);
    pthread_mutex_lock(&special);
    pthread_t waiter;
    if (pthread_create(&waiter, 0, take, 0))
        return 1;
    /* 2, or the bit FUTEX_WAITERS: a thread waits. */
    volatile unsigned *word = (volatile unsigned *)&special.__data.__lock;
    while (*word != 2 && !(*word & 0x80000000u))
        usleep(100);
    pthread_mutex_unlock(&special);
    return pthread_join(waiter, 0);
}
