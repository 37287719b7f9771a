/* Spin locks: a static one, one that is shared between processes, and a static one that is not initialised. Single-threaded, so
 * that the counts are exact. */
#include <pthread.h>

static pthread_spinlock_t turn, shared, unused;

__attribute__((noinline)) static void turn_new(void)
{
    pthread_spin_init(&turn, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_lock(&turn);
    pthread_spin_unlock(&turn);
}

int main(int argc, char **argv)
{
    (void)argv;
    turn_new();
    pthread_spin_init(&shared, PTHREAD_PROCESS_SHARED);
    pthread_spin_lock(&shared);
    pthread_spin_unlock(&shared);
    if (argc > 1)
        pthread_spin_init(&unused, PTHREAD_PROCESS_PRIVATE);
    return 6;
}
