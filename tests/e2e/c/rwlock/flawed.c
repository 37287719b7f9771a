/* A library whose read-write locks have a flaw, which the programs must notice. UNSPIN_FLAW says which one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef int call(pthread_rwlock_t *);

static int has(const char *flaw)
{
    const char *chosen = getenv("UNSPIN_FLAW");
    return chosen != NULL && strcmp(chosen, flaw) == 0;
}

static call *next(const char *name)
{
    return (call *)dlsym(RTLD_NEXT, name);
}

/* A writer that is not alone. */
int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
    return next(has("writers-share") ? "pthread_rwlock_rdlock" : "pthread_rwlock_wrlock")(l);
}

/* Another error than the right one. */
int pthread_rwlock_trywrlock(pthread_rwlock_t *l)
{
    int result = next("pthread_rwlock_trywrlock")(l);
    return result == EBUSY && has("wrong-error") ? EAGAIN : result;
}

/* A reader that another reader keeps out. */
int pthread_rwlock_tryrdlock(pthread_rwlock_t *l)
{
    call *trywr = next("pthread_rwlock_trywrlock");
    if (has("readers-exclude"))
        return trywr(l) == 0 ? next("pthread_rwlock_unlock")(l), next("pthread_rwlock_tryrdlock")(l) : EBUSY;
    return next("pthread_rwlock_tryrdlock")(l);
}

/* A release that touches the lock once more. */
int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
    int result = next("pthread_rwlock_unlock")(l);
    if (has("late-touch"))
        for (int i = 0; i < 2000; i++)
            (void)((volatile pthread_rwlock_t *)l)->__data.__flags;
    return result;
}

/* A lock without the kind that it was made with. */
int pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *attr)
{
    int (*init)(pthread_rwlock_t *, const pthread_rwlockattr_t *) =
        (int (*)(pthread_rwlock_t *, const pthread_rwlockattr_t *))dlsym(RTLD_NEXT, "pthread_rwlock_init");
    int result = init(l, attr);
    if (has("forgets-the-kind"))
        l->__data.__flags = 0;
    return result;
}
