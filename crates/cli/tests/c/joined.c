/* Two threads contend for a lock. The main thread uses it once, and then waits for their end. They end some time after it has begun
 * to wait, however late a busy machine lets it begin. */
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_waiting;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static void *worker(void *nothing)
{
    double end = 0;
    while (end == 0 || seconds() < end) {
        if (end == 0 && __atomic_load_n(&is_waiting, __ATOMIC_SEQ_CST))
            end = seconds() + 0.4;
        pthread_mutex_lock(&lock);
        for (volatile int i = 0; i < 1000; i++)
            ;
        pthread_mutex_unlock(&lock);
    }
    return nothing;
}

int main(void)
{
    pthread_t workers[2];
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], NULL, worker, NULL);
    __atomic_store_n(&is_waiting, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
}
