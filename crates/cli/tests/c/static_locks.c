/* Static locks: a single one, an array of four, one inside a structure. Single-threaded, so that the counts are exact. */
#include <pthread.h>

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t buckets[4] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                     PTHREAD_MUTEX_INITIALIZER};
static struct {
    long padding[3];
    pthread_rwlock_t lock;
} table = {{1, 2, 3}, PTHREAD_RWLOCK_INITIALIZER};

__attribute__((noinline)) static void cache_get(void)
{
    pthread_mutex_lock(&cache_lock);
    pthread_mutex_unlock(&cache_lock);
}

__attribute__((noinline)) static void bucket_put(int number)
{
    pthread_mutex_lock(&buckets[number]);
    pthread_mutex_unlock(&buckets[number]);
}

__attribute__((noinline)) static void table_read(void)
{
    pthread_rwlock_rdlock(&table.lock);
    pthread_rwlock_unlock(&table.lock);
}

int main(void)
{
    for (int i = 0; i < 300; i++)
        cache_get();
    for (int i = 0; i < 100; i++)
        bucket_put(i % 4);
    for (int i = 0; i < 50; i++)
        table_read();
    return 7;
}
