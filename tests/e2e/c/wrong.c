/* A library that gets one errno wrong: the suite must notice. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/sem.h>

int semop(int id, struct sembuf *ops, size_t n)
{
    int (*next)(int, struct sembuf *, size_t) = (int (*)(int, struct sembuf *, size_t))dlsym(RTLD_NEXT, "semop");
    int result = next(id, ops, n);
    if (result == -1 && errno == EFBIG)
        errno = EINVAL;
    return result;
}
