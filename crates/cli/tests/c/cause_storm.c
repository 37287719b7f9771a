/* Planted: each new item wakes all consumers, and only one of them gets it. */
#include "cause.h"

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items, done;

static void *consumer(void *argument)
{
    pthread_mutex_lock(&queue);
    for (;;) {
        while (!items && !done)
            pthread_cond_wait(&filled, &queue);
        if (!items)
            break;
        items--;
        pthread_mutex_unlock(&queue);
        compute(10000);
        pthread_mutex_lock(&queue);
    }
    pthread_mutex_unlock(&queue);
    return argument;
}

__attribute__((noinline)) static void add(void)
{
    pthread_mutex_lock(&queue);
    items++;
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&queue);
}

static void *producer(void *argument)
{
    for (int i = 0; i < 3000; i++) {
        add();
        struct timespec time = {0, 200000};
        nanosleep(&time, NULL);
    }
    pthread_mutex_lock(&queue);
    done = 1;
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&queue);
    return argument;
}

int main(void)
{
    run(9, (void *(*[])(void *)){consumer, consumer, consumer, consumer, consumer, consumer, consumer, consumer,
                                 producer});
    return 0;
}
