/* A thread waits for a lock that the main thread holds. Then the program ends as its arguments say:
     wait           after a line on its standard input
     reopen FILE    after the file has got the number of standard error, as a file of data
     append FILE    the same, as a file that is appended to
     fork           after a child has contended for the lock, too
     child          after a child has written its number, and waited for a line on its standard input
     title          the same, after it has written over its environment
     chroot FOLDER  after a line on its standard input, in another root
     exec PROGRAM   after a child has executed the program
     killed         by SIGKILL
   BUILD makes builds with other build ids. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const build = "" BUILD;

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int waiter;

static void *wait_for_lock(void *nothing)
{
    waiter = gettid();
    pthread_mutex_lock(&cache_lock);
    pthread_mutex_unlock(&cache_lock);
    return nothing;
}

static void wait_until_it_sleeps(void)
{
    char path[64], state = 0;
    while (waiter == 0)
        usleep(1000);
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", waiter);
    while (state != 'S') {
        FILE *file = fopen(path, "r");
        if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            abort();
        fclose(file);
        usleep(1000);
    }
}

static void contend(void)
{
    pthread_t thread;
    waiter = 0;
    pthread_mutex_lock(&cache_lock);
    pthread_create(&thread, NULL, wait_for_lock, NULL);
    wait_until_it_sleeps();
    pthread_mutex_unlock(&cache_lock);
    pthread_join(thread, NULL);
}

int main(int count, char **arguments)
{
    const char *how = count > 1 ? arguments[1] : "";
    contend();
    if (strcmp(how, "child") == 0) {
        if (fork() == 0) {
            printf("%d\n", getpid());
            fflush(stdout);
            getchar();
            _exit(0);
        }
        wait(NULL);
    } else if (strcmp(how, "wait") == 0 || strcmp(how, "title") == 0 || strcmp(how, "chroot") == 0) {
        for (char **entry = environ; how[0] == 't' && *entry != NULL; entry++)
            memset(*entry, 'x', strlen(*entry));
        if (how[0] == 'c' && (chroot(arguments[2]) != 0 || chdir("/") != 0))
            return 1;
        puts("ready");
        fflush(stdout);
        getchar();
    } else if (strcmp(how, "reopen") == 0 || strcmp(how, "append") == 0) {
        int appends = how[0] == 'a' ? O_APPEND : 0;
        close(2);
        if (open(arguments[2], O_WRONLY | O_CREAT | appends, 0600) != 2 || write(2, "data\n", 5) != 5)
            return 1;
    } else if (strcmp(how, "fork") == 0 || strcmp(how, "exec") == 0) {
        if (fork() == 0) {
            if (how[0] == 'e')
                execl(arguments[2], arguments[2], (char *)NULL);
            contend();
            contend();
            exit(0);
        }
        wait(NULL);
    } else if (strcmp(how, "killed") == 0) {
        kill(getpid(), SIGKILL);
    }
    return 7;
}
