/* Two children that end with a lock held: one calls exit(3), one is killed. The parent goes on for 1.5 s. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t left_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void use(int hold)
{
    pthread_mutex_lock(&left_lock);
    usleep(hold);
    pthread_mutex_unlock(&left_lock);
}

int main(void)
{
    use(1000);
    for (int child = 0; child < 2; child++) {
        if (fork() == 0) {
            pthread_mutex_lock(&left_lock);
            usleep(10000);
            if (child == 1)
                kill(getpid(), SIGKILL);
            exit(0);
        }
        while (wait(NULL) > 0) {
        }
    }
    usleep(1500000);
    return 0;
}
