/* A signal handler forks while semop(2) with SEM_UNDO is under way: the child returns into the call, whose adjustment is
 * its own. So the child's end takes back what the child did, and no more. */
#include "check.h"
#include <sys/time.h>
#include <sys/wait.h>

enum { CALLS = 600 };

static volatile sig_atomic_t is_in_call, is_child, has_forked;

static void fork_once(int number)
{
    (void)number;
    int before = errno;
    if (is_in_call && !is_child && !has_forked) {
        if (fork() == 0)
            is_child = 1;
        else
            has_forked = 1;
    }
    errno = before;
}

int main(void)
{
    struct sigaction action = { .sa_handler = fork_once, .sa_flags = SA_RESTART };
    sigaction(SIGALRM, &action, NULL);
    int wrong = 0;
    for (int i = 0; i < CALLS; i++) {
        int id = semget(IPC_PRIVATE, 1, 0600);
        struct sembuf up = { 0, 1, SEM_UNDO };
        struct itimerval soon = { { 0, 0 }, { 0, 1 + i % 40 } }, never = { { 0, 0 }, { 0, 0 } };
        has_forked = 0;
        setitimer(ITIMER_REAL, &soon, NULL);
        is_in_call = 1;
        int result = semop(id, &up, 1);
        is_in_call = 0;
        if (is_child)
            _exit(result != 0);
        setitimer(ITIMER_REAL, &never, NULL);
        int status = 0;
        while (has_forked && wait(&status) < 0)
            ;
        wrong += result != 0 || status != 0 || semctl(id, 0, GETVAL) != 1;
        semctl(id, 0, IPC_RMID);
    }
    printf("values that are wrong after the child's end: %d\n", wrong);
    return 0;
}
