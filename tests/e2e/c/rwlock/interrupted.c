/* Locks that are made anew while a thread holds them, and signal handlers that come between the instructions of a call. POSIX leaves
 * all of it undefined; glibc's locks bear it. */
#include "expect.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void read_often(void)
{
    for (int i = 0; i < 1000; i++)
        HOLDS(rd_unlock(&lock) == 0);
}

/* ---- A lock that is held for reading is made anew. What was known about it is void. ---- */

static int make_anew(void *l) { return pthread_rwlock_init((pthread_rwlock_t *)l, NULL); }

static int zero(void *l)
{
    memset(l, 0, sizeof(pthread_rwlock_t));
    return 0;
}

static void renewed(int (*renew)(void *))
{
    read_often();
    EXPECT(0, rd(&lock));
    EXPECT(0, renew(&lock));
    EXPECT(0, wr(&lock));
    EXPECT(0, unlock(&lock));
    EXPECT(0, elsewhere(trywr_unlock, &lock));
    EXPECT(0, elsewhere(rd_unlock, &lock));

    read_often();
    EXPECT(0, rd(&lock));
    EXPECT(0, renew(&lock));
    EXPECT(0, trywr(&lock));
    EXPECT(0, unlock(&lock));
    EXPECT(0, elsewhere(wr_unlock, &lock));
}

/* ---- A handler reads the lock that the program reads, at any moment. ---- */

static volatile sig_atomic_t handled;

static void read_in_handler(int number)
{
    int error = errno;
    (void)number;
    HOLDS(rd_unlock(&lock) == 0);
    handled++;
    errno = error;
}

static void handler_reads(int times)
{
    struct sigaction action = {.sa_handler = read_in_handler, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    struct itimerspec often = {{0, 20000}, {0, 20000}};
    timer_t timer;
    MUST_SYS(sigaction(SIGALRM, &action, NULL));
    MUST_SYS(timer_create(CLOCK_MONOTONIC, &event, &timer));
    MUST_SYS(timer_settime(timer, 0, &often, NULL));
    while (handled < times)
        read_often();
    MUST_SYS(timer_delete(timer));
    signal(SIGALRM, SIG_IGN);
    EXPECT(0, trywr_unlock(&lock));
    EXPECT(0, elsewhere(wr_unlock, &lock));
}

/* ---- A handler forks in a writer that waits. The wait ends in both processes, and no wake-up is lost in the child. ---- */

static volatile pid_t child = -1;

static void fork_in_handler(int number)
{
    int error = errno;
    (void)number;
    child = fork();
    errno = error;
}

static void *write_later(void *unused)
{
    (void)unused;
    HOLDS(wr_unlock(&lock) == 0);
    return NULL;
}

static void forks_in_a_wait(void)
{
    struct itimerval soon = {{0, 0}, {0, 50000}};
    int status;
    read_often();
    signal(SIGALRM, fork_in_handler);
    EXPECT(0, rd(&lock));
    MUST_SYS(setitimer(ITIMER_REAL, &soon, NULL));
    for (struct timespec until; child == -1;) {
        until = in_ms(CLOCK_REALTIME, 200);
        HOLDS(pthread_rwlock_timedwrlock(&lock, &until) == ETIMEDOUT);
    }
    HOLDS(unlock(&lock) == 0);
    if (child != 0) {
        MUST_SYS(waitpid(child, &status, 0));
        SAME(0, status);
        return;
    }
    for (int i = 0; i < 3; i++) {
        pthread_t writer;
        read_often();
        HOLDS(rd(&lock) == 0);
        MUST(pthread_create(&writer, NULL, write_later, NULL));
        pause_ms(20);
        HOLDS(unlock(&lock) == 0);
        MUST(pthread_join(writer, NULL));
    }
    _exit(0);
}

int main(int count, char **arguments)
{
    renewed(make_anew);
    renewed(zero);
    handler_reads(count > 1 ? atoi(arguments[1]) : 2000);
    forks_in_a_wait();
    return 0;
}
