/* A library that returns some wrong errors: the suite must detect them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/msg.h>
#include <sys/sem.h>

int semop(int id, struct sembuf *ops, size_t n)
{
    int (*next)(int, struct sembuf *, size_t) = (int (*)(int, struct sembuf *, size_t))dlsym(RTLD_NEXT, "semop");
    int result = next(id, ops, n);
    if (result == -1 && errno == EFBIG)
        errno = EINVAL;
    return result;
}

int semget(key_t key, int count, int flags)
{
    int (*next)(key_t, int, int) = (int (*)(key_t, int, int))dlsym(RTLD_NEXT, "semget");
    int result = next(key, count, flags);
    if (result == -1 && errno == EINVAL)
        errno = ENOSPC;
    return result;
}

ssize_t msgrcv(int id, void *message, size_t size, long type, int flags)
{
    ssize_t (*next)(int, void *, size_t, long, int) =
        (ssize_t (*)(int, void *, size_t, long, int))dlsym(RTLD_NEXT, "msgrcv");
    ssize_t result = next(id, message, size, type, flags);
    if (result == -1 && errno == E2BIG)
        errno = ENOMSG;
    return result;
}
