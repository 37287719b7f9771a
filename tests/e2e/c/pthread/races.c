/* A program for ThreadSanitizer, which reports a race if it does not see what the locks do. */
#include "row.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static long counter, turn;

static void *works(void *me)
{
    for (int i = 0; i < 200; i++) {
        MUST(pthread_mutex_lock(&m));
        while (turn != (long)me)
            MUST(pthread_cond_wait(&c, &m));
        turn = !turn;
        counter++;
        MUST(pthread_cond_signal(&c));
        MUST(pthread_mutex_unlock(&m));
    }
    static long before[2];
    before[(long)me] = (long)me + 1;
    pthread_barrier_wait(&barrier);
    return (void *)before[!(long)me];
}

int main(void)
{
    pthread_t threads[2];
    MUST(pthread_barrier_init(&barrier, NULL, 2));
    for (long i = 0; i < 2; i++)
        MUST(pthread_create(&threads[i], NULL, works, (void *)i));
    for (int i = 0; i < 2; i++)
        MUST(pthread_join(threads[i], NULL));
    printf("counter %ld\n", counter);
    return 0;
}
