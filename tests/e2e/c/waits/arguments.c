/* Arguments that each wait refuses, and those that only look as if it should: the same answer, in the same order of checks. */
#include "table.h"
/* The compiler is right about each of these calls, and they are the purpose of this program. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#include <sys/resource.h>

#define BAD ((void *)8)
/* A call that answers -1 and sets errno; else its value. */
#define ROW_CALL(row, call)                                                   \
    do {                                                                      \
        errno = UNTOUCHED;                                                    \
        long result_ = (long)(call);                                          \
        line((row), "%ld %s", result_, result_ == -1 ? name_of(errno) : "-"); \
    } while (0)

static struct place p, s, e, l;
static struct timespec negative = { -1, 0 }, too_many = { 0, 1000000000 }, below = { 0, -1 }, none = { 0, 0 }, ms = { 0, 1000000 };

/* A page that can be read only, with these bytes at its beginning, and behind it one that cannot be read. */
static void *read_only(const void *bytes, size_t count)
{
    char *page = (char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, bytes, count);
    MUST_SYS(mprotect(page, 4096, PROT_READ));
    MUST_SYS(mprotect(page + 4096, 4096, PROT_NONE));
    return page;
}

/* A call that waits at most `ms` milliseconds, and whether it did. */
#define ROW_SLEEPS(row, ms, call)                                                                                 \
    do {                                                                                                          \
        struct timespec began_, ended_;                                                                           \
        clock_gettime(CLOCK_MONOTONIC, &began_);                                                                  \
        ROW_CALL((row), call);                                                                                    \
        clock_gettime(CLOCK_MONOTONIC, &ended_);                                                                  \
        long ns_ = (ended_.tv_sec - began_.tv_sec) * 1000000000 + ended_.tv_nsec - began_.tv_nsec;                \
        line("it slept first", "%d", ns_ >= (ms) * 1000000L);                                                     \
    } while (0)

static void polls(void)
{
    struct pollfd fds[3] = { { p.in, POLLIN, 0 }, { -1, POLLIN, 77 }, { 900, POLLIN, 0 } };
    ROW_CALL("poll of a bad pointer", poll(BAD, 1, 10));
    ROW_CALL("poll of nobody with a bad pointer", poll(BAD, 0, 1));
    ROW_CALL("poll of too many", poll(fds, 1u << 30, 10));
    ROW_CALL("poll of as many as nfds_t holds", poll(fds, -1, 10));
    ROW_CALL("poll of a number that is not open", poll(fds, 3, -1));
    line("its answers", "%d %d %d", fds[0].revents, fds[1].revents, fds[2].revents);
    ROW_CALL("poll of none but negative ones", poll(&fds[1], 1, 1));
    line("its answer", "%d", fds[1].revents);
    fds[0].events = 0;
    ROW_CALL("poll for no event", poll(fds, 1, 1));
    fds[0].events = POLLOUT;
    ROW_CALL("poll of a pipe's wrong end", poll(fds, 1, 1));
    ROW_CALL("ppoll, negative time", ppoll(fds, 1, &negative, NULL));
    ROW_CALL("ppoll, a second in nanoseconds", ppoll(fds, 1, &too_many, NULL));
    ROW_CALL("ppoll, negative nanoseconds", ppoll(fds, 1, &below, NULL));
    ROW_CALL("ppoll, bad time", syscall(SYS_ppoll, fds, 1, BAD, NULL, 8));
    ROW_CALL("ppoll, bad mask", syscall(SYS_ppoll, fds, 1, &none, BAD, 8));
    ROW_CALL("ppoll, size of the mask", syscall(SYS_ppoll, fds, 1, &none, fds, 7));
    ROW_CALL("ppoll of a bad pointer", ppoll(BAD, 1, &ms, NULL));
    /* The mask is read before the descriptors are looked at, and answers are written when the call ends. */
    struct pollfd ready = { s.out, POLLOUT, 0 }, silent = { p.in, POLLIN, 0 };
    ROW_CALL("ppoll of a ready one, bad mask", ppoll(&ready, 1, NULL, BAD));
    ROW_CALL("ppoll of a ready one and a time, bad mask", ppoll(&ready, 1, &ms, BAD));
    ROW_CALL("ppoll of a ready one, a mask that ends with its page",
             ppoll(&ready, 1, NULL, (void *)((char *)read_only("", 1) + 4092)));
    ROW_CALL("ppoll of a bad pointer, bad mask", ppoll(BAD, 1, NULL, BAD));
    ROW_SLEEPS("poll, answers cannot be written", 20, poll(read_only(&silent, sizeof silent), 1, 20));
    ROW_SLEEPS("ppoll under a mask, answers cannot be written", 20,
               ppoll(read_only(&silent, sizeof silent), 1, &(struct timespec){ 0, 20000000 }, &(sigset_t){ 0 }));
    ROW_CALL("poll of a ready one, the answer cannot be written", poll(read_only(&ready, sizeof ready), 1, -1));
    ROW_CALL("poll, time of INT_MIN", poll((struct pollfd[]){ { s.out, POLLOUT, 0 } }, 1, INT_MIN));
}

