/* A library whose constructor, run before that of the preload, starts threads that lock at once; and whose destructor
 * locks after all other destructors. */
#include "row.h"

enum { THREADS = 4, TIMES = 500 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t all = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t done;
static long count, arrived;

static void *use(void *unused)
{
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < TIMES; i++) {
        MUST(pthread_mutex_lock(&m));
        count++;
        MUST(pthread_mutex_unlock(&m));
        MUST(pthread_rwlock_rdlock(&rw));
        MUST(pthread_rwlock_unlock(&rw));
    }
    MUST(pthread_mutex_lock(&m));
    arrived++;
    while (arrived < THREADS)
        MUST(pthread_cond_wait(&all, &m));
    MUST(pthread_cond_broadcast(&all));
    MUST(pthread_mutex_unlock(&m));
    sem_post(&done);
    return unused;
}

__attribute__((constructor)) static void construct(void)
{
    MUST(pthread_barrier_init(&barrier, NULL, THREADS));
    sem_init(&done, 0, 0);
    crowd(THREADS, use, NULL);
    for (int i = 0; i < THREADS; i++)
        sem_wait(&done);
    if (count != THREADS * TIMES)
        _exit(93);
}

/* A thread that outlives the constructor and ends with the process. */
static void *linger(void *unused)
{
    for (;;) {
        MUST(pthread_mutex_lock(&m));
        MUST(pthread_mutex_unlock(&m));
        pause_ms(1);
    }
    return unused;
}

__attribute__((constructor)) static void construct_more(void)
{
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, linger, NULL));
    pthread_detach(thread);
}

__attribute__((destructor)) static void destruct(void)
{
    arrived = 0;
    crowd(THREADS, use, NULL);
    if (pthread_mutex_trylock(&m) == 0)
        pthread_mutex_unlock(&m);
}
