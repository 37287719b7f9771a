/* Read-write locks: a static one, one that a function initialises, one that is shared between processes, one on the heap that
 * is used without an initialisation, and a static one that is not used. Single-threaded, so that the counts are exact. */
#include <pthread.h>
#include <stdlib.h>

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t unused = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t *volatile kept[2];

__attribute__((noinline)) static void index_new(pthread_rwlock_t *lock)
{
    pthread_rwlock_init(lock, 0);
    kept[0] = lock;
}

__attribute__((noinline)) static void shared_new(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(lock, &attributes);
    kept[1] = lock;
}

__attribute__((noinline)) static void wild_read(pthread_rwlock_t *lock)
{
    pthread_rwlock_rdlock(lock);
    pthread_rwlock_unlock(lock);
}

static void write_all(pthread_rwlock_t *lock)
{
    pthread_rwlock_wrlock(lock);
    pthread_rwlock_unlock(lock);
}

int main(int argc, char **argv)
{
    (void)argv;
    index_new(malloc(sizeof *kept[0]));
    shared_new(malloc(sizeof *kept[1]));
    pthread_rwlock_t *wild = calloc(1, sizeof *wild);
    for (int i = 0; i < 20; i++) {
        write_all(&table_lock);
        for (int j = 0; j < 2; j++)
            write_all(kept[j]);
        wild_read(wild);
    }
    if (argc > 1)
        write_all(&unused);
    return 5;
}
