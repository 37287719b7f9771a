/* Threads use one lock repeatedly until SIGTERM, or for the given number of seconds. Prints a line every tenth of a second.
 * "deaf" ignores SIGTERM; with "daemon" the program ends when its child has used the lock, and the child when the program's file
 * is gone. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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
    int ticks = 10 * atoi(wish), has_used[2] = {-1, -1};
    char byte;
    if (strcmp(wish, "deaf") == 0)
        signal(SIGTERM, SIG_IGN);
    if (strcmp(wish, "daemon") == 0) {
        if (pipe(has_used) != 0)
            return 1;
        /* Not through libc's function, which would be recorded as a wait. */
        if (fork() != 0)
            return syscall(SYS_read, has_used[0], &byte, 1) == 1 ? 0 : 1;
        /* Ten minutes: no test takes so long. */
        ticks = 6000;
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
        if (has_used[1] == -1)
            continue;
        if (i >= 3 && counter > 0)
            syscall(SYS_write, has_used[1], "", 1);
        if (access(argv[0], F_OK) != 0)
            break;
    }
    return 7;
}
