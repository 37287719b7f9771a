/* Waiters that die in crowds, handlers that use the engine in the middle of a call, cancellation. */
#include "check.h"
#include <pthread.h>
#include <sys/resource.h>

static int set;

static void *take(void *unused)
{
    (void)unused;
    semop(set, &(struct sembuf){ 0, -1, 0 }, 1);
    return NULL;
}

static pthread_t thread_of(void *(*body)(void *))
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_t thread;
    if (pthread_create(&thread, &small, body, NULL) != 0)
        abort();
    return thread;
}

/* So many threads of one process wait, and are killed. No process uses the set in between: that would find the dead
 * waiters. */
static void kill_waiters(int count)
{
    pid_t child = (pid_t)MUST(fork());
    if (child == 0) {
        for (int i = 0; i < count; i++)
            thread_of(take);
        for (;;)
            pause();
    }
    while (semctl(set, 0, GETNCNT) < count)
        usleep(1000);
    MUST(kill(child, SIGKILL));
    MUST(waitpid(child, NULL, 0));
}

static void *post_one(void *unused)
{
    (void)unused;
    report("a post to them", semop(set, &(struct sembuf){ 0, 1, 0 }, 1), 0);
    return NULL;
}

static void tokens_granted_to_the_dead_come_back(void)
{
    set = new_set(1);
    kill_waiters(14);
    MUST(semop(set, &(struct sembuf){ 0, 14, 0 }, 1));
    line("tokens posted to fourteen dead", "%d", semctl(set, 0, GETVAL));
    remove_set(set);
}

static void a_long_queue_of_the_dead_fits_the_stack(void)
{
    set = new_set(1);
    kill_waiters(200);
    pthread_join(thread_of(post_one), NULL);
    line("a token posted to two hundred dead", "%d", semctl(set, 0, GETVAL));
    remove_set(set);
}

static timer_t timer;
static long signals, enough = 20000;

static void on_alarm(int signal)
{
    (void)signal;
    /* By the handler: where it takes longer than the interval, nothing else is executed. */
    if (++signals == enough)
        timer_settime(timer, 0, &(struct itimerspec){ 0 }, NULL);
    static short step = -1;
    step = (short)-step;
    int before = errno;
    semop(set, (struct sembuf[]){ { 2, step, IPC_NOWAIT }, { 3, step, IPC_NOWAIT } }, 2);
    errno = before;
}

static void a_handler_leaves_the_vector_alone(void)
{
    set = new_set(4);
    sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_alarm }, NULL);
    MUST(timer_create(CLOCK_MONOTONIC, NULL, &timer));
    struct itimerspec often = { { 0, 7000 }, { 0, 7000 } };
    MUST(timer_settime(timer, 0, &often, NULL));
    int failed = 0;
    while (*(volatile long *)&signals < enough) {
        failed += semop(set, (struct sembuf[]){ { 0, 1, 0 }, { 1, 1, 0 } }, 2) != 0;
        failed += semop(set, (struct sembuf[]){ { 0, -1, IPC_NOWAIT }, { 1, -1, IPC_NOWAIT } }, 2) != 0;
    }
    MUST(timer_delete(timer));
    unsigned short v[4];
    MUST(semctl(set, 0, GETALL, (union semun){ .array = v }));
    line("a handler's semop between two", "%d failed, %d %d, %s", failed, v[0], v[1],
         v[2] == v[3] ? "together" : "torn");
    remove_set(set);
}

static void *take_cancellable(void *unused)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    return take(unused);
}

static void asynchronous_cancellation(void)
{
    set = new_set(1);
    pthread_t thread = thread_of(take_cancellable);
    while (semctl(set, 0, GETNCNT) < 1)
        usleep(1000);
    usleep(20000);
    pthread_cancel(thread);
    void *result;
    pthread_join(thread, &result);
    MUST(semop(set, &(struct sembuf){ 0, 1, 0 }, 1));
    line("cancelled in its sleep", "%d, value %d", result == PTHREAD_CANCELED, semctl(set, 0, GETVAL));
    remove_set(set);
}

static void a_short_file_size_limit_is_no_matter(void)
{
    /* The arena is longer than that: SIGXFSZ would kill the program in the constructor. */
    fflush(stdout);
    char arena[64];
    snprintf(arena, sizeof(arena), "/dev/shm/unspin-e2e-too-long-%d", (int)getpid());
    unlink(arena);
    pid_t child = (pid_t)MUST(fork());
    if (child == 0) {
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1 << 20, 1 << 20 });
        setenv("UNSPIN_ARENA", arena, 1);
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
    }
    int status;
    MUST(waitpid(child, &status, 0));
    line("a file size limit", "status %d", status >> 8);
}

/* The argument says how many signals interrupt a process. */
int main(int argc, char **argv)
{
    if (argc > 1)
        enough = atol(argv[1]);
    tokens_granted_to_the_dead_come_back();
    a_long_queue_of_the_dead_fits_the_stack();
    a_handler_leaves_the_vector_alone();
    asynchronous_cancellation();
    a_short_file_size_limit_is_no_matter();
    return 0;
}
