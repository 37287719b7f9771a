/* A trylock that returns the wrong error, which the tests must detect. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

typedef int trylock(pthread_mutex_t *);

int pthread_mutex_trylock(pthread_mutex_t *m)
{
    trylock *next = (trylock *)dlsym(RTLD_NEXT, "pthread_mutex_trylock");
    int result = next(m);
    return result == EBUSY ? EAGAIN : result;
}
