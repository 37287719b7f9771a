/* A timedlock that bypasses the meter, which the tests must detect. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

typedef int timedlock(pthread_mutex_t *, const struct timespec *);

int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
    static timedlock *libcs;
    timedlock *found = __atomic_load_n(&libcs, __ATOMIC_RELAXED);
    if (found == NULL) {
        /* Of another libc: a lookup in the program's finds the meter's. */
        found = (timedlock *)dlsym(dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW), "pthread_mutex_timedlock");
        __atomic_store_n(&libcs, found, __ATOMIC_RELAXED);
    }
    return found(m, until);
}
