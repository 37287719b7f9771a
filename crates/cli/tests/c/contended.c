/* Two threads take turns at a lock, which each holds for milliseconds. The main thread holds it before, until both wait for it.
   A third waits for a condition that is never signalled, so it is alive when the program ends. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Thread ids, from the moment at which the threads sleep for nothing but the lock. */
static atomic_int wanting[2];

static void wait_until_it_sleeps(atomic_int *tid)
{
    char path[64], state = 0;
    while (*tid == 0)
        usleep(1000);
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", *tid);
    while (state != 'S') {
        FILE *file = fopen(path, "r");
        if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            abort();
        fclose(file);
        usleep(1000);
    }
}

static void *worker(void *tid)
{
    *(atomic_int *)tid = gettid();
    for (int i = 0; i < 20; i++)
        work();
    return NULL;
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
    pthread_mutex_lock(&narrow);
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], NULL, worker, &wanting[i]);
    for (int i = 0; i < 2; i++)
        wait_until_it_sleeps(&wanting[i]);
    pthread_mutex_unlock(&narrow);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
    usleep(300000);
    return 0;
}
