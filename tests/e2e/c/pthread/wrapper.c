/* A library that interposes the lock functions, as lock tracers do: it counts calls, and passes them on to the next
 * library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static unsigned long calls;

#define NEXT(type, name) (*(type *)next(#name))

static void **next(const char *name)
{
    static __thread void *found;
    found = dlsym(RTLD_NEXT, name);
    return &found;
}

typedef int of_mutex(pthread_mutex_t *);
typedef int of_both(pthread_cond_t *, pthread_mutex_t *);

int pthread_mutex_lock(pthread_mutex_t *m)
{
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return NEXT(of_mutex *, pthread_mutex_lock)(m);
}

int pthread_mutex_unlock(pthread_mutex_t *m)
{
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return NEXT(of_mutex *, pthread_mutex_unlock)(m);
}

int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    return NEXT(of_both *, pthread_cond_wait)(c, m);
}
