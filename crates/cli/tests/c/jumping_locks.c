/* Locks whose initialisation or use ends in a jump to libc's function, so that libc returns to the caller: of one function that
   allocates first, of one that is called through a pointer, and of one that uses a mutex of zeroes. */
#include <pthread.h>
#include <stdlib.h>

struct lock {
    pthread_mutex_t *mutex;
};

__attribute__((noinline)) static int lock_new(struct lock *lock, const pthread_mutexattr_t *how)
{
    lock->mutex = malloc(sizeof *lock->mutex);
    if (!lock->mutex)
        return 1;
    return pthread_mutex_init(lock->mutex, how);
}

__attribute__((noinline)) static int lock_use(pthread_mutex_t *mutex, long *uses)
{
    ++*uses;
    return pthread_mutex_lock(mutex);
}

static int (*volatile through_pointer)(struct lock *, const pthread_mutexattr_t *) = lock_new;

__attribute__((noinline)) static void pool_new(struct lock *lock)
{
    if (lock_new(lock, NULL))
        abort();
}

__attribute__((noinline)) static void cache_new(struct lock *lock)
{
    if (through_pointer(lock, NULL))
        abort();
}

__attribute__((noinline)) static void wild_use(pthread_mutex_t *mutex, long *uses)
{
    if (lock_use(mutex, uses))
        abort();
}

int main(void)
{
    struct lock pool, cache;
    long uses = 0;
    pool_new(&pool);
    cache_new(&cache);
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(pool.mutex);
        pthread_mutex_unlock(pool.mutex);
        pthread_mutex_lock(cache.mutex);
        pthread_mutex_unlock(cache.mutex);
    }
    pthread_mutex_t *wild = calloc(1, sizeof *wild);
    for (int i = 0; i < 10; i++) {
        wild_use(wild, &uses);
        pthread_mutex_unlock(wild);
    }
    return 0;
}
