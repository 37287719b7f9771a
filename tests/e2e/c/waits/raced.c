/* A thread is cancelled while it is woken. If it consumed the signal, it returns, and is joined as a thread that has
 * returned. Otherwise the other waiter gets the signal. */
#include "table.h"

enum { ROUNDS = 3000 };

static pthread_mutex_t mutex;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int items, waiting, took[2], not_held;

static void unlock(void *unused)
{
    (void)unused;
    if (pthread_mutex_unlock(&mutex) != 0)
        not_held++;
}

static void *take(void *argument)
{
    MUST(pthread_mutex_lock(&mutex));
    __atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
    pthread_cleanup_push(unlock, NULL);
    while (items == 0)
        MUST(pthread_cond_wait(&condition, &mutex));
    items--;
    took[(intptr_t)argument] = 1;
    pthread_cleanup_pop(0);
    MUST(pthread_mutex_unlock(&mutex));
    return NULL;
}

static void give(void)
{
    MUST(pthread_mutex_lock(&mutex));
    items = 1;
    MUST(pthread_cond_signal(&condition));
    MUST(pthread_mutex_unlock(&mutex));
}

int main(void)
{
    pthread_mutexattr_t how;
    MUST(pthread_mutexattr_init(&how));
    MUST(pthread_mutexattr_settype(&how, PTHREAD_MUTEX_ERRORCHECK));
    MUST(pthread_mutex_init(&mutex, &how));
    int wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t first, second;
        void *result;
        items = waiting = took[0] = took[1] = 0;
        MUST(pthread_create(&first, NULL, take, (void *)0));
        MUST(pthread_create(&second, NULL, take, (void *)1));
        while (__atomic_load_n(&waiting, __ATOMIC_SEQ_CST) < 2)
            sched_yield();
        give();
        for (volatile int pause = round * 7 % 3000; pause > 0; pause--)
            ;
        pthread_cancel(first);
        MUST(pthread_join(first, &result));
        wrong += took[0] != (result == NULL);
        if (took[0])
            give();
        MUST(pthread_join(second, &result));
    }
    line("returned, and joined as cancelled, or the other way round", "%d", wrong);
    line("clean-up handlers without the mutex", "%d", not_held);
    return 0;
}
