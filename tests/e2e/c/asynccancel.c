/* Threads that may be cancelled at any instruction (PTHREAD_CANCEL_ASYNCHRONOUS): in the kernel the call has then been made
   entirely or not at all, a sleeper has left its queue, and no other thread is affected. */
#include "queues.h"
#include <pthread.h>
#include <sys/shm.h>

#define ROUNDS 60

static int set, queue;
static volatile int cleaned, running;

static void clean(void *unused)
{
    (void)unused;
    /* What a clean-up handler does is not disturbed by the call that was cancelled. */
    cleaned = 1 + get(set, 0, GETVAL) + SEMOP(set, OP(2, 1, 0));
}

static void cancel(const char *row, pthread_t thread)
{
    void *result;
    MUST(-pthread_cancel(thread));
    MUST(-pthread_join(thread, &result));
    line(row, "%s, cleaned up: %d", result == PTHREAD_CANCELED ? "cancelled" : "returned", cleaned);
}

/* ---- Asleep. ---- */

struct call {
    struct sembuf ops[2];
    size_t nsops;
    struct timespec *timeout;
};

static void *sleeper(void *arg)
{
    struct call *call = arg;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    long answer;
    pthread_cleanup_push(clean, NULL);
    answer = call->timeout == NULL ? semop(set, call->ops, call->nsops)
                                   : semtimedop(set, call->ops, call->nsops, call->timeout);
    pthread_cleanup_pop(0);
    return (void *)answer;
}

static void asleep(const char *row, struct call call, int num, int command)
{
    pthread_t thread;
    cleaned = 0;
    MUST(-pthread_create(&thread, NULL, sleeper, &call));
    await_count(set, num, command, 1);
    /* Longer than any thread spins. */
    usleep(20000);
    cancel(row, thread);
    ROW("nobody waits", get(set, num, command));
    row_values("values", set);
}

static void sleepers(void)
{
    set = new_set(4);
    asleep("takes", (struct call){ { OP(0, -1, 0) }, 1, NULL }, 0, GETNCNT);
    asleep("takes with SEM_UNDO", (struct call){ { OP(0, -1, SEM_UNDO) }, 1, NULL }, 0, GETNCNT);
    asleep("for a thousand seconds", (struct call){ { OP(0, -1, 0) }, 1, &(struct timespec){ 1000, 0 } }, 0, GETNCNT);
    asleep("two operations", (struct call){ { OP(1, 1, SEM_UNDO), OP(0, -1, 0) }, 2, NULL }, 0, GETNCNT);
    MUST(set_value(set, 3, 1));
    asleep("for zero", (struct call){ { OP(3, 0, 0) }, 1, NULL }, 3, GETZCNT);
    /* Behind a process whose death would let it proceed. */
    fflush(stdout);
    pid_t holder = (pid_t)MUST(fork());
    if (holder == 0) {
        SEMOP(set, OP(3, -1, SEM_UNDO));
        pause();
        _exit(0);
    }
    await_count(set, 3, GETVAL, 0);
    asleep("for what another process holds", (struct call){ { OP(3, -1, 0) }, 1, NULL }, 3, GETNCNT);
    asleep("with SEM_UNDO", (struct call){ { OP(3, -1, SEM_UNDO) }, 1, NULL }, 3, GETNCNT);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    row_values("and it is dead", set);
    ROW("a token is left for others", SEMOP(set, OP(0, 1, 0), OP(0, -1, IPC_NOWAIT)));
    remove_set(set);
}

/* ---- In the midst of calls. ---- */

static void one(void)
{
    SEMOP(set, OP(0, 1, 0));
    SEMOP(set, OP(0, -1, 0));
}

static void undone(void)
{
    SEMOP(set, OP(0, 1, SEM_UNDO));
    SEMOP(set, OP(0, -1, SEM_UNDO));
}

static void both(void)
{
    SEMOP(set, OP(0, 1, 0), OP(1, 1, 0));
    SEMOP(set, OP(1, -1, 0), OP(0, -1, 0));
}

static void briefly(void)
{
    SEMTIMEDOP(set, &((struct timespec){ 0, 200000 }), OP(2, -1, SEM_UNDO));
}

