/* A child waits at a futex until its timeout, for a second. Meanwhile its parent stops it with SIGSTOP and lets it go on with
   SIGCONT. The child prints how long it waited, in seconds. */
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned known_futex;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

/* Whether a process sleeps: after it has written its byte, only the futex makes it. */
static int sleeps(pid_t pid)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 0;
    if (file)
        fclose(file);
    return state == 'S';
}

int main(void)
{
    int ready[2], status;
    char byte = 0;
    pid_t child;
    if (pipe(ready) || (child = fork()) < 0)
        return 1;
    if (child == 0) {
        struct timespec second = {1, 0};
        if (write(ready[1], &byte, 1) != 1)
            return 1;
        double before = now();
        syscall(SYS_futex, &known_futex, FUTEX_WAIT_PRIVATE, 0, &second, NULL, 0);
        printf("%.6f\n", now() - before);
        return 0;
    }
    if (read(ready[0], &byte, 1) != 1)
        return 1;
    /* On a busy machine the wait may be over before it is seen. */
    while (!sleeps(child))
        if (waitpid(child, &status, WNOHANG) == child)
            return 0;
        else
            usleep(1000);
    kill(child, SIGSTOP);
    waitpid(child, &status, WUNTRACED);
    usleep(200000);
    kill(child, SIGCONT);
    waitpid(child, &status, 0);
    return 0;
}
