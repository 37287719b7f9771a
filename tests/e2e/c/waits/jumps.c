/* Each system call that waits, left by a jump out of a handler at each moment from its first microsecond on. The same
 * wait then works as if there had been none, and so does the mask that ppoll and its kin had changed. */
#include "table.h"

static sigjmp_buf outside;
static volatile int inside;

static void handle(int number)
{
    (void)number;
    if (inside) {
        inside = 0;
        siglongjmp(outside, 1);
    }
}

static long jump_after(const struct wait *wait, timer_t timer, int us, int *left)
{
    static struct place place;
    struct itimerspec times = { { 0, 1000000 }, { 0, 3000 + us * 1000L } };
    open_place(&place, wait->object);
    MUST_SYS(timer_settime(timer, 0, &times, NULL));
    if (sigsetjmp(outside, 1) == 0) {
        inside = 1;
        wait->call(&place);
        inside = 0;
    } else {
        ++*left;
    }
    memset(&times, 0, sizeof times);
    MUST_SYS(timer_settime(timer, 0, &times, NULL));
    end_wait(&place);
    long answer = wait->call(&place);
    shut_place(&place);
    return answer;
}

/* The argument says how often each moment is tried. */
int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    timer_t timer;
    struct sigaction action = { .sa_handler = handle };
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    MUST_SYS(sigaction(SIGUSR1, &action, NULL));
    MUST_SYS(timer_create(CLOCK_MONOTONIC, &event, &timer));
    for (unsigned i = 0; i < COUNT(waits); i++) {
        int left = 0, others = 0;
        long first = 0;
        if (!(waits[i].traits & BARE))
            continue;
        for (int round = 0; round < rounds; round++)
            for (unsigned m = 0; m < COUNT(moments_us); m++) {
                long answer = jump_after(&waits[i], timer, moments_us[m], &left);
                if (round == 0 && m == 0)
                    first = answer;
                others += answer != first;
            }
        line(waits[i].name, "left %d times; then %ld, and %d others", left, first, others);
    }
    return 0;
}
