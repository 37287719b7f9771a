/* Planted: the lock and the data behind it lie in one cache line. */
#include "cause.h"

static struct {
    pthread_mutex_t lock;
    volatile long sums[3];
} __attribute__((aligned(64))) shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

__attribute__((noinline)) static void add(void)
{
    pthread_mutex_lock(&shared.lock);
    for (int i = 0; i < 200; i++)
        shared.sums[i % 3] += i;
    pthread_mutex_unlock(&shared.lock);
}

static void *work(void *argument)
{
    for (int i = 0; i < 200000; i++)
        add();
    return argument;
}

int main(void)
{
    run(2, (void *(*[])(void *)){work, work});
    return 0;
}