static void selects(void)
{
    fd_set set;
    struct timeval tv = { 0, 1000 };
    FD_ZERO(&set);
    ROW_CALL("select, negative number", select(-1, &set, NULL, NULL, &tv));
    ROW_CALL("select of more than can be open", select(1 << 20, NULL, NULL, NULL, &tv));
    line("the time that is left", "%ld %ld", (long)tv.tv_sec, (long)tv.tv_usec);
    tv = (struct timeval){ -1, 0 };
    ROW_CALL("select, negative time", select(0, NULL, NULL, NULL, &tv));
    tv = (struct timeval){ 0, -1 };
    ROW_CALL("select, negative microseconds", select(0, NULL, NULL, NULL, &tv));
    tv = (struct timeval){ 0, 1500000 };
    FD_SET(p.out, &set);
    ROW_CALL("select, a second and a half in microseconds", select(p.out + 1, NULL, &set, NULL, &tv));
    FD_ZERO(&set);
    FD_SET(60, &set);
    ROW_CALL("select of a number that is not open", select(61, &set, NULL, NULL, NULL));
    ROW_CALL("select of a bad pointer", select(10, BAD, NULL, NULL, &tv));
    FD_ZERO(&set);
    FD_SET(p.in, &set);
    tv = (struct timeval){ 0, 1000 };
    ROW_CALL("select that ends", select(p.in + 1, &set, NULL, NULL, &tv));
    line("its set, and the time that is left", "%d %ld %ld", !!FD_ISSET(p.in, &set), (long)tv.tv_sec, (long)tv.tv_usec);
    FD_ZERO(&set);
    FD_SET(p.out, &set);
    tv = (struct timeval){ 5, 0 };
    ROW_CALL("select that is ready at once", select(p.out + 1, NULL, &set, NULL, &tv));
    line("most of its time is left", "%d", tv.tv_sec == 4 || (tv.tv_sec == 5 && tv.tv_usec == 0));
    ROW_CALL("pselect, negative time", pselect(0, NULL, NULL, NULL, &negative, NULL));
    ROW_CALL("pselect, a second in nanoseconds", pselect(0, NULL, NULL, NULL, &too_many, NULL));
    FD_ZERO(&set);
    FD_SET(p.out, &set);
    ROW_CALL("pselect of a ready one, bad mask", pselect(p.out + 1, NULL, &set, NULL, NULL, BAD));
    line("its set", "%d", !!FD_ISSET(p.out, &set));
    ROW_CALL("pselect of a negative number, bad mask", pselect(-1, NULL, &set, NULL, NULL, BAD));
    ROW_CALL("select of a ready one, the answer cannot be written",
             select(p.out + 1, NULL, read_only(&set, sizeof set), NULL, NULL));
    FD_ZERO(&set);
    FD_SET(p.in, &set);
    tv = (struct timeval){ 0, 20000 };
    ROW_SLEEPS("select, answers cannot be written", 20, select(p.in + 1, read_only(&set, sizeof set), NULL, NULL, &tv));
    ROW_SLEEPS("pselect under a mask, answers cannot be written", 20,
               pselect(p.in + 1, read_only(&set, sizeof set), NULL, NULL, &(struct timespec){ 0, 20000000 }, &(sigset_t){ 0 }));
    struct timespec kept = ms;
    ROW_CALL("pselect that ends", pselect(0, NULL, NULL, NULL, &kept, NULL));
    line("its time is as it was", "%d", kept.tv_sec == 0 && kept.tv_nsec == 1000000);
}

