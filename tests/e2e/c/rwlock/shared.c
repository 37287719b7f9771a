/* A read-write lock in memory that two processes share, and a private one beside it. Prints the address of the shared one. */
#include "expect.h"
#include <sys/mman.h>

struct pair {
    pthread_rwlock_t shared, private;
};

int main(void)
{
    struct pair *pair = mmap(NULL, sizeof *pair, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    HOLDS(pair != MAP_FAILED);
    pthread_rwlockattr_t attr;
    MUST(pthread_rwlockattr_init(&attr));
    MUST(pthread_rwlock_init(&pair->private, &attr));
    MUST(pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    MUST(pthread_rwlock_init(&pair->shared, &attr));
    printf("%p\n", (void *)&pair->shared);
    fflush(stdout);
    pid_t child = (pid_t)MUST_SYS(fork());
    if (child == 0) {
        /* Each of the two locks has a waiter here. */
        struct job reader, writer;
        MUST(wr(&pair->private));
        start_asleep(&reader, rd_unlock, &pair->private);
        MUST(unlock(&pair->private));
        MUST(answer_of(&reader));
        MUST(wr(&pair->shared));
        start_asleep(&writer, wr_unlock, &pair->shared);
        MUST(unlock(&pair->shared));
        MUST(answer_of(&writer));
        _exit(0);
    }
    int status = status_of(child);
    MUST(rd(&pair->shared));
    MUST(unlock(&pair->shared));
    return status != 0;
}
