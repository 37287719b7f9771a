/* Planted: one place holds the lock for 5 ms; the other holds it briefly and often. */
#include "cause.h"

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static volatile int done;

__attribute__((noinline)) static void save(void)
{
    pthread_mutex_lock(&table);
    pause_ms(5); /* writes to a file */
    pthread_mutex_unlock(&table);
}

__attribute__((noinline)) static void look_up(void)
{
    pthread_mutex_lock(&table);
    pthread_mutex_unlock(&table);
}

static void *saver(void *argument)
{
    for (int i = 0; i < 100; i++) {
        save();
        pause_ms(1);
    }
    done = 1;
    return argument;
}

static void *reader(void *argument)
{
    while (!done) {
        look_up();
        compute(20000);
    }
    return argument;
}

int main(void)
{
    run(3, (void *(*[])(void *)){saver, reader, reader});
    return 0;
}
