/* A program that is linked with own_library.c. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>

extern const char *called_in_library(void);

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *add(void *unused)
{
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&m);
        count++;
        pthread_mutex_unlock(&m);
    }
    poll(NULL, 0, 2);
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("count %d, function of the library called: %s\n", count, called_in_library());
    return 0;
}
