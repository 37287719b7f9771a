/* Truncates the recording, if there is one, to as many bytes as the argument says, while three threads lock a mutex. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *work(void *left)
{
    for (int i = 0; i < 20000; i++) {
        pthread_mutex_lock(&mutex);
        count++;
        pthread_mutex_unlock(&mutex);
        const char *recording = getenv("UNSPIN_RECORD");
        if (i == 10000 && left != NULL && recording != NULL && truncate(recording, atol(left)) != 0)
            exit(99);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, i == 0 && argc > 1 ? argv[1] : NULL);
    work(NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    /* A thread that begins afterwards. */
    pthread_create(&threads[0], NULL, work, NULL);
    pthread_join(threads[0], NULL);
    printf("%d\n", count);
    return argc > 2 ? atoi(argv[2]) : 7;
}
