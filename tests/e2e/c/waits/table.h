/* Every wait that the library hooks, in one table: what it waits for, the call, and what ends it. The programs that need
 * all of them (ends, interrupted, cancelled, jumps, limits) go through the table. */
#ifndef TABLE_H
#define TABLE_H
#include "../pthread/row.h"
#include <linux/futex.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>

/* glibc's entry points for calls whose buffer sizes the compiler knows (_FORTIFY_SOURCE). */
extern int __poll_chk(struct pollfd *, nfds_t, int, size_t);
extern int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
extern ssize_t __read_chk(int, void *, size_t, size_t);
extern ssize_t __recv_chk(int, void *, size_t, size_t, int);
extern ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);

/* What a wait waits for. */
enum object { PIPE, SOCKET, EVENT, LISTENER, SET, SEMAPHORE, CONDITION, BARRIER, JOIN, MUTEX, WORD };

/* One object of one of these kinds. `in` is waited for, `out` ends the wait. */
struct place {
    enum object object;
    int in, out, set;
    sem_t semaphore;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_barrier_t barrier;
    pthread_t agent;
    int has_agent, told, flag, word, held_at_cleanup;
    char bytes[16];
};

enum {
    POINT = 1, /* a cancellation point */
    BARE = 2,  /* a system call: a handler may leave it by a jump, and a thread may be cancelled anywhere in it */
};

struct wait {
    const char *name;
    enum object object;
    long (*call)(struct place *);
    int traits;
};

/* A limit that no wait of these programs reaches, on however busy a machine. */
enum { FAR_MS = 1000000 };
static const struct timespec far_span = { FAR_MS / 1000, 0 };

/* ---- Descriptors. ---- */