static void sets(void)
{
    struct epoll_event events[4];
    ROW_CALL("epoll_wait for none", epoll_wait(e.set, events, 0, 1));
    ROW_CALL("epoll_wait for less than none", epoll_wait(e.set, events, -1, 1));
    ROW_CALL("epoll_wait for too many", epoll_wait(e.set, events, INT_MAX, 1));
    ROW_CALL("epoll_wait, a bad pointer and no event", epoll_wait(e.set, BAD, 1, 1));
    end_wait(&e);
    ROW_CALL("epoll_wait, a bad pointer and an event", epoll_wait(e.set, BAD, 1, 1));
    ROW_CALL("epoll_wait, room that cannot be written", epoll_wait(e.set, read_only("", 1), 1, -1));
    ROW_CALL("epoll_pwait, an event and a bad mask", epoll_pwait(e.set, events, 1, -1, BAD));
    ROW_CALL("epoll_pwait2, an event and a bad mask", epoll_pwait2(e.set, events, 1, NULL, BAD));
    ROW_CALL("epoll_pwait2, an event and a bad time", epoll_pwait2(e.set, events, 1, BAD, NULL));
    ROW_CALL("epoll_pwait2, an event and a negative time", epoll_pwait2(e.set, events, 1, &negative, NULL));
    ROW_CALL("epoll_pwait, an event and room for none", epoll_pwait(e.set, events, 0, -1, &(sigset_t){ 0 }));
    ROW_CALL("the event is still there", epoll_wait(e.set, events, 4, 1));
    MUST_SYS(read(e.in, e.bytes, 1));
    ROW_CALL("epoll_wait of a pipe", epoll_wait(e.in, events, 1, 1));
    ROW_CALL("epoll_wait of a number that is not open", epoll_wait(900, events, 1, -1));
    ROW_CALL("epoll_wait of a negative number", epoll_wait(-1, events, 1, -1));
    ROW_CALL("epoll_pwait, a bad mask", syscall(SYS_epoll_pwait, e.set, events, 1, 1, BAD, 8));
    ROW_CALL("epoll_pwait, size of the mask", syscall(SYS_epoll_pwait, e.set, events, 1, 1, events, 7));
    ROW_CALL("epoll_pwait2, negative time", epoll_pwait2(e.set, events, 1, &negative, NULL));
    ROW_CALL("epoll_pwait2, a second in nanoseconds", epoll_pwait2(e.set, events, 1, &too_many, NULL));
}

