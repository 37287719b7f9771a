/* Threads use one lock repeatedly until SIGTERM, or for the given number of seconds. Prints a line every tenth of a second.
 * "deaf" ignores SIGTERM; with "daemon" a child runs for some seconds after the program has ended. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t hot_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t slow_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long counter;

static void *worker(void *argument)
{
    for (;;) {
        pthread_mutex_lock(&hot_lock);
        for (int i = 0; i < 1000; i++)
            counter++;
        pthread_mutex_unlock(&hot_lock);
        usleep(500);
    }
    return argument;
}

int main(int argc, char **argv)
{
    const char *wish = argc > 1 ? argv[1] : "";
    int ticks = 10 * atoi(wish);
    if (strcmp(wish, "deaf") == 0)
        signal(SIGTERM, SIG_IGN);
    if (strcmp(wish, "daemon") == 0) {
        if (fork() != 0) {
            usleep(500000);
            return 0;
        }
        ticks = 50;
    }
    pthread_mutex_lock(&slow_lock);
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, worker, NULL);
    }
    for (int i = 0; ticks == 0 || i < ticks; i++) {
        printf("tick %d, input %d\n", i, getchar());
        fflush(stdout);
        usleep(100000);
    }
    return 7;
}
