/* A library that removes SEM_UNDO from every operation: nothing is undone for dead processes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/sem.h>

enum { MOST = 512 };

int semtimedop(int id, struct sembuf *ops, size_t n, const struct timespec *timeout)
{
    static int (*next)(int, struct sembuf *, size_t, const struct timespec *);
    struct sembuf copy[MOST];
    if (next == NULL)
        next = (int (*)(int, struct sembuf *, size_t, const struct timespec *))dlsym(RTLD_NEXT, "semtimedop");
    if (n > MOST)
        return next(id, ops, n, timeout);
    memcpy(copy, ops, n * sizeof *ops);
    for (size_t i = 0; i < n; i++)
        copy[i].sem_flg &= ~SEM_UNDO;
    return next(id, copy, n, timeout);
}

int semop(int id, struct sembuf *ops, size_t n)
{
    return semtimedop(id, ops, n, NULL);
}
