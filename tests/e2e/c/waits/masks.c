/* The signal masks of ppoll, pselect, epoll_pwait and epoll_pwait2: a signal that they unblock ends the wait, a signal that
 * they block does not. The handler has run before the call returns, and the caller's mask is restored. */
#include "table.h"

static struct place place;
static volatile int handled, usr2_in_handler;

static void handle(int number)
{
    sigset_t now;
    (void)number;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    usr2_in_handler = sigismember(&now, SIGUSR2);
    handled++;
}

enum { CALLS = 4 };
static const char *const names[CALLS] = { "ppoll", "pselect", "epoll_pwait", "epoll_pwait2" };

/* The call with a limit in nanoseconds, -1 for none. */
static long masked(int call, long ns, const sigset_t *mask)
{
    struct timespec span = { ns / 1000000000, ns % 1000000000 }, *limit = ns < 0 ? NULL : &span;
    struct pollfd fd = { place.in, POLLIN, 0 };
    struct epoll_event e;
    fd_set set;
    FD_ZERO(&set);
    FD_SET(place.in, &set);
    switch (call) {
    case 0:
        return ppoll(&fd, 1, limit, mask);
    case 1:
        return pselect(place.in + 1, &set, NULL, NULL, limit, mask);
    case 2:
        return epoll_pwait(place.set, &e, 1, ns < 0 ? -1 : (int)(ns / 1000000), mask);
    default:
        return epoll_pwait2(place.set, &e, 1, limit, mask);
    }
}

static void row(int call, const char *what, long answer)
{
    char name[96];
    int error = errno;
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    snprintf(name, sizeof name, "%s, %s", names[call], what);
    line(name, "%ld %s, handled %d; outside: usr1 %s, usr2 %s", answer, answer == -1 ? name_of(error) : "-", handled,
         sigismember(&now, SIGUSR1) ? "blocked" : "open", sigismember(&now, SIGUSR2) ? "blocked" : "open");
    handled = 0;
}

static void fill(void)
{
    MUST_SYS(write(place.out, "x", 1));
}

static void drain(void)
{
    char byte;
    MUST_SYS(read(place.in, &byte, 1));
}

static void block(int number, int how)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    MUST(pthread_sigmask(how, &one, NULL));
}

static void pending(int call)
{
    sigset_t none, usr1, usr2;
    sigemptyset(&none);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    block(SIGUSR1, SIG_BLOCK);

    raise(SIGUSR1);
    row(call, "pending, opened", masked(call, -1, &none));
    raise(SIGUSR1);
    row(call, "pending, opened, usr2 blocked", masked(call, -1, &usr2));
    line("in the handler", "usr2 %s", usr2_in_handler ? "blocked" : "open");
    raise(SIGUSR1);
    row(call, "pending, opened, limit of nothing", masked(call, 0, &none));
    raise(SIGUSR1);
    row(call, "pending, opened, limit of 20 ms", masked(call, 20000000, &none));
    fill();
    raise(SIGUSR1);
    row(call, "pending, opened, ready", masked(call, -1, &none));
    drain();
    masked(call, 0, &none); /* takes it, if it is pending still */
    row(call, "afterwards", 0);
    raise(SIGUSR1);
    row(call, "pending, blocked inside", masked(call, 3000000, &usr1));
    row(call, "pending, no mask", masked(call, 3000000, NULL));
    block(SIGUSR1, SIG_UNBLOCK);
    row(call, "then opened", 0);
}

/* A signal at each moment of the wait. */
static void sweep(int call, timer_t timer)
{
    sigset_t none, usr1;
    sigemptyset(&none);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    int ended = 0, late = 0, timed_out = 0, unhandled = 0;
    for (unsigned m = 0; m < COUNT(moments_us); m++) {
        struct itimerspec times = { { 0, 0 }, { 0, 1000 + moments_us[m] * 1000L } };
        block(SIGUSR1, SIG_BLOCK);
        MUST_SYS(timer_settime(timer, 0, &times, NULL));
        ended += masked(call, -1, &none) == -1 && errno == EINTR;
        late += handled != 1;
        handled = 0;
        block(SIGUSR1, SIG_UNBLOCK);
        MUST_SYS(timer_settime(timer, 0, &times, NULL));
        timed_out += masked(call, 4000000, &usr1) == 0;
        while (!handled && times.it_value.tv_nsec++ < 2000000)
            sched_yield();
        unhandled += handled != 1;
        handled = 0;
    }
    line(names[call], "opened inside: ended %d, without handler %d; blocked inside: timed out %d, without handler %d", ended,
         late, timed_out, unhandled);
}

int main(void)
{
    timer_t timer;
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    MUST_SYS(sigaction(SIGUSR1, &action, NULL));
    MUST_SYS(timer_create(CLOCK_MONOTONIC, &event, &timer));
    open_place(&place, SET);
    for (int call = 0; call < CALLS; call++) {
        pending(call);
        sweep(call, timer);
    }
    shut_place(&place);
    return 0;
}
