/* A lock with two owners, which the tests must detect. One of a mutex's functions bypasses the library that replaces
 * the others, and calls libc's. */
#define _GNU_SOURCE
#include "libcs_own.h"
#include <pthread.h>

typedef int trylock(pthread_mutex_t *);

int __pthread_mutex_trylock(pthread_mutex_t *m)
{
    static trylock *libcs;
    trylock *found = __atomic_load_n(&libcs, __ATOMIC_RELAXED);
    if (found == NULL) {
        found = (trylock *)libcs_own("pthread_mutex_trylock");
        __atomic_store_n(&libcs, found, __ATOMIC_RELAXED);
    }
    return found(m);
}
