/* Threads, forks, signals, adjustments, messages and closing: each line is what the kernel makes of it. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unspin/sysv.h>

static unspin_sysv *engine;
static int id;

static int change(int num, int by, int flags)
{
    struct sembuf op = { (unsigned short)num, (short)by, (short)flags };
    return unspin_semop(engine, id, &op, 1);
}

static int value(int num)
{
    return unspin_semctl(engine, id, num, GETVAL);
}

static void must(int holds, const char *what)
{
    if (!holds) {
        printf("%s: %s\n", what, strerrorname_np(errno));
        exit(1);
    }
}

static void *post_once(void *unused)
{
    must(change(0, 1, 0) == 0, "a thread's post");
    return unused;
}

static void *pass_on(void *unused)
{
    int i;
    for (i = 0; i < 1000; i++) {
        must(change(1, -1, 0) == 0, "take");
        must(change(2, 1, 0) == 0, "pass on");
    }
    return unused;
}

/* Threads that end: each had a place in the arena, and gives it back. */
static void many_threads(void)
{
    int i;
    for (i = 0; i < 200; i++) {
        pthread_t thread;
        must(pthread_create(&thread, NULL, post_once, NULL) == 0, "pthread_create");
        must(pthread_join(thread, NULL) == 0, "pthread_join");
    }
    printf("200 threads: %d\n", value(0));
}

/* Children forked while another thread calls the engine: no child finds a lock of its parent held. */
static void forks_beside_a_thread(void)
{
    pthread_t thread;
    int i, status, failed = 0;
    must(pthread_create(&thread, NULL, pass_on, NULL) == 0, "pthread_create");
    for (i = 0; i < 1000; i++) {
        must(change(1, 1, 0) == 0, "give");
        if (i % 50 == 0) {
            pid_t child = fork();
            must(child != -1, "fork");
            if (child == 0)
                _exit(change(0, 1, 0) == 0 && value(0) > 200 ? 0 : 1);
            must(waitpid(child, &status, 0) == child, "waitpid");
            failed += status != 0;
        }
        must(change(2, -1, 0) == 0, "get back");
    }
    pthread_join(thread, NULL);
    printf("20 forks, %d failed: %d, %d, %d\n", failed, value(0), value(1), value(2));
}

static void handler(int signal)
{
    (void)signal;
}

static void *send_signals(void *to)
{
    /* Again and again: the first may come before the other thread sleeps. */
    while (value(3) == 0) {
        pthread_kill(*(pthread_t *)to, SIGUSR1);
        usleep(1000);
    }
    return NULL;
}

