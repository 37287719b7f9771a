/* A semaphore whose tokens come from another thread than the one that takes them: no lock. */
#include "cause.h"
#include <semaphore.h>

enum { ITEMS = 100 };

static sem_t filled;

static void *produce(void *argument)
{
    for (int i = 0; i < ITEMS; i++) {
        pause_ms(2);
        sem_post(&filled);
    }
    return argument;
}

static void *consume(void *argument)
{
    for (int i = 0; i < ITEMS; i++)
        sem_wait(&filled);
    return argument;
}

int main(void)
{
    sem_init(&filled, 0, 0);
    run(2, (void *(*[])(void *)){produce, consume});
    return 0;
}
