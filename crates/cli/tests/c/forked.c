/* A lock that is initialised before a fork and used by the child after it. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t shared_name = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static pthread_mutex_t *queue_new(void)
{
    pthread_mutex_t *lock = calloc(1, sizeof *lock);
    pthread_mutex_init(lock, NULL);
    return lock;
}

__attribute__((noinline)) static void use(pthread_mutex_t *lock, int times)
{
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(lock);
        pthread_mutex_unlock(lock);
    }
}

int main(void)
{
    pthread_mutex_t *lock = queue_new();
    use(&shared_name, 5);
    for (int child = 0; child < 2; child++) {
        if (fork() == 0) {
            use(lock, 10);
            use(&shared_name, 1);
            return 0;
        }
    }
    while (wait(NULL) > 0) {
    }
    return 0;
}
