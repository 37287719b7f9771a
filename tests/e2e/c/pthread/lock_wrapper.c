/* A library that wraps libc's lock functions and counts the calls that reach it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

int wrapped_calls;

static void *next(const char *name)
{
    __atomic_add_fetch(&wrapped_calls, 1, __ATOMIC_SEQ_CST);
    return dlsym(RTLD_NEXT, name);
}

int pthread_mutex_lock(pthread_mutex_t *m)
{
    return ((int (*)(pthread_mutex_t *))next("pthread_mutex_lock"))(m);
}

int pthread_cond_signal(pthread_cond_t *c)
{
    return ((int (*)(pthread_cond_t *))next("pthread_cond_signal"))(c);
}

/* As libfaketime does: by another version of the name. */
int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
    __atomic_add_fetch(&wrapped_calls, 1, __ATOMIC_SEQ_CST);
    void *found = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    return ((int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))found)(c, m, until);
}
