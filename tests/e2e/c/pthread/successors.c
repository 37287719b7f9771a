/* Ten pairs of semaphores at one address. The token of the first one is posted by the thread that has taken it, that of
   the second one by no thread. */
#include <semaphore.h>

int main(void)
{
    static sem_t semaphore;
    for (int i = 0; i < 10; i++) {
        sem_init(&semaphore, 0, 1);
        sem_wait(&semaphore);
        sem_post(&semaphore);
        sem_destroy(&semaphore);
        sem_init(&semaphore, 0, 1);
        sem_wait(&semaphore);
        sem_destroy(&semaphore);
        sem_init(&semaphore, 0, 0);
        sem_post(&semaphore);
        sem_destroy(&semaphore);
    }
    return 0;
}