static void look(void)
{
    struct semid_ds ds;
    get(set, 0, GETVAL);
    set_value(set, 3, 5);
    semctl(set, 0, IPC_STAT, (union semun){ .buf = &ds });
}

static void make(void)
{
    /* By key: the next thread gets what a cancelled one leaves behind. */
    remove_set(semget(own_key(1), 3, IPC_CREAT | 0600));
}

static void messages(void)
{
    struct {
        long type;
        char text[100];
    } m = { 1, "" };
    memset(m.text, 'm', sizeof m.text);
    msgsnd(queue, &m, sizeof m.text, IPC_NOWAIT);
    msgrcv(queue, &m, sizeof m.text, 0, IPC_NOWAIT);
}

static void segments(void)
{
    struct shmid_ds ds;
    int id = shmget(own_key(1), 100, IPC_CREAT | 0600);
    void *at = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    shmctl(id, IPC_STAT, &ds);
    shmdt(at);
}

static void *runner(void *arg)
{
    void (*call)(void) = (void (*)(void))arg;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (running = 1; running;)
        call();
    return NULL;
}

/* Whether all were cancelled. */
static int storm(void (*call)(void))
{
    static unsigned seed = 1;
    int count = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        void *result;
        running = 0;
        MUST(-pthread_create(&thread, NULL, runner, (void *)call));
        while (!running)
            sched_yield();
        usleep((unsigned)rand_r(&seed) % 300);
        MUST(-pthread_cancel(thread));
        MUST(-pthread_join(thread, &result));
        count += result == PTHREAD_CANCELED;
    }
    return count == ROUNDS;
}

static void calls(void)
{
    set = new_set(4);
    queue = new_queue();
    line("one operation", "%d", storm(one));
    line("as many as were cancelled at most are left", "%d", get(set, 0, GETVAL) <= ROUNDS);
    MUST(set_value(set, 0, 0));
    IN_CHILD(line("one with SEM_UNDO", "%d", storm(undone)));
    ROW("undone with the process", get(set, 0, GETVAL));
    line("two operations", "%d", storm(both));
    line("both or none", "%d", get(set, 0, GETVAL) == get(set, 1, GETVAL));
    line("sleeps", "%d", storm(briefly));
    ROW("nobody waits", get(set, 2, GETNCNT));
    line("semctl", "%d", storm(look));
    line("semget", "%d", storm(make));
    make();
    line("messages", "%d", storm(messages));
    int whole = 1;
    for (long taken; (taken = take(queue, 100, 0, IPC_NOWAIT)) != -1;)
        whole &= taken == 1000000 + 130000 + 100;
    line("whole", "%d", whole);
    line("segments", "%d", storm(segments));
    segments();
    ROW("all goes on", SEMOP(set, OP(0, 1, 0), OP(0, -1, SEM_UNDO)));
    remove_queue(queue);
    remove_set(set);
}

/* ---- With handlers. ---- */

static sigjmp_buf away;
static volatile int stage;

static void jump(int signal)
{
    (void)signal;
    siglongjmp(away, 1);
}

/* Leaves a call by a jump, and then calls nothing: only a thread that can be cancelled anywhere still ends. */
static void *jumper(void *call)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    if (sigsetjmp(away, 1) == 0) {
        stage = 1;
        for (;;)
            ((void (*)(void))call)();
    }
    stage = 2;
    while (stage == 2)
        ;
    return NULL;
}

static void wait_for_token(void)
{
    SEMOP(set, OP(0, -1, 0));
}

static void wait_for_message(void)
{
    take(queue, 100, 0, 0);
}

static void jumps(const char *row, void (*call)(void))
{
    int count = 0;
    for (int round = 0; round < 10; round++) {
        pthread_t thread;
        void *result;
        stage = 0;
        MUST(-pthread_create(&thread, NULL, jumper, (void *)call));
        while (stage != 1)
            sched_yield();
        usleep(3000);
        MUST(-pthread_kill(thread, SIGUSR1));
        while (stage != 2)
            sched_yield();
        usleep(1000);
        MUST(-pthread_cancel(thread));
        /* A thread that is not cancelled ends all the same. */
        int is_joined = 0;
        for (int ms = 0; ms < 5000 && !is_joined; ms++) {
            is_joined = pthread_tryjoin_np(thread, &result) == 0;
            usleep(is_joined ? 0 : 1000);
        }
        stage = 3;
        if (!is_joined)
            MUST(-pthread_join(thread, &result));
        count += result == PTHREAD_CANCELED;
    }
    line(row, "%d cancelled", count);
}

