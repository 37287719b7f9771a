/* Handlers that run while a thread is in semop, and what they may do. */
#include "check.h"
#include <pthread.h>
#include <sys/msg.h>

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

static volatile pid_t forked;

static void fork_here(int signal)
{
    (void)signal;
    int before = errno;
    fflush(stdout);
    forked = fork();
    errno = before;
}

/* A handler forks. Parent and child both return to the interrupted call, which works in both as in a single process. */
static void returned_twice(const char *row, long result)
{
    int error = errno, status = 0;
    if (forked == 0) {
        report(row, result, error);
        ROW("the child posts", SEMOP(id, OP(0, 1, 0)));
        ROW("the child waits", SEMOP(id, OP(0, -1, 0), OP(1, 1, 0)));
        _exit(0);
    }
    waitpid(forked, &status, 0);
    report(row, result, error);
    line("its end", "%d", status);
    row_values("so", id);
    ROW("nobody waits", get(id, 0, GETNCNT));
}

static void on(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
    MUST(sigaction(signal, &action, NULL));
    calls = 0;
}

static void in_a_moment(void)
{
    signal_when_asleep(SIGALRM);
}

static volatile int *shots;

/* As programs of System V did: one shot, set again by the handler. */
static void set_again(int signal)
{
    struct sigaction action = { .sa_handler = set_again, .sa_flags = (int)SA_RESETHAND };
    sigaction(signal, &action, NULL);
    ++*shots;
}

/* One-shot handlers that interrupt operations; the next signal is sent when the last was handled, since between the
 * reset and the handler Linux itself lets another one kill. */
static void one_shots(void)
{
    enum { MANY = 500 };
    shots = mmap(NULL, sizeof *shots, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    on(SIGUSR1, set_again, (int)SA_RESETHAND);
    MUST(semctl(id, 0, SETALL, (union semun){ .array = (unsigned short[]){ 0, 0 } }));
    fflush(stdout);
    pid_t parent = getpid(), child = (pid_t)MUST(fork());
    if (child == 0) {
        for (int i = 0; i < MANY && kill(parent, SIGUSR1) == 0; i++)
            while (*shots == i)
                sched_yield();
        _exit(0);
    }
    long failed = 0;
    while (*shots < MANY)
        failed += SEMOP(id, OP(0, 1, 0), OP(1, 1, 0)) != 0 || SEMOP(id, OP(1, -1, 0), OP(0, -1, 0)) != 0;
    waitpid(child, NULL, 0);
    line("one shots", "%d, failed calls %ld", *shots, failed);
    row_values("values", id);
}

static volatile int queued, in_order = 1;

static void next_in_order(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    in_order &= info->si_value.sival_int == queued;
    queued++;
}

/* Real-time signals that arrive while operations are made: none is lost, and they stay in order. */
static void queue_of_signals(void)
{
    enum { MANY = 2000 };
    struct sigaction action = { .sa_sigaction = next_in_order, .sa_flags = SA_SIGINFO };
    MUST(sigaction(SIGRTMIN, &action, NULL));
    MUST(semctl(id, 0, SETALL, (union semun){ .array = (unsigned short[]){ 0, 0 } }));
    fflush(stdout);
    pid_t parent = getpid(), child = (pid_t)MUST(fork());
    if (child == 0) {
        for (int i = 0; i < MANY; i++)
            while (sigqueue(parent, SIGRTMIN, (union sigval){ .sival_int = i }) == -1)
                usleep(100);
        _exit(0);
    }
    long failed = 0;
    while (queued < MANY) {
        failed += SEMOP(id, OP(0, 1, 0), OP(1, 1, 0)) != 0;
        failed += SEMOP(id, OP(1, -1, 0)) != 0;
        failed += SEMOP(id, OP(0, -1, 0)) != 0;
    }
    waitpid(child, NULL, 0);
    line("queued signals", "%d in order %d, failed calls %ld", queued, in_order, failed);
    row_values("values", id);
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

    on(SIGALRM, fork_here, 0);
    in_a_moment();
    returned_twice("the handler forks", SEMOP(id, OP(0, -1, 0)));
    in_a_moment();
    returned_twice("a wait with a time", SEMTIMEDOP(id, &minute, OP(0, -1, SEM_UNDO)));
    struct { long type; char text[8]; } message = { 1, "" };
    int queue = (int)MUST(msgget(IPC_PRIVATE, 0600));
    in_a_moment();
    returned_twice("a wait for a message", msgrcv(queue, &message, sizeof message.text, 0, 0));
    MUST(msgctl(queue, IPC_RMID, NULL));
    MUST(semctl(id, 0, SETALL, (union semun){ .array = (unsigned short[]){ 0, 0 } }));

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
    for (sigset_t pending; sigpending(&pending), !sigismember(&pending, SIGALRM);)
        usleep(1000);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    line("run now", "%d", calls);

    storm(0, count);
    storm(SA_RESTART | SA_NODEFER, count);
    one_shots();
    queue_of_signals();
    remove_set(id);
    return 0;
}
