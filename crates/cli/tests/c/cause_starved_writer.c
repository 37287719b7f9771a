/* Planted: the readers of a lock overlap, so that its writer hardly ever gets it. */
#include "cause.h"

static pthread_rwlock_t settings = PTHREAD_RWLOCK_INITIALIZER;
static volatile int done;

__attribute__((noinline)) static void look(void)
{
    pthread_rwlock_rdlock(&settings);
    pause_ms(1);
    pthread_rwlock_unlock(&settings);
}

__attribute__((noinline)) static void change(void)
{
    pthread_rwlock_wrlock(&settings);
    pthread_rwlock_unlock(&settings);
}

static void *reader(void *argument)
{
    while (!done)
        look();
    return argument;
}

static void *writer(void *argument)
{
    pause_ms(5);
    change();
    done = 1;
    return argument;
}

/* A writer might wait for ever. */
static void *end(void *argument)
{
    pause_ms(1000);
    done = 1;
    return argument;
}

int main(void)
{
    run(6, (void *(*[])(void *)){reader, reader, reader, reader, writer, end});
    return 0;
}
