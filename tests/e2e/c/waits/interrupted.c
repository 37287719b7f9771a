/* Each wait, interrupted by a signal at each moment from its first microsecond on, with SA_RESTART and without.
 *
 * A timer of the waiting thread sends the signal. Another thread sends two more, each when the last one was handled and the waiting
 * thread sleeps for certain; then it ends the wait. So the answer depends on the wait alone: EINTR if a signal ends it, else
 * what its end answers. The first signal counts as lost if its handler ran between the entry and the return and the wait
 * went on until the second, where signals do end it. A few are lost without any library: the handler ran before the call
 * had begun. */
#include "table.h"

static struct place place;
static volatile int inside, handled, inside_first;
static int finished;
static pid_t waiter;
static pthread_t waiting;

static void handle(int number)
{
    (void)number;
    if (handled == 0)
        inside_first = inside;
    handled++;
}

static int is_finished(void)
{
    return __atomic_load_n(&finished, __ATOMIC_SEQ_CST);
}

/* Ends the wait after three signals, unless they have. */
static void *end_after_signals(void *nothing)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    const struct timespec moment = { 0, 100000 };
    for (int count = 1; count <= 3 && !is_finished(); count++) {
        if (count > 1)
            MUST(pthread_kill(waiting, SIGUSR1));
        while (handled < count && !is_finished())
            nanosleep(&moment, NULL);
        await_blocked_unless(&waiter, &finished);
    }
    end_wait(&place);
    return nothing;
}

struct outcome {
    long answer;
    int error, signals, first_was_inside;
};

static struct outcome interrupted_after(const struct wait *wait, timer_t timer, int us)
{
    pthread_t other;
    struct outcome outcome;
    open_place(&place, wait->object);
    handled = inside = inside_first = finished = 0;
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    MUST(pthread_sigmask(SIG_BLOCK, &blocked, &before));
    MUST(pthread_create(&other, NULL, end_after_signals, NULL));
    MUST(pthread_sigmask(SIG_SETMASK, &before, NULL));
    struct itimerspec times = { { 0, 0 }, { 0, 3000 + us * 1000L } };
    MUST_SYS(timer_settime(timer, 0, &times, NULL));
    inside = 1;
    errno = UNTOUCHED;
    outcome.answer = wait->call(&place);
    outcome.error = outcome.answer == -1 ? errno : 0;
    inside = 0;
    __atomic_store_n(&finished, 1, __ATOMIC_SEQ_CST);
    outcome.signals = handled;
    outcome.first_was_inside = inside_first;
    MUST(pthread_join(other, NULL));
    shut_place(&place);
    return outcome;
}

static void sweep(const struct wait *wait, timer_t timer, int flags)
{
    struct sigaction action = { .sa_handler = handle, .sa_flags = flags };
    char row[64];
    struct outcome first = { 0 };
    int others = 0, lost = 0, within = 0;
    MUST_SYS(sigaction(SIGUSR1, &action, NULL));
    for (unsigned m = 0; m < COUNT(moments_us); m++) {
        struct outcome now = interrupted_after(wait, timer, moments_us[m]);
        if (m == 0)
            first = now;
        else if (now.answer != first.answer || now.error != first.error)
            others++;
        if (now.first_was_inside) {
            within++;
            lost += now.error == EINTR && now.signals > 1;
        }
    }
    snprintf(row, sizeof row, "%s%s", wait->name, flags ? ", SA_RESTART" : "");
    line(row, "%ld %s, and %d others%s", first.answer, name_of(first.error), others,
         first.error != EINTR ? "" : lost * 2 > within ? ", first signal lost" : ", by the first signal");
}

int main(void)
{
    timer_t timer;
    waiter = gettid();
    waiting = pthread_self();
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    MUST_SYS(timer_create(CLOCK_MONOTONIC, &event, &timer));
    for (unsigned i = 0; i < COUNT(waits); i++) {
        sweep(&waits[i], timer, 0);
        sweep(&waits[i], timer, SA_RESTART);
    }
    return 0;
}