static void busy(int signal)
{
    (void)signal;
    for (stage = 2; stage == 2;) {
        both();
        undone();
    }
}

static void *interrupted(void *call)
{
    stage = 1;
    ((void (*)(void))call)();
    return NULL;
}

static void wait_for_signal(void)
{
    pause();
}

/* A thread that is not of that kind is cancelled in a handler that has interrupted it in a cancellation point: there libc lets
   it be cancelled anywhere, before 2.41. */
static void in_handlers(const char *row, void (*call)(void))
{
    static unsigned seed = 7;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        stage = 0;
        MUST(-pthread_create(&thread, NULL, interrupted, (void *)call));
        while (stage != 1)
            sched_yield();
        usleep(1000);
        MUST(-pthread_kill(thread, SIGUSR1));
        while (stage != 2)
            sched_yield();
        usleep((unsigned)rand_r(&seed) % 300);
        MUST(-pthread_cancel(thread));
        usleep(1000);
        stage = 3;
        MUST(-pthread_join(thread, NULL));
    }
    ROW(row, SEMOP(set, OP(0, 1, 0), OP(1, 1, 0)));
}

static void handlers(void)
{
    set = new_set(4);
    queue = new_queue();
    MUST(sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = jump }, NULL));
    jumps("out of a sleep", wait_for_token);
    jumps("out of a sleep for a message", wait_for_message);
    jumps("out of calls", both);
    ROW("nobody waits", get(set, 0, GETNCNT));
    MUST(sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = busy }, NULL));
    in_handlers("in pause", wait_for_signal);
    in_handlers("in msgrcv", wait_for_message);
    remove_queue(queue);
    remove_set(set);
}

/* ---- Neither here nor there. ---- */

static void *deferred(void *unused)
{
    (void)unused;
    long answer = SEMOP(set, OP(0, -1, 0));
    cleaned = 10 + (int)answer;
    pthread_testcancel();
    return NULL;
}

static void *answers(void *unused)
{
    (void)unused;
    int before = -1;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    ROW("+1", SEMOP(set, OP(0, 1, 0)));
    ROW("-2, IPC_NOWAIT", SEMOP(set, OP(0, -2, IPC_NOWAIT)));
    ROW("-1, SEM_UNDO", SEMOP(set, OP(0, -1, SEM_UNDO)));
    ROW("out of range", SEMOP(set, OP(9, -1, 0)));
    ROW("no operations", semop(set, NULL, 0));
    ROW("send", give(queue, 3, 'c', 5, 0));
    ROW("receive", take(queue, 100, 0, 0));
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before);
    line("still as before", "%d", before == PTHREAD_CANCEL_ASYNCHRONOUS);
    ROW("+1", SEMOP(set, OP(0, 1, 0)));
    ROW("no such type", pthread_setcanceltype(7, &before));
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before);
    line("none was chosen", "%d", before == PTHREAD_CANCEL_DEFERRED);
    return NULL;
}

int main(void)
{
    sleepers();
    calls();
    handlers();

    pthread_t thread;
    set = new_set(3);
    queue = new_queue();
    cleaned = 0;
    MUST(-pthread_create(&thread, NULL, deferred, NULL));
    AWAIT_N(set, 0, 1);
    usleep(20000);
    MUST(-pthread_cancel(thread));
    usleep(20000);
    ROW("semop is no cancellation point", get(set, 0, GETNCNT));
    MUST(SEMOP(set, OP(0, 1, 0)));
    void *result;
    MUST(-pthread_join(thread, &result));
    line("it has returned, and then", "%d, %s", cleaned, result == PTHREAD_CANCELED ? "cancelled" : "returned");
    MUST(-pthread_create(&thread, NULL, answers, NULL));
    MUST(-pthread_join(thread, NULL));
    remove_queue(queue);
    remove_set(set);
    return 0;
}
