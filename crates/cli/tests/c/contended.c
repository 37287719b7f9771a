/* Two threads take turns at a lock, which each holds for milliseconds. A third waits for a condition that is never signalled,
   so it is alive when the program ends. */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t narrow = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

__attribute__((noinline)) static void work(void)
{
    pthread_mutex_lock(&narrow);
    usleep(5000);
    pthread_mutex_unlock(&narrow);
}

static void *worker(void *nothing)
{
    for (int i = 0; i < 20; i++)
        work();
    return nothing;
}

static void *idler(void *nothing)
{
    pthread_mutex_lock(&idle_lock);
    pthread_cond_wait(&never, &idle_lock);
    return nothing;
}

int main(void)
{
    pthread_t workers[2], idle;
    pthread_create(&idle, NULL, idler, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], NULL, worker, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
    usleep(300000);
    return 0;
}
