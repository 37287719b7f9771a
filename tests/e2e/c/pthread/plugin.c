/* A library that is loaded and unloaded again and again, with locks of its own. */
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static long count;

static void *add(void *unused)
{
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&m);
        count++;
        pthread_mutex_unlock(&m);
        pthread_rwlock_wrlock(&rw);
        pthread_rwlock_unlock(&rw);
    }
    return unused;
}

__attribute__((constructor)) static void loaded(void) { add(0); }
__attribute__((destructor)) static void unloaded(void) { add(0); }

long plugin_work(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return count;
}
