/* Handlers that run while a thread is in semop, and what they may do. */
#include "check.h"
#include <pthread.h>

static int id, calls;
static sigjmp_buf back;

static void count(int signal)
{
    (void)signal;
    calls++;
}

static void leave(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

static void post(int signal)
{
    (void)signal;
    int before = errno;
    SEMOP(id, OP(0, 1, 0));
    errno = before;
}

static void post_and_wait(int signal)
{
    (void)signal;
    int before = errno;
    struct timespec soon = { 0, 10000000 };
    calls += SEMTIMEDOP(id, &soon, OP(1, -1, 0)) == -1 && errno == EAGAIN;
    calls += SEMOP(id, OP(1, 1, 0), OP(1, -1, 0)) == 0;
    errno = before;
}

static void on(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
    MUST(sigaction(signal, &action, NULL));
    calls = 0;
}

static void in_a_moment(void)
{
    struct itimerval soon = { .it_value = { 0, 20000 } };
    MUST(setitimer(ITIMER_REAL, &soon, NULL));
}

static void *waiter(void *answer)
{
    *(int *)answer = SEMOP(id, OP(0, -1, 0)) == -1 ? errno : 0;
    return NULL;
}

/* Signals come all the time while operations are made; in the end the sums must be right. */
static void storm(int flags, void (*handler)(int))
{
    struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { { 0, 0 }, { 0, 0 } };
    on(SIGALRM, handler, flags);
    MUST(semctl(id, 0, SETALL, (union semun){ .array = (unsigned short[]){ 0, 0 } }));
    fflush(stdout);
    pid_t child = (pid_t)MUST(fork());
    long done = 0, interrupted = 0;
    if (child == 0)
        on(SIGALRM, count, flags);
    MUST(setitimer(ITIMER_REAL, &often, NULL));
    for (int i = 0; i < 3000; i++) {
        /* The parent posts 0 and waits for 1, the child the other way round. */
        int mine = child == 0, theirs = !mine;
        while (SEMOP(id, OP(theirs, 1, 0)) == -1)
            MUST(errno == EINTR ? 0 : -1);
        while (SEMOP(id, OP(mine, -1, 0)) == -1) {
            MUST(errno == EINTR ? 0 : -1);
            interrupted++;
        }
        done++;
    }
    MUST(setitimer(ITIMER_REAL, &never, NULL));
    if (child == 0)
        _exit(0);
    int status;
    MUST(waitpid(child, &status, 0));
    line("ping-pong under signals", "%ld rounds, child %d", done, status);
    (void)interrupted;
}

int main(void)
{
    id = new_set(2);
    on(SIGALRM, count, SA_RESTART);
    in_a_moment();
    ROW("interrupted", SEMOP(id, OP(0, -1, 0)));
    line("the handler ran", "%d", calls);
    in_a_moment();
    struct timespec minute = { 60, 0 };
    ROW("interrupted with a timeout", SEMTIMEDOP(id, &minute, OP(0, -1, 0)));
    ROW("nobody waits", get(id, 0, GETNCNT));

    on(SIGALRM, leave, 0);
    in_a_moment();
    if (sigsetjmp(back, 1) == 0)
        ROW("not reached", SEMOP(id, OP(0, -1, 0)));
    ROW("left by longjmp, nobody waits", get(id, 0, GETNCNT));
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_values("nothing is taken afterwards", id);
    for (volatile int i = 0; i < 20; i++) {
        struct itimerval soon = { .it_value = { 0, 1 + i * 50 } };
        MUST(set_value(id, 0, 0));
        if (sigsetjmp(back, 1) == 0) {
            MUST(setitimer(ITIMER_REAL, &soon, NULL));
            SEMOP(id, OP(0, -1, 0));
        }
    }
    ROW("left twenty times", get(id, 0, GETNCNT));
    MUST(set_value(id, 0, 0));

    on(SIGALRM, post, 0);
    in_a_moment();
    ROW("the handler posts what is waited for", SEMOP(id, OP(0, -1, 0)));
    row_values("so", id);
    MUST(set_value(id, 0, 0));

    on(SIGALRM, post_and_wait, 0);
    in_a_moment();
    ROW("the handler waits itself", SEMOP(id, OP(0, -1, 0)));
    line("its two calls", "%d", calls);
    row_values("so", id);

    /* A signal to one thread does not disturb another. */
    on(SIGUSR1, count, 0);
    pthread_t threads[2];
    int answers[2] = { -1, -1 };
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, waiter, &answers[i]);
        AWAIT_N(id, 0, i + 1);
    }
    pthread_kill(threads[0], SIGUSR1);
    pthread_join(threads[0], NULL);
    line("the thread that was sent it", "%s", errno_name(answers[0]));
    ROW("the other waits", get(id, 0, GETNCNT));
    MUST(SEMOP(id, OP(0, 1, 0)));
    pthread_join(threads[1], NULL);
    line("and is woken", "%d", answers[1]);

    /* Blocked signals do not interrupt; they are still there afterwards. */
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    on(SIGALRM, count, 0);
    sigprocmask(SIG_BLOCK, &set, NULL);
    in_a_moment();
    struct timespec longer = { 0, 60000000 };
    ROW("blocked: times out", SEMTIMEDOP(id, &longer, OP(0, -1, 0)));
    line("not run yet", "%d", calls);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    line("run now", "%d", calls);

    storm(0, count);
    storm(SA_RESTART | SA_NODEFER, count);
    remove_set(id);
    return 0;
}
