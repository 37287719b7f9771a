/* POSIX semaphores. */
#include "row.h"
#include <limits.h>

static sem_t *shared;
static sem_t private_one;
static int handled;

static int wait_once(void *s)
{
    int result = sem_wait(s);
    return result == 0 ? 0 : errno;
}

static void row_value(const char *row, sem_t *s)
{
    int value = -1;
    ROW_ERRNO("getvalue", sem_getvalue(s, &value));
    line(row, "%d", value);
}

static void calls(sem_t *s)
{
    const struct timespec past = { 1, 0 }, bad = { 1, 1000000000 };
    ROW_ERRNO("wait", sem_wait(s));
    ROW_ERRNO("trywait", sem_trywait(s));
    ROW_ERRNO("trywait at zero", sem_trywait(s));
    ROW_ERRNO("timedwait, past", sem_timedwait(s, &past));
    ROW_ERRNO("timedwait, bad nsec", sem_timedwait(s, &bad));
    ROW_ERRNO("clockwait, bad nsec", sem_clockwait(s, CLOCK_MONOTONIC, &bad));
    ROW_ERRNO("clockwait, bad clock", sem_clockwait(s, 77, &past));
    ROW_TIMED("timedwait", CLOCK_REALTIME, 20, sem_timedwait(s, &until) == -1 ? ETIMEDOUT : 0);
    ROW_TIMED("clockwait", CLOCK_MONOTONIC, 20, sem_clockwait(s, CLOCK_MONOTONIC, &until) == -1 ? ETIMEDOUT : 0);
    row_value("value", s);
    struct job waiter;
    start(&waiter, wait_once, s);
    await_asleep(&waiter);
    row_value("value with a waiter", s);
    ROW_ERRNO("post to a waiter", sem_post(s));
    row_job("the waiter", &waiter);
    ROW_ERRNO("post", sem_post(s));
    ROW_ERRNO("timedwait above zero, bad nsec", sem_timedwait(s, &bad));
    for (int i = 0; i < 3; i++)
        ROW_ERRNO("post", sem_post(s));
    row_value("value", s);
    row_elsewhere("another takes one", wait_once, s);
    ROW_ERRNO("trywait", sem_trywait(s));
    ROW_ERRNO("trywait", sem_trywait(s));
}

static void limits(void)
{
    sem_t s;
    ROW_ERRNO("init too large", sem_init(&s, 0, (unsigned)SEM_VALUE_MAX + 1));
    ROW_ERRNO("init at the limit", sem_init(&s, 0, SEM_VALUE_MAX));
    ROW_ERRNO("post at the limit", sem_post(&s));
    ROW_ERRNO("wait", sem_wait(&s));
    ROW_ERRNO("post to the limit", sem_post(&s));
    ROW_ERRNO("post at the limit", sem_post(&s));
}

/* ---- Signals and cancellation. ---- */

static void post_in_handler(int signal)
{
    (void)signal;
    int error = errno;
    sem_post(&private_one);
    errno = error;
}

static void note_in_handler(int signal)
{
    (void)signal;
    __atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static void signals(void)
{
    struct sigaction action = { .sa_handler = post_in_handler };
    struct job waiter;
    MUST_SYS(sem_init(&private_one, 0, 0));
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 100; i++)
        raise(SIGUSR1);
    row_value("posted by a handler", &private_one);
    for (int i = 0; i < 100; i++)
        MUST_SYS(sem_wait(&private_one));
    start(&waiter, wait_once, &private_one);
    await_asleep(&waiter);
    raise(SIGUSR1);
    row_job("woken by a handler", &waiter);

    action.sa_handler = note_in_handler;
    sigaction(SIGUSR2, &action, NULL);
    start(&waiter, wait_once, &private_one);
    await_asleep(&waiter);
    MUST(pthread_kill(waiter.thread, SIGUSR2));
    row_job("interrupted", &waiter);
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, NULL);
    start(&waiter, wait_once, &private_one);
    await_asleep(&waiter);
    MUST(pthread_kill(waiter.thread, SIGUSR2));
    await_value(&handled, 2);
    await_asleep(&waiter);
    MUST_SYS(sem_post(&private_one));
    row_job("interrupted, restarted", &waiter);
}