static void reads(void)
{
    struct iovec parts[2] = { { p.bytes, 4 }, { p.bytes + 4, 4 } };
    struct msghdr header = { .msg_iov = parts, .msg_iovlen = 2 };
    struct mmsghdr many = { .msg_hdr = header };
    struct sockaddr_un from;
    socklen_t length = sizeof from;
    char byte;
    ROW_CALL("read of a number that is not open", read(900, &byte, 1));
    ROW_CALL("read of a negative number", read(-1, &byte, 1));
    ROW_CALL("read of nothing", read(p.in, &byte, 0));
    ROW_CALL("read of the wrong end", read(p.out, &byte, 1));
    ROW_CALL("read of a listener", read(l.in, &byte, 1));
    ROW_CALL("read of a folder", read(open("/", O_RDONLY), &byte, 1));
    end_wait(&p);
    ROW_CALL("read to a bad pointer", read(p.in, BAD, 1));
    ROW_CALL("the byte is still there", read(p.in, &byte, 1));
    end_wait(&s);
    ROW_CALL("recv to a bad pointer", recv(s.in, BAD, 1, 0));
    ROW_CALL("the byte may still be there", recv(s.in, &byte, 1, MSG_DONTWAIT));
    ROW_CALL("readv of no part", readv(p.in, parts, 0));
    ROW_CALL("readv of too many parts", readv(p.in, parts, 1025));
    ROW_CALL("readv of less than none", readv(p.in, parts, -1));
    ROW_CALL("readv of a bad pointer", readv(p.in, BAD, 1));
    ROW_CALL("readv of parts that are too long together",
             readv(p.in, (struct iovec[]){ { &byte, SSIZE_MAX }, { &byte, SSIZE_MAX } }, 2));
    ROW_CALL("readv of no bytes", readv(p.in, (struct iovec[]){ { &byte, 0 } }, 1));
    ROW_CALL("eventfd_read of a pipe that is not open", eventfd_read(900, (eventfd_t *)p.bytes));
    int event = eventfd(1, EFD_NONBLOCK);
    ROW_CALL("read of an eventfd into four bytes", read(event, p.bytes, 4));
    ROW_CALL("read of an eventfd into sixteen", read(event, p.bytes, 16));
    ROW_CALL("read of an eventfd that is 0", read(event, p.bytes, 8));
    ROW_CALL("recv of a pipe", recv(p.in, &byte, 1, 0));
    ROW_CALL("recv of a number that is not open", recv(900, &byte, 1, 0));
    ROW_CALL("recv of a listener", recv(l.in, &byte, 1, 0));
    ROW_CALL("recv of nothing, without waiting", recv(s.in, &byte, 0, MSG_DONTWAIT));
    ROW_CALL("recv, out of band", recv(s.in, &byte, 1, MSG_OOB));
    ROW_CALL("recv, the queue of errors", recv(s.in, &byte, 1, MSG_ERRQUEUE | MSG_DONTWAIT));
    ROW_CALL("recvfrom, a bad address", recvfrom(s.in, &byte, 1, MSG_DONTWAIT, BAD, &length));
    end_wait(&s);
    length = (socklen_t)-1;
    ROW_CALL("recvfrom, a negative length", recvfrom(s.in, &byte, 1, MSG_DONTWAIT, (struct sockaddr *)&from, &length));
    ROW_CALL("recvmsg of a bad pointer", recvmsg(s.in, BAD, MSG_DONTWAIT));
    header.msg_iovlen = 1025;
    ROW_CALL("recvmsg of too many parts", recvmsg(s.in, &header, MSG_DONTWAIT));
    ROW_CALL("recvmmsg of none", recvmmsg(s.in, &many, 0, MSG_DONTWAIT, NULL));
    ROW_CALL("recvmmsg, negative time", recvmmsg(s.in, &many, 1, MSG_DONTWAIT, &negative));
    ROW_CALL("recvmmsg of a bad pointer", recvmmsg(s.in, BAD, 1, MSG_DONTWAIT, NULL));
    ROW_CALL("accept of a pipe", accept(p.in, NULL, NULL));
    ROW_CALL("accept of a connection", accept(s.in, NULL, NULL));
    ROW_CALL("accept of a number that is not open", accept(900, NULL, NULL));
    ROW_CALL("accept4, unknown flags", accept4(l.in, NULL, NULL, 1));
    end_wait(&l);
    ROW_CALL("accept, a bad length", accept(l.in, (struct sockaddr *)&from, BAD));
    /* The connection is lost with that error, so another one is needed. */
    MUST_SYS(fcntl(l.in, F_SETFL, O_NONBLOCK));
    ROW_CALL("accept where nobody is", accept(l.in, NULL, NULL));
    MUST_SYS(fcntl(l.in, F_SETFL, 0));
    struct rlimit limit, before;
    end_wait(&l);
    getrlimit(RLIMIT_NOFILE, &before);
    limit = before;
    limit.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &limit);
    ROW_CALL("accept, no more descriptors", accept(l.in, NULL, NULL));
    setrlimit(RLIMIT_NOFILE, &before);
    ROW_CALL("it was kept", accept(l.in, NULL, NULL) >= 0);
}