static long wait_poll(struct place *p)
{
    struct pollfd fd = { p->in, POLLIN, 0 };
    long n = poll(&fd, 1, -1);
    return n < 0 ? n : n * 1000 + fd.revents;
}
static long wait_poll_limit(struct place *p)
{
    struct pollfd fd = { p->in, POLLIN, 0 };
    long n = poll(&fd, 1, FAR_MS);
    return n < 0 ? n : n * 1000 + fd.revents;
}
static long wait_poll_chk(struct place *p)
{
    struct pollfd fd = { p->in, POLLIN, 0 };
    return __poll_chk(&fd, 1, -1, sizeof fd);
}
static long wait_ppoll(struct place *p)
{
    struct pollfd fd = { p->in, POLLIN, 0 };
    return ppoll(&fd, 1, NULL, NULL);
}
static long wait_ppoll_limit(struct place *p)
{
    struct pollfd fd = { p->in, POLLIN, 0 };
    sigset_t none;
    sigemptyset(&none);
    return ppoll(&fd, 1, &far_span, &none);
}
static long wait_ppoll_chk(struct place *p)
{
    struct pollfd fd = { p->in, POLLIN, 0 };
    return __ppoll_chk(&fd, 1, &far_span, NULL, sizeof fd);
}
static long wait_select(struct place *p)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(p->in, &set);
    return select(p->in + 1, &set, NULL, NULL, NULL);
}
static long wait_select_limit(struct place *p)
{
    fd_set set;
    struct timeval limit = { FAR_MS / 1000, 0 };
    FD_ZERO(&set);
    FD_SET(p->in, &set);
    long n = select(p->in + 1, &set, NULL, NULL, &limit);
    return n < 0 ? n : n * 10 + !!FD_ISSET(p->in, &set);
}
static long wait_pselect(struct place *p)
{
    fd_set set;
    sigset_t none;
    sigemptyset(&none);
    FD_ZERO(&set);
    FD_SET(p->in, &set);
    return pselect(p->in + 1, &set, NULL, NULL, &far_span, &none);
}
static long event_of(long n, const struct epoll_event *e)
{
    return n < 1 ? n : n * 1000 + (long)(e->events * 10 + e->data.u32);
}
static long wait_epoll(struct place *p)
{
    struct epoll_event e;
    return event_of(epoll_wait(p->set, &e, 1, -1), &e);
}
static long wait_epoll_limit(struct place *p)
{
    struct epoll_event e;
    return event_of(epoll_wait(p->set, &e, 1, FAR_MS), &e);
}
static long wait_epoll_pwait(struct place *p)
{
    struct epoll_event e;
    sigset_t none;
    sigemptyset(&none);
    return event_of(epoll_pwait(p->set, &e, 1, -1, &none), &e);
}
static long wait_epoll_pwait2(struct place *p)
{
    struct epoll_event e;
    return event_of(epoll_pwait2(p->set, &e, 1, &far_span, NULL), &e);
}
static long wait_read(struct place *p)
{
    return read(p->in, p->bytes, sizeof p->bytes);
}
static long wait_read_chk(struct place *p)
{
    return __read_chk(p->in, p->bytes, sizeof p->bytes, sizeof p->bytes);
}
static long wait_readv(struct place *p)
{
    struct iovec parts[2] = { { p->bytes, 1 }, { p->bytes + 1, 8 } };
    return readv(p->in, parts, 2);
}
static long wait_eventfd_read(struct place *p)
{
    eventfd_t value = 0;
    int answer = eventfd_read(p->in, &value);
    return answer < 0 ? answer : (long)value;
}
static long wait_recv(struct place *p)
{
    return recv(p->in, p->bytes, sizeof p->bytes, 0);
}
static long wait_recv_chk(struct place *p)
{
    return __recv_chk(p->in, p->bytes, 8, sizeof p->bytes, 0);
}
static long wait_recv_limit(struct place *p)
{
    struct timeval limit = { FAR_MS / 1000, 0 };
    MUST_SYS(setsockopt(p->in, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    return recv(p->in, p->bytes, sizeof p->bytes, 0);
}
static long wait_recvfrom(struct place *p)
{
    struct sockaddr_un from;
    socklen_t length = sizeof from;
    return recvfrom(p->in, p->bytes, sizeof p->bytes, 0, (struct sockaddr *)&from, &length);
}
static long wait_recvfrom_chk(struct place *p)
{
    return __recvfrom_chk(p->in, p->bytes, 8, sizeof p->bytes, 0, NULL, NULL);
}
static long wait_recvmsg(struct place *p)
{
    struct iovec part = { p->bytes, sizeof p->bytes };
    struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
    return recvmsg(p->in, &header, 0);
}
static long wait_recvmmsg(struct place *p)
{
    struct iovec part = { p->bytes, sizeof p->bytes };
    struct mmsghdr header = { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } };
    return recvmmsg(p->in, &header, 1, 0, NULL);
}
static long accepted(int fd)
{
    if (fd < 0)
        return -1;
    int flags = fcntl(fd, F_GETFD);
    close(fd);
    return flags;
}
static long wait_accept(struct place *p)
{
    return accepted(accept(p->in, NULL, NULL));
}
static long wait_accept4(struct place *p)
{
    return accepted(accept4(p->in, NULL, NULL, SOCK_CLOEXEC));
}

/* ---- Memory. ---- */

static long minus_one(int error)
{
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}
static struct timespec far(clockid_t clock)
{
    return in_ms(clock, FAR_MS);
}
static long wait_sem(struct place *p)
{
    return sem_wait(&p->semaphore);
}
static long wait_sem_timed(struct place *p)
{
    struct timespec until = far(CLOCK_REALTIME);
    return sem_timedwait(&p->semaphore, &until);
}
static long wait_sem_clock(struct place *p)
{
    struct timespec until = far(CLOCK_MONOTONIC);
    return sem_clockwait(&p->semaphore, CLOCK_MONOTONIC, &until);
}

/* A cancelled wait for a condition has the mutex again when clean-up handlers run. */
static void leave_condition(void *argument)
{
    struct place *p = (struct place *)argument;
    p->held_at_cleanup = pthread_mutex_trylock(&p->mutex) == EBUSY;
    pthread_mutex_unlock(&p->mutex);
}
#define UNTIL_FLAG(p, wait)                      \
    volatile int error_ = 0;                     \
    pthread_mutex_lock(&(p)->mutex);             \
    pthread_cleanup_push(leave_condition, (p));  \
    while (!(p)->flag && error_ == 0)            \
        error_ = (wait);                         \
    (p)->flag = 0;                               \
    pthread_cleanup_pop(0);                      \
    pthread_mutex_unlock(&(p)->mutex);           \
    return minus_one(error_)
static long wait_condition(struct place *p)
{
    UNTIL_FLAG(p, pthread_cond_wait(&p->condition, &p->mutex));
}
static long wait_condition_timed(struct place *p)
{
    struct timespec until = far(CLOCK_REALTIME);
    UNTIL_FLAG(p, pthread_cond_timedwait(&p->condition, &p->mutex, &until));
}
static long wait_condition_clock(struct place *p)
{
    struct timespec until = far(CLOCK_MONOTONIC);
    UNTIL_FLAG(p, pthread_cond_clockwait(&p->condition, &p->mutex, CLOCK_MONOTONIC, &until));
}
/* Either of the two may be the serial thread. */
static long wait_barrier(struct place *p)
{
    int answer = pthread_barrier_wait(&p->barrier);
    return answer == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : answer;
}
static long joined(struct place *p, int error, void *value)
{
    if (error != 0)
        return minus_one(error);
    p->has_agent = 0;
    return (long)(intptr_t)value;
}
static long wait_join(struct place *p)
{
    void *value = NULL;
    int error = pthread_join(p->agent, &value);
    return joined(p, error, value);
}
static long wait_join_timed(struct place *p)
{
    void *value = NULL;
    struct timespec until = far(CLOCK_REALTIME);
    int error = pthread_timedjoin_np(p->agent, &value, &until);
    return joined(p, error, value);
}
static long wait_join_clock(struct place *p)
{
    void *value = NULL;
    struct timespec until = far(CLOCK_MONOTONIC);
    int error = pthread_clockjoin_np(p->agent, &value, CLOCK_MONOTONIC, &until);
    return joined(p, error, value);
}
static long unlocked(struct place *p, int error)
{
    if (error == 0)
        pthread_mutex_unlock(&p->mutex);
    return minus_one(error);
}
static long wait_mutex(struct place *p)
{
    return unlocked(p, pthread_mutex_lock(&p->mutex));
}
static long wait_mutex_timed(struct place *p)
{
    struct timespec until = far(CLOCK_REALTIME);
    return unlocked(p, pthread_mutex_timedlock(&p->mutex, &until));
}
static long woken(struct place *p, long answer)
{
    /* A word that has changed before the call, or between wake-up and the next look: the wait is over as well. */
    if (answer == -1 && errno == EAGAIN && __atomic_load_n(&p->word, __ATOMIC_SEQ_CST) != 0)
        return 0;
    return answer;
}
static long wait_futex(struct place *p)
{
    return woken(p, syscall(SYS_futex, &p->word, FUTEX_WAIT, 0, NULL, NULL, 0));
}
static long wait_futex_private(struct place *p)
{
    return woken(p, syscall(SYS_futex, &p->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0));
}
static long wait_futex_limit(struct place *p)
{
    return woken(p, syscall(SYS_futex, &p->word, FUTEX_WAIT_PRIVATE, 0, &far_span, NULL, 0));
}
static long wait_futex_bitset(struct place *p)
{
    struct timespec until = far(CLOCK_MONOTONIC);
    return woken(p, syscall(SYS_futex, &p->word, FUTEX_WAIT_BITSET_PRIVATE, 0, &until, NULL, 1));
}

__attribute__((unused)) static const struct wait waits[] = {
    { "poll", PIPE, wait_poll, POINT | BARE },
    { "poll with a limit", SOCKET, wait_poll_limit, POINT | BARE },
    { "__poll_chk", EVENT, wait_poll_chk, POINT | BARE },
    { "ppoll", SOCKET, wait_ppoll, POINT | BARE },
    { "ppoll with limit and mask", PIPE, wait_ppoll_limit, POINT | BARE },
    { "__ppoll_chk", LISTENER, wait_ppoll_chk, POINT | BARE },
    { "select", PIPE, wait_select, POINT | BARE },
    { "select with a limit", SOCKET, wait_select_limit, POINT | BARE },
    { "pselect", EVENT, wait_pselect, POINT | BARE },
    { "epoll_wait", SET, wait_epoll, POINT | BARE },
    { "epoll_wait with a limit", SET, wait_epoll_limit, POINT | BARE },
    { "epoll_pwait", SET, wait_epoll_pwait, POINT | BARE },
    { "epoll_pwait2", SET, wait_epoll_pwait2, POINT | BARE },
    { "read of a pipe", PIPE, wait_read, POINT | BARE },
    { "read of a socket", SOCKET, wait_read, POINT | BARE },
    { "read of an eventfd", EVENT, wait_read, POINT | BARE },
    { "__read_chk", PIPE, wait_read_chk, POINT | BARE },
    { "readv", SOCKET, wait_readv, POINT | BARE },
    { "eventfd_read", EVENT, wait_eventfd_read, POINT | BARE },
    { "recv", SOCKET, wait_recv, POINT | BARE },
    { "__recv_chk", SOCKET, wait_recv_chk, POINT | BARE },
    { "recv with SO_RCVTIMEO", SOCKET, wait_recv_limit, POINT | BARE },
    { "recvfrom", SOCKET, wait_recvfrom, POINT | BARE },
    { "__recvfrom_chk", SOCKET, wait_recvfrom_chk, POINT | BARE },
    { "recvmsg", SOCKET, wait_recvmsg, POINT | BARE },
    { "recvmmsg", SOCKET, wait_recvmmsg, POINT | BARE },
    { "accept", LISTENER, wait_accept, POINT | BARE },
    { "accept4", LISTENER, wait_accept4, POINT | BARE },
    { "sem_wait", SEMAPHORE, wait_sem, POINT },
    { "sem_timedwait", SEMAPHORE, wait_sem_timed, POINT },
    { "sem_clockwait", SEMAPHORE, wait_sem_clock, POINT },
    { "pthread_cond_wait", CONDITION, wait_condition, POINT },
    { "pthread_cond_timedwait", CONDITION, wait_condition_timed, POINT },
    { "pthread_cond_clockwait", CONDITION, wait_condition_clock, POINT },
    { "pthread_barrier_wait", BARRIER, wait_barrier, 0 },
    { "pthread_join", JOIN, wait_join, POINT },
    { "pthread_timedjoin_np", JOIN, wait_join_timed, POINT },
    { "pthread_clockjoin_np", JOIN, wait_join_clock, POINT },
    { "pthread_mutex_lock", MUTEX, wait_mutex, 0 },
    { "pthread_mutex_timedlock", MUTEX, wait_mutex_timed, 0 },
    { "FUTEX_WAIT", WORD, wait_futex, BARE },
    { "FUTEX_WAIT private", WORD, wait_futex_private, BARE },
    { "FUTEX_WAIT with a limit", WORD, wait_futex_limit, BARE },
    { "FUTEX_WAIT_BITSET", WORD, wait_futex_bitset, BARE },
};

/* ---- Places. ---- */

static void await_told(struct place *p)
{
    struct timespec moment = { 0, 20000 };
    while (!__atomic_load_n(&p->told, __ATOMIC_SEQ_CST))
        nanosleep(&moment, NULL);
}

/* The other party of a barrier, of a join, or of a mutex that only its owner may release. */
static void *act(void *argument)
{
    struct place *p = (struct place *)argument;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    if (p->object == MUTEX)
        MUST(pthread_mutex_lock(&p->mutex));
    __atomic_store_n(&p->has_agent, 1, __ATOMIC_SEQ_CST);
    await_told(p);
    if (p->object == MUTEX)
        MUST(pthread_mutex_unlock(&p->mutex));
    if (p->object == BARRIER)
        pthread_barrier_wait(&p->barrier);
    return (void *)77;
}

static void open_listener(struct place *p)
{
    /* An address with no name: the kernel chooses one in its own space, and nothing is left in the file system. */
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    p->in = (int)MUST_SYS(socket(AF_UNIX, SOCK_STREAM, 0));
    MUST_SYS(bind(p->in, (struct sockaddr *)&address, sizeof(sa_family_t)));
    MUST_SYS(listen(p->in, 8));
}

SHARED_HELPER void open_place(struct place *p, enum object object)
{
    int ends[2] = { -1, -1 };
    memset(p, 0, sizeof *p);
    p->object = object;
    p->in = p->out = p->set = -1;
    switch (object) {
    case SET:
    case PIPE:
        MUST_SYS(pipe(ends));
        break;
    case SOCKET:
        MUST_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
        break;
    case EVENT:
        ends[0] = ends[1] = (int)MUST_SYS(eventfd(0, 0));
        break;
    case LISTENER:
        open_listener(p);
        return;
    default:
        break;
    }
    p->in = ends[0];
    p->out = ends[1];
    if (object == SET) {
        struct epoll_event e = { .events = EPOLLIN, .data.u32 = 7 };
        p->set = (int)MUST_SYS(epoll_create1(0));
        MUST_SYS(epoll_ctl(p->set, EPOLL_CTL_ADD, p->in, &e));
    }
    MUST_SYS(sem_init(&p->semaphore, 0, 0));
    MUST(pthread_mutex_init(&p->mutex, NULL));
    MUST(pthread_cond_init(&p->condition, NULL));
    MUST(pthread_barrier_init(&p->barrier, NULL, 2));
    if (object == BARRIER || object == JOIN || object == MUTEX) {
        MUST(pthread_create(&p->agent, NULL, act, p));
        while (!__atomic_load_n(&p->has_agent, __ATOMIC_SEQ_CST))
            sched_yield();
    }
}

/* Ends one wait. */
SHARED_HELPER void end_wait(struct place *p)
{
    switch (p->object) {
    case EVENT: {
        uint64_t one = 1;
        MUST_SYS(write(p->out, &one, sizeof one));
        break;
    }
    case PIPE:
    case SET:
    case SOCKET:
        MUST_SYS(write(p->out, "x", 1));
        break;
    case LISTENER: {
        struct sockaddr_un address;
        socklen_t length = sizeof address;
        int fd = (int)MUST_SYS(socket(AF_UNIX, SOCK_STREAM, 0));
        MUST_SYS(getsockname(p->in, (struct sockaddr *)&address, &length));
        MUST_SYS(connect(fd, (struct sockaddr *)&address, length));
        close(fd);
        break;
    }
    case SEMAPHORE:
        MUST_SYS(sem_post(&p->semaphore));
        break;
    case CONDITION:
        MUST(pthread_mutex_lock(&p->mutex));
        p->flag = 1;
        MUST(pthread_cond_signal(&p->condition));
        MUST(pthread_mutex_unlock(&p->mutex));
        break;
    case BARRIER:
    case JOIN:
    case MUTEX:
        __atomic_store_n(&p->told, 1, __ATOMIC_SEQ_CST);
        break;
    case WORD:
        __atomic_store_n(&p->word, 1, __ATOMIC_SEQ_CST);
        MUST_SYS(syscall(SYS_futex, &p->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0));
        MUST_SYS(syscall(SYS_futex, &p->word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0));
        break;
    }
}

SHARED_HELPER void shut_place(struct place *p)
{
    __atomic_store_n(&p->told, 1, __ATOMIC_SEQ_CST);
    if (p->has_agent)
        MUST(pthread_join(p->agent, NULL));
    if (p->set >= 0)
        close(p->set);
    if (p->out >= 0 && p->out != p->in)
        close(p->out);
    if (p->in >= 0)
        close(p->in);
}

/* Waits until the thread sleeps in one system call for certain, or `over` is not zero. proc_pid_syscall(5) shows "running" for a
 * thread that polls, the same call with the same arguments for one that sleeps, and -1 for one that waits for a page. Where the
 * file is missing only time can tell. */
SHARED_HELPER void await_blocked_unless(const pid_t *tid, const int *over)
{
    char path[64], before[256] = "", now[256];
    while (__atomic_load_n(tid, __ATOMIC_SEQ_CST) == 0)
        sched_yield();
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", *tid);
    for (int same = 0; same < 2 && !__atomic_load_n(over, __ATOMIC_SEQ_CST);) {
        const struct timespec moment = { 0, 300000 };
        int fd = open(path, O_RDONLY);
        ssize_t n = fd < 0 ? -1 : read(fd, now, sizeof now - 1);
        close(fd);
        if (n < 0) {
            pause_ms(50);
            return;
        }
        now[n] = 0;
        same = now[0] >= '0' && now[0] <= '9' && strcmp(now, before) == 0 ? same + 1 : 0;
        strcpy(before, now);
        nanosleep(&moment, NULL);
    }
}

SHARED_HELPER void await_blocked(const pid_t *tid)
{
    static const int never;
    await_blocked_unless(tid, &never);
}

/* ---- Delays. ---- */

SHARED_HELPER double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

/* Burns the time: a sleep of a few microseconds takes fifty. */
SHARED_HELPER void burn_us(double us)
{
    for (double until = now_us() + us; now_us() < until;)
        __asm__ volatile("pause");
}

/* The moments of a wait at which something happens to it: every few microseconds while a thread may be polling, then
 * some when it sleeps for certain. */
static const int moments_us[] = { 0,  2,  4,  6,  8,  10, 13, 16, 20, 24, 28,  32,  36,  40,  44,  48,
                                  52, 56, 60, 66, 72, 80, 90, 95, 100, 110, 125, 150, 200, 400, 2000 };
#endif
