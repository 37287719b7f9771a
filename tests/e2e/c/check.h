/* Code shared by the programs: one line per observation, nothing in it that depends on time, pid or id. */
#ifndef CHECK_H
#define CHECK_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

union semun {
    int val;
    struct semid_ds *buf;
    unsigned short *array;
    struct seminfo *info;
};

/* The symbolic name, or the number of one that no row expects. */
static const char *errno_name(int e)
{
    static char number[32];
    const char *name = strerrorname_np(e);
    if (name != NULL && e != 0)
        return name;
    snprintf(number, sizeof number, "errno %d", e);
    return number;
}

static void line(const char *row, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%s: ", row);
    vprintf(format, args);
    printf("\n");
    fflush(stdout);
    va_end(args);
}

static void report(const char *row, long result, int error)
{
    if (result == -1)
        line(row, "-1 %s", errno_name(error));
    else
        line(row, "%ld%s", result, error == 0 ? "" : " (errno was touched)");
}

/* The value of a call, or its errno. */
#define ROW(row, call)                  \
    do {                                \
        errno = 0;                      \
        long result_ = (call);          \
        report(row, result_, errno);    \
    } while (0)

/* For calls that answer an id, which is not the same twice. */
#define ROW_ID(row, call)                                  \
    do {                                                   \
        errno = 0;                                         \
        long result_ = (call);                             \
        report(row, result_ >= 0 ? 0 : result_, errno);    \
    } while (0)

/* A call that the test itself depends on. */
#define MUST(call) must((call), #call, __LINE__)
static long must(long result, const char *call, int at)
{
    if (result == -1) {
        fprintf(stderr, "line %d: %s: %s\n", at, call, errno_name(errno));
        exit(99);
    }
    return result;
}

#define OP(num, op, flags) ((struct sembuf){ .sem_num = (num), .sem_op = (op), .sem_flg = (flags) })
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* semop with the operations as arguments. */
#define SEMOP(id, ...) \
    semop((id), (struct sembuf[]){ __VA_ARGS__ }, COUNT(((struct sembuf[]){ __VA_ARGS__ })))
#define SEMTIMEDOP(id, timeout, ...) \
    semtimedop((id), (struct sembuf[]){ __VA_ARGS__ }, COUNT(((struct sembuf[]){ __VA_ARGS__ })), (timeout))

/* A key that no other program has. */
static key_t own_key(int n)
{
    return (key_t)(0x40000000u | (unsigned)(getpid() & 0x3fffff) << 6 | (unsigned)n);
}

static int new_set(int nsems)
{
    return (int)MUST(semget(IPC_PRIVATE, nsems, 0600 | IPC_CREAT));
}

static int get(int id, int num, int command)
{
    return semctl(id, num, command);
}

static int set_value(int id, int num, int value)
{
    return semctl(id, num, SETVAL, (union semun){ .val = value });
}

static void remove_set(int id)
{
    semctl(id, 0, IPC_RMID);
}

/* All values of a set of up to 16. */
static void row_values(const char *row, int id)
{
    unsigned short values[16] = { 0 };
    struct semid_ds ds;
    char text[128] = "";
    if (semctl(id, 0, IPC_STAT, (union semun){ .buf = &ds }) == -1 ||
        semctl(id, 0, GETALL, (union semun){ .array = values }) == -1) {
        line(row, "-1 %s", errno_name(errno));
        return;
    }
    for (unsigned i = 0; i < ds.sem_nsems && i < 16; i++)
        sprintf(text + strlen(text), "%s%u", i ? " " : "", values[i]);
    line(row, "%s", text);
}

/* ---- Other processes. ---- */

/* A child that makes one call and reports the result. */
struct job {
    pid_t pid;
    int fd;
};

struct answer {
    int result;
    int error;
};

static struct job start_ops(int id, struct sembuf *ops, size_t n, const struct timespec *timeout)
{
    int ends[2];
    MUST(pipe(ends));
    fflush(stdout);
    pid_t pid = (pid_t)MUST(fork());
    if (pid == 0) {
        struct answer answer;
        errno = 0;
        answer.result = timeout == NULL ? semop(id, ops, n) : semtimedop(id, ops, n, timeout);
        answer.error = errno;
        if (write(ends[1], &answer, sizeof answer) != sizeof answer)
            _exit(98);
        _exit(0);
    }
    close(ends[1]);
    return (struct job){ pid, ends[0] };
}

#define START(id, ...) \
    start_ops((id), (struct sembuf[]){ __VA_ARGS__ }, COUNT(((struct sembuf[]){ __VA_ARGS__ })), NULL)
#define START_TIMED(id, timeout, ...) \
    start_ops((id), (struct sembuf[]){ __VA_ARGS__ }, COUNT(((struct sembuf[]){ __VA_ARGS__ })), (timeout))

/* Waits for the call to return. */
static struct answer answer_of(struct job job)
{
    struct answer answer = { -2, 0 };
    if (read(job.fd, &answer, sizeof answer) != sizeof answer)
        answer.result = -2;
    close(job.fd);
    waitpid(job.pid, NULL, 0);
    return answer;
}

static void row_answer(const char *row, struct job job)
{
    struct answer answer = answer_of(job);
    report(row, answer.result, answer.error);
}

/* Whether the call is still asleep some time after an event that must not wake it. */
static int sleeps(struct job job)
{
    struct pollfd p = { .fd = job.fd, .events = POLLIN };
    return poll(&p, 1, 60) == 0;
}

/* Waits until a process or a thread sleeps, and goes on sleeping for a while: in a call, not on its way there. */
static void await_asleep(pid_t id)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", id);
    for (int asleep = 0; asleep < 4;) {
        int fd = open(path, O_RDONLY);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        close(fd);
        if (n <= 0)
            return;
        text[n] = 0;
        char *state = strrchr(text, ')');
        asleep = state != NULL && (state[2] == 'S' || state[2] == 'Z') ? asleep + 1 : 0;
        usleep(3000);
    }
}

/* A child sends this process a signal when this process sleeps. A timer may be over before the call that it shall interrupt. */
static void signal_when_asleep(int signal)
{
    pid_t sleeper = getpid();
    fflush(stdout);
    if (MUST(fork()) == 0) {
        await_asleep(sleeper);
        kill(sleeper, signal);
        _exit(0);
    }
}

/* Waits until exactly so many sleepers are counted. The test run as a whole has a limit. */
static void await_count(int id, int num, int command, int count)
{
    while (get(id, num, command) != count)
        usleep(500);
}

#define AWAIT_N(id, num, count) await_count((id), (num), GETNCNT, (count))
#define AWAIT_Z(id, num, count) await_count((id), (num), GETZCNT, (count))

static void finish(struct job job)
{
    kill(job.pid, SIGKILL);
    close(job.fd);
    waitpid(job.pid, NULL, 0);
}

/* Runs the body in a child, so that it can change its credentials and limits; waits for it. */
#define IN_CHILD(body)                            \
    do {                                          \
        fflush(stdout);                           \
        pid_t child_ = (pid_t)MUST(fork());       \
        if (child_ == 0) {                        \
            body;                                 \
            fflush(stdout);                       \
            _exit(0);                             \
        }                                         \
        int status_;                              \
        MUST(waitpid(child_, &status_, 0));       \
        if (status_ != 0)                         \
            line("a child", "status %d", status_);\
    } while (0)

/* Alone among the objects of an own IPC namespace, if that is allowed. */
static int alone(void)
{
    return unshare(CLONE_NEWIPC) == 0;
}

#endif
