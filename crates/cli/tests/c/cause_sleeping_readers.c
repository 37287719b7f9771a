/* Planted: readers sleep while they hold a lock, for which a writer waits. */
#include "cause.h"

static pthread_rwlock_t settings = PTHREAD_RWLOCK_INITIALIZER;

__attribute__((noinline)) static void send(void)
{
    pthread_rwlock_rdlock(&settings);
    pause_ms(20);
    pthread_rwlock_unlock(&settings);
}

__attribute__((noinline)) static void change(void)
{
    pthread_rwlock_wrlock(&settings);
    pthread_rwlock_unlock(&settings);
}

static void *reader(void *argument)
{
    for (int i = 0; i < 40; i++) {
        send();
        pause_ms(5);
    }
    return argument;
}

static void *writer(void *argument)
{
    for (int i = 0; i < 60; i++) {
        change();
        pause_ms(7);
    }
    return argument;
}

int main(void)
{
    run(2, (void *(*[])(void *)){reader, writer});
    return 0;
}
