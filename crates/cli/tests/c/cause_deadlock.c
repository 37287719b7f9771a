/* Planted: two threads take two locks in opposite orders. */
#include "cause.h"

static pthread_mutex_t from = PTHREAD_MUTEX_INITIALIZER, to = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

__attribute__((noinline)) static void transfer(pthread_mutex_t *first, pthread_mutex_t *second)
{
    pthread_mutex_lock(first);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *there(void *argument)
{
    transfer(&from, &to);
    return argument;
}

static void *back(void *argument)
{
    transfer(&to, &from);
    return argument;
}

int main(void)
{
    pthread_barrier_init(&both, NULL, 2);
    run(2, (void *(*[])(void *)){there, back});
    return 0;
}
