/* What the pthread programs share, in C and C++: one line per observation, nothing in it that depends on time, pid,
 * address or on which of several threads was first. */
#ifndef ROW_H
#define ROW_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHARED_HELPER __attribute__((unused)) static
/* No call sets errno to this. */
#define UNTOUCHED 7777

SHARED_HELPER const char *name_of(int error)
{
    static __thread char number[32];
    const char *name = error > 0 ? strerrorname_np(error) : NULL;
    if (name != NULL)
        return name;
    snprintf(number, sizeof number, "%d", error);
    return number;
}

__attribute__((format(printf, 2, 3))) SHARED_HELPER void line(const char *row, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    printf("%s: %s\n", row, text);
    fflush(stdout);
}

SHARED_HELPER void report(const char *row, int result, int error)
{
    line(row, "%s%s", name_of(result), error == UNTOUCHED ? "" : " (errno was touched)");
}

/* A call that answers an error number, and leaves errno alone. */
#define ROW(row, call)                  \
    do {                                \
        errno = UNTOUCHED;              \
        int result_ = (call);           \
        report((row), result_, errno);  \
    } while (0)

/* A call that answers -1 and sets errno. */
#define ROW_ERRNO(row, call)                                                  \
    do {                                                                      \
        errno = UNTOUCHED;                                                    \
        int result_ = (call);                                                 \
        if (result_ == -1)                                                    \
            line((row), "-1 %s", name_of(errno));                             \
        else                                                                  \
            report((row), result_, errno);                                    \
    } while (0)

/* Calls that the test itself depends on: those that answer an error number, and those that answer -1. */
#define MUST(call) must((call), #call, __LINE__)
#define MUST_SYS(call) must_sys((call), #call, __LINE__)

SHARED_HELPER void must(int error, const char *call, int at)
{
    if (error != 0) {
        fprintf(stderr, "line %d: %s: %s\n", at, call, name_of(error));
        exit(99);
    }
}

SHARED_HELPER long must_sys(long result, const char *call, int at)
{
    if (result == -1)
        must(errno, call, at);
    return result;
}

/* ---- Time. ---- */

SHARED_HELPER struct timespec in_ms(clockid_t clock, long ms)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    return t;
}

SHARED_HELPER int is_past(clockid_t clock, const struct timespec *when)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec > when->tv_sec || (now.tv_sec == when->tv_sec && now.tv_nsec >= when->tv_nsec);
}

/* A wait that ends by itself, after its time and not before. */
#define ROW_TIMED(row, clock, ms, call)                                       \
    do {                                                                      \
        struct timespec until = in_ms((clock), (ms));                         \
        errno = UNTOUCHED;                                                    \
        int result_ = (call);                                                 \
        report((row), result_, errno);                                        \
        if (!is_past((clock), &until))                                        \
            line((row), "too early");                                         \
    } while (0)

SHARED_HELPER void pause_ms(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&t, NULL);
}

/* ---- Other threads. ---- */

/* A call made by another thread. */
struct job {
    int (*call)(void *);
    void *argument;
    int result, error;
    pid_t tid;
    pthread_t thread;
};

SHARED_HELPER void *run_job(void *p)
{
    struct job *job = (struct job *)p;
    __atomic_store_n(&job->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
    errno = UNTOUCHED;
    job->result = job->call(job->argument);
    job->error = errno;
    return NULL;
}

SHARED_HELPER void start(struct job *job, int (*call)(void *), void *argument)
{
    memset(job, 0, sizeof *job);
    job->call = call;
    job->argument = argument;
    MUST(pthread_create(&job->thread, NULL, run_job, job));
}

/* A line for what the call answered. */
SHARED_HELPER void row_job(const char *row, struct job *job)
{
    MUST(pthread_join(job->thread, NULL));
    report(row, job->result, job->error);
}

/* The call in a thread of its own, whose first one it is. */
SHARED_HELPER void row_elsewhere(const char *row, int (*call)(void *), void *argument)
{
    struct job job;
    start(&job, call, argument);
    row_job(row, &job);
}

/* Waits until the thread sleeps in the kernel, or has spun for so long that it will not. */
SHARED_HELPER void await_asleep_tid(const pid_t *tid)
{
    for (;;) {
        char path[64], text[512] = "";
        pid_t now = __atomic_load_n(tid, __ATOMIC_SEQ_CST);
        if (now != 0) {
            snprintf(path, sizeof path, "/proc/self/task/%d/stat", now);
            int fd = open(path, O_RDONLY);
            ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
            if (fd >= 0)
                close(fd);
            /* The name ends with a parenthesis; the state follows, and eleven words later the time on a CPU, in ticks of
             * a hundredth of a second. */
            const char *state = n > 0 ? strrchr(text, ')') : NULL;
            unsigned long user = 0;
            if (state != NULL && state[1] == ' ' && state[2] == 'S')
                return;
            if (state != NULL && sscanf(state + 3, "%*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu", &user) == 1 && user > 2)
                return;
        }
        pause_ms(1);
    }
}

SHARED_HELPER void await_asleep(const struct job *job)
{
    await_asleep_tid(&job->tid);
}

SHARED_HELPER void await_value(const int *word, int value)
{
    while (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value)
        pause_ms(1);
}

/* `count` threads that run the same function, to their end. */
SHARED_HELPER void crowd(int count, void *(*run)(void *), void *argument)
{
    pthread_t *threads = (pthread_t *)calloc((size_t)count, sizeof *threads);
    for (int i = 0; i < count; i++)
        MUST(pthread_create(&threads[i], NULL, run, argument));
    for (int i = 0; i < count; i++)
        MUST(pthread_join(threads[i], NULL));
    free(threads);
}

/* ---- Other processes. ---- */

SHARED_HELPER void *shared_page(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST_SYS(page == MAP_FAILED ? -1 : 0);
    return page;
}

SHARED_HELPER void row_child(const char *row, pid_t child)
{
    int status = 0;
    MUST_SYS(waitpid(child, &status, 0));
    if (WIFSIGNALED(status))
        line(row, "signal %d", WTERMSIG(status));
    else
        line(row, "exit %d", WEXITSTATUS(status));
}

/* Runs the body in a child and waits for it. */
#define IN_CHILD(row, body)                             \
    do {                                                \
        fflush(stdout);                                 \
        pid_t child_ = (pid_t)MUST_SYS(fork());         \
        if (child_ == 0) {                              \
            body;                                       \
            fflush(stdout);                             \
            _exit(0);                                   \
        }                                               \
        row_child((row), child_);                       \
    } while (0)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
