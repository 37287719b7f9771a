/* Leaves a child behind and prints its pid. With an argument the child uses no lock. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(int argc, char **argv)
{
    int ready[2];
    char byte;
    (void)argv;
    if (pipe(ready) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        int null = open("/dev/null", O_RDWR);
        for (int fd = 0; fd < 3; fd++)
            dup2(null, fd);
        if (argc == 1)
            pthread_mutex_lock(&lock);
        if (write(ready[1], "", 1) != 1)
            return 1;
        pause();
    }
    printf("%d\n", (int)child);
    /* Not through libc's function, which would be recorded as a wait. */
    return syscall(SYS_read, ready[0], &byte, 1) == 1 ? 0 : 1;
}
