/* Two threads that read and write a table under a read-write lock, and take turns with a spin lock. */
#include <pthread.h>

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t turn;
static volatile long table[64], turns;

static void *work(void *none) {
    for (int n = 0; n < 8000; n++) {
        if (n % 4) {
            pthread_rwlock_rdlock(&table_lock);
            (void)table[n % 64];
        } else {
            pthread_rwlock_wrlock(&table_lock);
            for (int i = 0; i < 64 * 16; i++)
                table[i % 64]++;
        }
        pthread_rwlock_unlock(&table_lock);
        pthread_spin_lock(&turn);
        turns++;
        pthread_spin_unlock(&turn);
    }
    return none;
}

int main(void) {
    pthread_spin_init(&turn, PTHREAD_PROCESS_PRIVATE);
    pthread_t threads[2];
    for (int n = 0; n < 2; n++)
        if (pthread_create(&threads[n], 0, work, 0))
            return 1;
    for (int n = 0; n < 2; n++)
        pthread_join(threads[n], 0);
    return table[0] != 16 * 4000 || turns != 16000;
}