static void *wait_for_good(void *timed)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 60000);
    for (;;)
        if (timed != NULL)
            sem_timedwait(&private_one, &until);
        else
            sem_wait(&private_one);
    return NULL;
}

static void cancelled(void)
{
    for (int timed = 0; timed < 2; timed++)
        for (int early = 0; early < 2; early++) {
            pthread_t thread;
            void *value;
            MUST(pthread_create(&thread, NULL, wait_for_good, timed ? &private_one : NULL));
            if (!early)
                pause_ms(10);
            MUST(pthread_cancel(thread));
            MUST(pthread_join(thread, &value));
            line("cancelled in a wait", "%s", value == PTHREAD_CANCELED ? "yes" : "no");
        }
    row_value("value after it", &private_one);
}

/* ---- Several. ---- */

static sem_t items, room;
static long sum;

static void *produce(void *unused)
{
    (void)unused;
    for (int i = 0; i < 2000; i++) {
        MUST_SYS(sem_wait(&room));
        MUST_SYS(sem_post(&items));
    }
    return NULL;
}

static void *consume(void *unused)
{
    (void)unused;
    for (int i = 0; i < 2000; i++) {
        while (i % 8 == 0 && sem_trywait(&items) == -1)
            sched_yield();
        if (i % 8 != 0)
            MUST_SYS(sem_wait(&items));
        __atomic_add_fetch(&sum, 1, __ATOMIC_SEQ_CST);
        MUST_SYS(sem_post(&room));
    }
    return NULL;
}

static void through_a_queue(void)
{
    pthread_t threads[4];
    MUST_SYS(sem_init(&items, 0, 0));
    MUST_SYS(sem_init(&room, 0, 16));
    for (int i = 0; i < 4; i++)
        MUST(pthread_create(&threads[i], NULL, i % 2 ? produce : consume, NULL));
    for (int i = 0; i < 4; i++)
        MUST(pthread_join(threads[i], NULL));
    line("consumed", "%ld", sum);
    row_value("items", &items);
    row_value("room", &room);
}

static void named(void)
{
    char name[64];
    snprintf(name, sizeof name, "/unspin-e2e-%d", (int)getpid());
    line("open what is not there", "%s", sem_open(name, 0) == SEM_FAILED ? name_of(errno) : "opened");
    sem_t *one = sem_open(name, O_CREAT | O_EXCL, 0600, 2);
    line("open", "%s", one == SEM_FAILED ? name_of(errno) : "opened");
    if (one == SEM_FAILED)
        return;
    sem_t *same = sem_open(name, 0);
    line("open again", "%s", same == one ? "the same" : "another");
    calls(one);
    IN_CHILD("a child posts", ROW_ERRNO("post in the child", sem_post(one)));
    row_value("after the child", one);
    ROW_ERRNO("close", sem_close(same));
    ROW_ERRNO("unlink", sem_unlink(name));
    ROW_ERRNO("unlink again", sem_unlink(name));
    ROW_ERRNO("trywait after unlink", sem_trywait(one));
    ROW_ERRNO("close", sem_close(one));
}

int main(void)
{
    sem_t s;
    ROW_ERRNO("init", sem_init(&s, 0, 2));
    calls(&s);
    ROW_ERRNO("destroy", sem_destroy(&s));
    limits();
    shared = shared_page();
    ROW_ERRNO("init shared", sem_init(shared, 1, 2));
    calls(shared);
    fflush(stdout);
    pid_t child = (pid_t)MUST_SYS(fork());
    if (child == 0)
        _exit(sem_wait(shared) != 0);
    pause_ms(5);
    ROW_ERRNO("post to a child", sem_post(shared));
    row_child("the waiting child", child);
    signals();
    cancelled();
    through_a_queue();
    named();
    return 0;
}
