/* A library that breaks one rule, which UNSPIN_FLAW names. Random programs must detect it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int has(const char *flaw)
{
    const char *wanted = getenv("UNSPIN_FLAW");
    return wanted != NULL && strcmp(wanted, flaw) == 0;
}

int semop(int id, struct sembuf *ops, size_t n)
{
    if (has("forgets-undo"))
        for (size_t i = 0; i < n; i++)
            ops[i].sem_flg &= ~SEM_UNDO;
    int result = NEXT(semop)(id, ops, n);
    /* Its sleepers are woken, but not by the step that should have woken them. */
    if (has("wakes-late"))
        usleep(200000);
    return result;
}

ssize_t msgrcv(int id, void *message, size_t size, long type, int flags)
{
    if (has("first-is-lowest") && type < 0)
        type = 0;
    return NEXT(msgrcv)(id, message, size, type, flags);
}

int shmdt(const void *address)
{
    return has("never-detaches") && address != NULL ? 0 : NEXT(shmdt)(address);
}

/* The child has none of its parent's segments. */
pid_t fork(void)
{
    pid_t child = NEXT(fork)();
    if (child == 0 && has("forgets-attachments"))
        for (int bay = 0; bay < 4; bay++)
            NEXT(shmdt)((char *)0x110000000000 + bay * 65536);
    return child;
}
