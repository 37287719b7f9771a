/* A library whose constructor, run before that of the preload, starts threads that use semaphores at once. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4 };

static int id = -1, failures;

static void *use(void *unused)
{
    (void)unused;
    for (int i = 0; i < 200; i++)
        if (SEMOP(id, OP(0, 1, 0)) != 0 || SEMOP(id, OP(0, -1, 0)) != 0)
            __atomic_add_fetch(&failures, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* All of them make the first call there is, at the same time. */
static void *first(void *barrier)
{
    pthread_barrier_wait(barrier);
    int mine = semget(IPC_PRIVATE, 1, 0600);
    if (mine < 0 || semctl(mine, 0, IPC_RMID) != 0)
        __atomic_add_fetch(&failures, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

__attribute__((constructor)) static void construct(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    signal(SIGUSR2, SIG_IGN);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, first, &barrier);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    id = semget(IPC_PRIVATE, 1, 0600);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, use, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    failures += semctl(id, 0, GETVAL) != 0;
    semctl(id, 0, IPC_RMID);
}

int what_the_constructor_found(void)
{
    return failures;
}

__attribute__((destructor)) static void destruct(void)
{
    int late = semget(IPC_PRIVATE, 1, 0600);
    if (late < 0 || SEMOP(late, OP(0, 1, 0)) != 0 || semctl(late, 0, IPC_RMID) != 0)
        _exit(94);
}
