/* msgsnd(2) and msgrcv(2) are cancellation points (pthreads(7)): a thread that is cancelled there leaves nothing
 * behind. */
#include "queues.h"
#include <pthread.h>
#include <setjmp.h>

static int queue;
static volatile int cleaned;
static volatile pid_t tid;

static void clean(void *arg)
{
    /* What a clean-up handler does is not disturbed by the call that was cancelled. */
    cleaned = 1 + (int)take((int)(long)arg, 100, 77, IPC_NOWAIT);
}

static void *receive(void *arg)
{
    tid = (pid_t)syscall(SYS_gettid);
    long answer;
    pthread_cleanup_push(clean, arg);
    answer = take((int)(long)arg, 100, 5, 0);
    pthread_cleanup_pop(0);
    return (void *)answer;
}

static void *send(void *arg)
{
    tid = (pid_t)syscall(SYS_gettid);
    long answer;
    pthread_cleanup_push(clean, arg);
    answer = give((int)(long)arg, 6, 'f', 10, 0);
    pthread_cleanup_pop(0);
    return (void *)answer;
}

static void await_thread(void)
{
    char path[64], text[256];
    while (tid == 0)
        usleep(1000);
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    for (int asleep = 0; asleep < 4;) {
        int fd = open(path, O_RDONLY);
        ssize_t n = read(fd, text, sizeof text - 1);
        close(fd);
        if (n <= 0)
            return;
        text[n] = 0;
        char *state = strrchr(text, ')');
        asleep = state != NULL && state[2] == 'S' ? asleep + 1 : 0;
        usleep(3000);
    }
}

static void cancelled(const char *row, void *(*call)(void *))
{
    pthread_t thread;
    void *result;
    cleaned = 0;
    tid = 0;
    MUST(-pthread_create(&thread, NULL, call, (void *)(long)queue));
    await_thread();
    line(row, "asleep, cancel: %d", pthread_cancel(thread));
    MUST(-pthread_join(thread, &result));
    line(row, "%s, cleaned up: %d", result == PTHREAD_CANCELED ? "cancelled" : "returned", cleaned);
}

static void *cancelled_before(void *arg)
{
    MUST(-pthread_cancel(pthread_self()));
    long answer = give((int)(long)arg, 6, 'f', 10, IPC_NOWAIT);
    return (void *)answer;
}

static void *disabled(void *arg)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    MUST(-pthread_cancel(pthread_self()));
    long answer = give((int)(long)arg, 6, 'f', 10, IPC_NOWAIT) + (take((int)(long)arg, 10, 6, 0) == 6060010);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    return (void *)answer;
}

static void *type_of(void *arg)
{
    int before = -1;
    MUST(give((int)(long)arg, 6, 'f', 10, IPC_NOWAIT));
    take((int)(long)arg, 100, 6, 0);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before);
    return (void *)(long)(before == PTHREAD_CANCEL_DEFERRED);
}

static void one(const char *row, void *(*call)(void *))
{
    pthread_t thread;
    void *result;
    MUST(-pthread_create(&thread, NULL, call, (void *)(long)queue));
    MUST(-pthread_join(thread, &result));
    line(row, "%ld", result == PTHREAD_CANCELED ? -99 : (long)result);
}

static sigjmp_buf back;

static void jump(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

/* A jump out of a handler leaves the call too. */
static void jumped(void)
{
    signal(SIGALRM, jump);
    if (sigsetjmp(back, 1) == 0) {
        alarm(1);
        line("never", "%ld", take(queue, 100, 5, 0));
    }
    MUST(give(queue, 5, 'e', 9, 0));
    ROW("not for the call that was left", take(queue, 100, 5, IPC_NOWAIT));
}

int main(void)
{
    queue = new_queue();
    cancelled("receive", receive);
    MUST(give(queue, 5, 'e', 10, 0));
    row_status("nobody is there to receive", queue, 0);
    ROW("out", take(queue, 100, 5, IPC_NOWAIT));
    MUST(set_room(queue, 15));
    MUST(give(queue, 4, 'd', 15, 0));
    cancelled("send", send);
    ROW("out", take(queue, 100, 4, IPC_NOWAIT));
    ROW("nothing was sent", take(queue, 100, 0, IPC_NOWAIT));
    one("cancelled before", cancelled_before);
    ROW("nothing was sent", take(queue, 100, 0, IPC_NOWAIT));
    one("cannot be cancelled", disabled);
    one("type of cancellation as before", type_of);
    jumped();
    row_status("left", queue, 0);
    remove_queue(queue);
    return 0;
}