static void words(void)
{
    static int word = 5, other = 6;
    int *odd = (int *)((char *)&word + 1);
    struct timespec past = { 1, 0 };
    ROW_CALL("FUTEX_WAIT, another value", syscall(SYS_futex, &word, FUTEX_WAIT, 4, NULL, NULL, 0));
    ROW_CALL("FUTEX_WAIT private, another value", syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 4, NULL, NULL, 0));
    ROW_CALL("FUTEX_WAIT, another value and a limit", syscall(SYS_futex, &word, FUTEX_WAIT, 4, &ms, NULL, 0));
    ROW_CALL("FUTEX_WAIT, negative time", syscall(SYS_futex, &word, FUTEX_WAIT, 5, &negative, NULL, 0));
    ROW_CALL("FUTEX_WAIT, negative time and another value", syscall(SYS_futex, &word, FUTEX_WAIT, 4, &negative, NULL, 0));
    ROW_CALL("FUTEX_WAIT, a second in nanoseconds", syscall(SYS_futex, &word, FUTEX_WAIT, 5, &too_many, NULL, 0));
    ROW_CALL("FUTEX_WAIT, a bad time", syscall(SYS_futex, &word, FUTEX_WAIT, 5, BAD, NULL, 0));
    ROW_CALL("FUTEX_WAIT, a bad time and another value", syscall(SYS_futex, &word, FUTEX_WAIT, 4, BAD, NULL, 0));
    ROW_CALL("FUTEX_WAIT, a bad pointer", syscall(SYS_futex, BAD, FUTEX_WAIT, 5, &ms, NULL, 0));
    ROW_CALL("FUTEX_WAIT, no pointer", syscall(SYS_futex, NULL, FUTEX_WAIT_PRIVATE, 5, &ms, NULL, 0));
    ROW_CALL("FUTEX_WAIT, a misaligned word", syscall(SYS_futex, odd, FUTEX_WAIT, 5, &ms, NULL, 0));
    ROW_CALL("FUTEX_WAIT, a misaligned bad pointer", syscall(SYS_futex, (void *)9, FUTEX_WAIT, 5, &ms, NULL, 0));
    ROW_CALL("FUTEX_WAIT, its limit", syscall(SYS_futex, &word, FUTEX_WAIT, 5, &ms, NULL, 0));
    ROW_CALL("FUTEX_WAIT by the real time", syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_CLOCK_REALTIME, 4, &ms, NULL, 0));
    ROW_CALL("FUTEX_WAIT_BITSET, another value", syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 4, NULL, NULL, 1));
    ROW_CALL("FUTEX_WAIT_BITSET, no bit", syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 5, NULL, NULL, 0));
    ROW_CALL("FUTEX_WAIT_BITSET, no bit and another value", syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 4, NULL, NULL, 0));
    ROW_CALL("FUTEX_WAIT_BITSET, negative time and another value",
             syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 4, &negative, NULL, 1));
    ROW_CALL("FUTEX_WAIT_BITSET, a second in nanoseconds and another value",
             syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 4, &too_many, NULL, 1));
    ROW_CALL("FUTEX_WAIT_BITSET, a bad time and another value",
             syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 4, BAD, NULL, 1));
    ROW_CALL("FUTEX_WAIT_BITSET, in the past and another value",
             syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 4, &past, NULL, 1));
    ROW_CALL("FUTEX_WAIT_BITSET, in the past", syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 5, &past, NULL, 1));
    ROW_CALL("FUTEX_WAIT_REQUEUE_PI, another value",
             syscall(SYS_futex, &word, FUTEX_WAIT_REQUEUE_PI, 4, &past, &other, 0));
    ROW_CALL("FUTEX_WAIT_REQUEUE_PI, one word twice",
             syscall(SYS_futex, &word, FUTEX_WAIT_REQUEUE_PI, 5, &past, &word, 0));
    ROW_CALL("FUTEX_WAIT_REQUEUE_PI, in the past",
             syscall(SYS_futex, &word, FUTEX_WAIT_REQUEUE_PI, 5, &past, &other, 0));
    ROW_CALL("FUTEX_CMP_REQUEUE, another value", syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, 1, &other, 4));
    ROW_CALL("FUTEX_WAKE where nobody waits", syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0));
    ROW_CALL("FUTEX_WAKE, a misaligned word", syscall(SYS_futex, odd, FUTEX_WAKE, 1, NULL, NULL, 0));
    ROW_CALL("FUTEX_WAKE_BITSET, no bit", syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0));
    ROW_CALL("an operation that there is not", syscall(SYS_futex, &word, 99, 1, NULL, NULL, 0));
    ROW_CALL("no system call", syscall(9999, 1, 2, 3));
}

