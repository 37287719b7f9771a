/* Threads hold one lock repeatedly for a short time: `narrow THREADS TURNS`. */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t narrow = PTHREAD_MUTEX_INITIALIZER;
static long turns;
static volatile long counter;

static void *worker(void *nothing)
{
    for (long i = 0; i < turns; i++) {
        pthread_mutex_lock(&narrow);
        for (int n = 0; n < 20; n++)
            counter++;
        pthread_mutex_unlock(&narrow);
        for (volatile int n = 0; n < 20; n++)
            ;
    }
    return nothing;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t *threads = calloc(count, sizeof *threads);
    turns = argc > 2 ? atol(argv[2]) : 100000;
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return counter == 20 * count * turns ? 0 : 1;
}
