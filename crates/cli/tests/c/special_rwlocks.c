/* Read-write locks that are shared between processes and others, with and without a thread that waits. */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

static pthread_rwlock_t plain, waited_for, shared, shared_waited_for, shared_by_bytes;
static pthread_rwlock_t *const contended[] = {&waited_for, &shared_waited_for, &shared_by_bytes};
enum { CONTENDED = sizeof contended / sizeof *contended };

static void *take(void *none) {
    for (int n = 0; n < CONTENDED; n++) {
        pthread_rwlock_rdlock(contended[n]);
        pthread_rwlock_unlock(contended[n]);
    }
    return none;
}

static void use(pthread_rwlock_t *lock) {
    pthread_rwlock_rdlock(lock);
    pthread_rwlock_unlock(lock);
}

int main(void) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&plain, 0);
    pthread_rwlock_init(&waited_for, 0);
    pthread_rwlock_init(&shared, &attributes);
    pthread_rwlock_init(&shared_waited_for, &attributes);
    /* As a process finds it that has not initialised it. */
    shared_by_bytes.__data.__shared = 1;
    use(&plain);
    use(&shared);
    for (int n = 0; n < CONTENDED; n++)
        pthread_rwlock_wrlock(contended[n]);
    pthread_t waiter;
    if (pthread_create(&waiter, 0, take, 0))
        return 1;
    for (int n = 0; n < CONTENDED; n++) {
        /* The lowest bits are the phase and the writers; above them is the number of readers, one of which waits. */
        volatile unsigned *readers = &contended[n]->__data.__readers;
        while (*readers >> 3 == 0)
            usleep(100);
        pthread_rwlock_unlock(contended[n]);
    }
    return pthread_join(waiter, 0);
}