static void *end_at_once(void *id)
{
    __atomic_store_n((int *)id, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
    return NULL;
}

static void memory(void)
{
    pthread_barrier_t barrier;
    pthread_t self = pthread_self(), thread;
    struct timespec past = { 1, 0 };
    ROW_CALL("sem_timedwait, in the past", sem_timedwait(&p.semaphore, &past));
    ROW_CALL("sem_timedwait, negative time", sem_timedwait(&p.semaphore, &negative));
    ROW_CALL("sem_timedwait, a second in nanoseconds", sem_timedwait(&p.semaphore, &too_many));
    ROW_CALL("sem_clockwait, unknown clock", sem_clockwait(&p.semaphore, 99, &past));
    sem_post(&p.semaphore);
    ROW_CALL("sem_timedwait of a free one, invalid time", sem_timedwait(&p.semaphore, &too_many));
    sem_post(&p.semaphore);
    ROW_CALL("sem_timedwait of a free one, in the past", sem_timedwait(&p.semaphore, &past));
    MUST(pthread_mutex_lock(&p.mutex));
    ROW("pthread_cond_timedwait, in the past", pthread_cond_timedwait(&p.condition, &p.mutex, &past));
    ROW("pthread_cond_timedwait, a second in nanoseconds", pthread_cond_timedwait(&p.condition, &p.mutex, &too_many));
    ROW("pthread_cond_clockwait, unknown clock", pthread_cond_clockwait(&p.condition, &p.mutex, 99, &past));
    ROW("the mutex is held", pthread_mutex_trylock(&p.mutex));
    MUST(pthread_mutex_unlock(&p.mutex));
    ROW("pthread_barrier_init of none", pthread_barrier_init(&barrier, NULL, 0));
    ROW("pthread_barrier_init of too many", pthread_barrier_init(&barrier, NULL, 1u << 31));
    ROW("pthread_join of itself", pthread_join(self, NULL));
    open_place(&e, JOIN);
    ROW("pthread_tryjoin_np of one that runs", pthread_tryjoin_np(e.agent, NULL));
    ROW("pthread_timedjoin_np, in the past", pthread_timedjoin_np(e.agent, NULL, &past));
    /* libc checks some arguments also for a thread that has ended. */
    const struct { const char *row; clockid_t clock; struct timespec *until; } joins[] = {
        { "pthread_clockjoin_np of one that has ended, unknown clock", 99, &past }, { "the same without a time", 99, NULL },
        { "the same, a second in nanoseconds", CLOCK_REALTIME, &too_many }, { "the same, in the past", CLOCK_MONOTONIC, &past },
    };
    for (int i = 0; i < 4; i++) {
        int id = 0;
        MUST(pthread_create(&thread, NULL, end_at_once, &id));
        for (int seen; (seen = __atomic_load_n(&id, __ATOMIC_SEQ_CST)) == 0 || syscall(SYS_tgkill, getpid(), seen, 0) == 0;)
            pause_ms(1);
        ROW(joins[i].row, pthread_clockjoin_np(thread, NULL, joins[i].clock, joins[i].until));
    }
    pthread_attr_t detached;
    MUST(pthread_attr_init(&detached));
    MUST(pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED));
    static struct place idle;
    idle.object = JOIN;
    MUST(pthread_create(&thread, &detached, act, &idle));
    ROW("pthread_join of a detached one", pthread_join(thread, NULL));
    ROW("pthread_timedjoin_np of a detached one", pthread_timedjoin_np(thread, NULL, &past));
    idle.told = 1;
}

int main(void)
{
    open_place(&p, PIPE);
    open_place(&s, SOCKET);
    open_place(&e, SET);
    open_place(&l, LISTENER);
    polls();
    selects();
    sets();
    reads();
    words();
    memory();
    return 0;
}
