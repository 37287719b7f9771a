/* A library that sometimes loses a token, or doubles one, as UNSPIN_FLAW says. Random programs must detect it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_flaw(const char *name)
{
    const char *flaw = getenv("UNSPIN_FLAW");
    return flaw != NULL && strcmp(flaw, name) == 0;
}

/* As if a look took the byte, and the wait then read anew. */
ssize_t read(int fd, void *bytes, size_t size)
{
    static int calls;
    ssize_t (*next)(int, void *, size_t);
    *(void **)&next = dlsym(RTLD_NEXT, "read");
    if (is_flaw("loses") && size == 1 && __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) % 50 == 0)
        next(fd, bytes, size);
    return next(fd, bytes, size);
}

/* As if a look took the token, and was forgotten when a signal came. */
int sem_wait(sem_t *semaphore)
{
    static int calls;
    int (*next)(sem_t *);
    *(void **)&next = dlsym(RTLD_NEXT, "sem_wait");
    int answer = next(semaphore);
    if (is_flaw("doubles") && answer == 0 && __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) % 20 == 0)
        sem_post(semaphore);
    return answer;
}
