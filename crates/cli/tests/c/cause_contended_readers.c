/* Planted: the readers of a lock wait for no thread, and move the lock's cache line between the CPUs. */
#include "cause.h"

static pthread_rwlock_t routes = PTHREAD_RWLOCK_INITIALIZER;

__attribute__((noinline)) static void look(void)
{
    pthread_rwlock_rdlock(&routes);
    pthread_rwlock_unlock(&routes);
}

static void *reader(void *argument)
{
    for (int i = 0; i < 6000000; i++)
        look();
    return argument;
}

int main(void)
{
    run(4, (void *(*[])(void *)){reader, reader, reader, reader});
    return 0;
}
