/* Waits that end by their time limit only: each returns when its limit is over, and never before. With the argument "late"
 * it prints by how many microseconds a wait of LATE_NS was late, which only a comparison can judge. */
#include "table.h"

static struct place pipe_, socket_, listener, set, event, other;

/* A limit of so many nanoseconds. */
static long limited(int call, long ns)
{
    struct timespec span = { ns / 1000000000, ns % 1000000000 }, until, mono;
    struct timeval tv = { ns / 1000000000, ns / 1000 % 1000000 };
    struct pollfd fd = { pipe_.in, POLLIN, 0 };
    struct epoll_event e;
    fd_set bits;
    char byte;
    FD_ZERO(&bits);
    FD_SET(event.in, &bits);
    clock_gettime(CLOCK_REALTIME, &until);
    clock_gettime(CLOCK_MONOTONIC, &mono);
    for (struct timespec *t = &until; t != NULL; t = t == &until ? &mono : NULL) {
        t->tv_sec += (t->tv_nsec + ns) / 1000000000;
        t->tv_nsec = (t->tv_nsec + ns) % 1000000000;
    }
    switch (call) {
    case 0: return poll(&fd, 1, (int)(ns / 1000000));
    case 1: return poll(NULL, 0, (int)(ns / 1000000));
    case 2: return ppoll(&fd, 1, &span, NULL);
    case 3: return select(event.in + 1, &bits, NULL, NULL, &tv);
    case 4: return select(0, NULL, NULL, NULL, &tv);
    case 5: return pselect(event.in + 1, &bits, NULL, NULL, &span, NULL);
    case 6: return epoll_wait(set.set, &e, 1, (int)(ns / 1000000));
    case 7: return epoll_pwait(set.set, &e, 1, (int)(ns / 1000000), NULL);
    case 8: return epoll_pwait2(set.set, &e, 1, &span, NULL);
    case 9:
        MUST_SYS(setsockopt(socket_.in, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
        return ns == 0 ? recv(socket_.in, &byte, 1, MSG_DONTWAIT) : recv(socket_.in, &byte, 1, 0);
    case 10:
        MUST_SYS(setsockopt(socket_.in, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
        return ns == 0 ? recv(socket_.in, &byte, 1, MSG_DONTWAIT) : read(socket_.in, &byte, 1);
    case 11:
        MUST_SYS(setsockopt(listener.in, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
        return ns == 0 ? poll(NULL, 0, 0) : accept(listener.in, NULL, NULL);
    case 12: return sem_timedwait(&other.semaphore, &until);
    case 13: return sem_clockwait(&other.semaphore, CLOCK_MONOTONIC, &mono);
    case 14:
        pthread_mutex_lock(&other.mutex);
        errno = pthread_cond_timedwait(&other.condition, &other.mutex, &until);
        pthread_mutex_unlock(&other.mutex);
        return -1;
    case 15:
        pthread_mutex_lock(&other.mutex);
        errno = pthread_cond_clockwait(&other.condition, &other.mutex, CLOCK_MONOTONIC, &mono);
        pthread_mutex_unlock(&other.mutex);
        return -1;
    case 16: return minus_one(pthread_timedjoin_np(other.agent, NULL, &until));
    case 17: return minus_one(pthread_clockjoin_np(other.agent, NULL, CLOCK_MONOTONIC, &mono));
    case 18: return syscall(SYS_futex, &other.word, FUTEX_WAIT, 0, &span, NULL, 0);
    case 19: return syscall(SYS_futex, &other.word, FUTEX_WAIT_BITSET_PRIVATE, 0, &mono, NULL, 2);
    case 20: return syscall(SYS_futex, &other.word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &until, NULL, ~0u);
    default: return -2;
    }
}

/* The clock that the limit is measured by. Calls that count whole milliseconds say so. */
static const struct {
    const char *name;
    clockid_t clock;
    int is_coarse;
} calls[] = {
    { "poll", CLOCK_MONOTONIC, 1 }, { "poll of nothing", CLOCK_MONOTONIC, 1 }, { "ppoll", CLOCK_MONOTONIC, 0 },
    { "select", CLOCK_MONOTONIC, 0 }, { "select of nothing", CLOCK_MONOTONIC, 0 }, { "pselect", CLOCK_MONOTONIC, 0 },
    { "epoll_wait", CLOCK_MONOTONIC, 1 }, { "epoll_pwait", CLOCK_MONOTONIC, 1 }, { "epoll_pwait2", CLOCK_MONOTONIC, 0 },
    /* SO_RCVTIMEO counts in ticks of the kernel, which may end a wait earlier by one. */
    { "recv", CLOCK_MONOTONIC, 2 }, { "read", CLOCK_MONOTONIC, 2 }, { "accept", CLOCK_MONOTONIC, 2 },
    { "sem_timedwait", CLOCK_REALTIME, 0 }, { "sem_clockwait", CLOCK_MONOTONIC, 0 },
    { "pthread_cond_timedwait", CLOCK_REALTIME, 0 }, { "pthread_cond_clockwait", CLOCK_MONOTONIC, 0 },
    { "pthread_timedjoin_np", CLOCK_REALTIME, 0 }, { "pthread_clockjoin_np", CLOCK_MONOTONIC, 0 },
    { "FUTEX_WAIT", CLOCK_MONOTONIC, 0 }, { "FUTEX_WAIT_BITSET", CLOCK_MONOTONIC, 0 },
    { "FUTEX_WAIT_BITSET by the real time", CLOCK_REALTIME, 0 },
};

static double clock_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void never_early(void)
{
    static const long spans_ns[] = { 0, 1000, 20000, 60000, 1000000, 20000000 };
    for (unsigned i = 0; i < COUNT(calls); i++)
        for (unsigned s = 0; s < COUNT(spans_ns); s++) {
            char row[96];
            int early = 0, answer_changes = 0, first_error = 0;
            long first = 0, ns = spans_ns[s], times = ns < 1000000 ? 20 : ns < 20000000 ? 5 : 2;
            /* Calls that count in milliseconds take none from a microsecond. */
            double least_us = calls[i].is_coarse == 1 ? (double)(ns / 1000000) * 1e3 : ns / 1e3;
            for (int n = 0; n < times; n++) {
                double before = clock_us(calls[i].clock);
                errno = UNTOUCHED;
                long answer = limited((int)i, ns);
                int error = answer == -1 ? errno : 0;
                early += calls[i].is_coarse < 2 && clock_us(calls[i].clock) - before < least_us - 0.5;
                if (n == 0) {
                    first = answer;
                    first_error = error;
                }
                answer_changes += answer != first || error != first_error;
            }
            snprintf(row, sizeof row, "%s, %ld us", calls[i].name, ns / 1000);
            line(row, "%ld %s, too early %d, other answers %d", first, name_of(first_error), early, answer_changes);
        }
}

/* Long against a tick of the kernel, and against the longest poll. */
enum { LATE_NS = 40000000 };

static void lateness(void)
{
    for (unsigned i = 0; i < COUNT(calls); i++) {
        double before = now_us();
        limited((int)i, LATE_NS);
        line(calls[i].name, "%.0f", now_us() - before - LATE_NS / 1e3);
    }
}

int main(int argc, char **argv)
{
    open_place(&pipe_, PIPE);
    open_place(&socket_, SOCKET);
    open_place(&listener, LISTENER);
    open_place(&set, SET);
    open_place(&event, EVENT);
    open_place(&other, JOIN);
    if (argc > 1 && strcmp(argv[1], "late") == 0)
        lateness();
    else
        never_early();
    shut_place(&other);
    return 0;
}