static void signals(void)
{
    struct sigaction action;
    sigset_t before, after;
    pthread_t me = pthread_self(), thread;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    must(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    must(pthread_create(&thread, NULL, send_signals, &me) == 0, "pthread_create");
    errno = 0;
    printf("a handler ran: %d", change(4, -1, 0));
    printf(" %s\n", strerrorname_np(errno));
    must(change(3, 1, 0) == 0, "stop");
    pthread_join(thread, NULL);
    /* Sections block signals, and nothing else: the mask is as it was. */
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    must(change(0, -1, 0) == 0 && change(0, 1, 0) == 0, "a pair");
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    printf("mask %s\n", memcmp(&before, &after, sizeof before) == 0 ? "kept" : "changed");
}

/* A child that is killed in its sleep does not count as a waiter. */
static void killed_waiters(void)
{
    pid_t child = fork();
    must(child != -1, "fork");
    if (child == 0) {
        change(4, -1, 0);
        _exit(1);
    }
    while (unspin_semctl(engine, id, 4, GETNCNT) != 1)
        usleep(1000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    must(change(4, 1, 0) == 0, "post");
    printf("the dead take nothing: %d, %d wait\n", value(4), unspin_semctl(engine, id, 4, GETNCNT));
}

static void *take_five(void *unused)
{
    must(change(0, -5, SEM_UNDO) == 0, "a thread's adjustment");
    return unused;
}

/* Adjustments are the process's: they stay when a thread ends, and when another program is executed; not longer. */
static void adjustments(void)
{
    pthread_t thread;
    pid_t child;
    int before = value(0);
    must(pthread_create(&thread, NULL, take_five, NULL) == 0, "pthread_create");
    must(pthread_join(thread, NULL) == 0, "pthread_join");
    printf("a thread that ended holds %d\n", before - value(0));
    child = fork();
    must(child != -1, "fork");
    if (child == 0) {
        /* Inherits none of its parent's, and takes its own to another program. */
        must(change(0, -7, SEM_UNDO) == 0, "a child's adjustment");
        execlp("sh", "sh", "-c", "exit 3", (char *)NULL);
        _exit(1);
    }
    must(waitpid(child, NULL, 0) == child, "waitpid");
    printf("after the child's program %d, set by %s\n", before - value(0),
           unspin_semctl(engine, id, 0, GETPID) == child ? "the child" : "another");
    must(change(0, 5, SEM_UNDO) == 0, "give back");
}

struct message {
    long type;
    char text[32];
};

/* A child that is killed in its sleep takes no message. A live child gets its message; messages are handed over in
 * order. */
static void messages(void)
{
    struct message out = { 1, "one" }, in;
    struct msqid_ds status;
    int queue = unspin_msgget(engine, IPC_PRIVATE, 0600), i, state;
    pid_t child = fork();
    must(queue != -1 && child != -1, "a queue and a child");
    if (child == 0) {
        unspin_msgrcv(engine, queue, &in, sizeof in.text, 1, 0);
        _exit(1);
    }
    usleep(20000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    must(unspin_msgsnd(engine, queue, &out, 4, 0) == 0, "send");
    must(unspin_msgctl(engine, queue, IPC_STAT, &status) == 0, "IPC_STAT");
    printf("left by the dead: %lu message\n", (unsigned long)status.msg_qnum);
    child = fork();
    must(child != -1, "fork");
    if (child == 0) {
        for (i = 0; i < 1000; i++)
            if (unspin_msgrcv(engine, queue, &in, sizeof in.text, 2, 0) != 4 || atoi(in.text) != i)
                _exit(1);
        _exit(0);
    }
    out.type = 2;
    for (i = 0; i < 1000; i++) {
        snprintf(out.text, sizeof out.text, "%03d", i);
        must(unspin_msgsnd(engine, queue, &out, 4, 0) == 0, "send");
    }
    must(waitpid(child, &state, 0) == child, "waitpid");
    printf("a thousand in order: %s\n", state == 0 ? "yes" : "no");
    must(unspin_msgctl(engine, queue, IPC_RMID, NULL) == 0, "IPC_RMID");
    errno = 0;
    printf("removed: %zd", unspin_msgrcv(engine, queue, &in, sizeof in.text, 0, 0));
    printf(" %s\n", strerrorname_np(errno));
}

int main(int argc, char **argv)
{
    const char *names[] = UNSPIN_SYSV_NAMES;
    unspin_sysv *second;
    int kind = 0, kinds = sizeof names / sizeof *names;
    must(argc == 3, "usage: life ENGINE ARENA");
    while (kind < kinds && strcmp(argv[1], names[kind]) != 0)
        kind++;
    setvbuf(stdout, NULL, _IONBF, 0);
    engine = unspin_sysv_open(kind, argv[2], NULL);
    must(engine != NULL, "unspin_sysv_open");
    id = unspin_semget(engine, IPC_PRIVATE, 5, 0600);
    must(id != -1, "unspin_semget");
    many_threads();
    forks_beside_a_thread();
    signals();
    killed_waiters();
    adjustments();
    messages();
    /* Objects made through one engine pointer are found through another one of the same arena. Closing removes
     * nothing. */
    unspin_sysv_close(engine);
    second = unspin_sysv_open(kind, argv[2], NULL);
    must(second != NULL, "unspin_sysv_open again");
    engine = second;
    printf("opened again: %d\n", value(0));
    must(unspin_semctl(engine, id, 0, IPC_RMID) == 0, "IPC_RMID");
    unspin_sysv_close(engine);
    printf("done\n");
    return 0;
}
