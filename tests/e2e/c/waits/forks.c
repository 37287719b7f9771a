/* fork, vfork and exec while other threads poll and sleep. With an argument: what is executed. */
#include "table.h"

enum { CHILDREN = 60 };

extern char **environ;
static volatile int stop;
static volatile long passed;

/* Two threads that pass a byte to and fro, so that at any time one of them is polling or on its way to sleep. */
static int there[2], back[2];

static void *answer(void *nothing)
{
    char byte;
    while (read(there[0], &byte, 1) == 1)
        MUST_SYS(write(back[1], &byte, 1));
    return nothing;
}

static void *ask(void *nothing)
{
    struct pollfd fd = { back[0], POLLIN, 0 };
    char byte = 'x';
    while (!stop) {
        MUST_SYS(write(there[1], &byte, 1));
        MUST_SYS(poll(&fd, 1, -1));
        MUST_SYS(read(back[0], &byte, 1));
        passed++;
    }
    close(there[1]);
    return nothing;
}

static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *post(void *us)
{
    burn_us((double)(intptr_t)us);
    sem_post(&semaphore);
    return NULL;
}

/* Every sort of wait, in a process of one thread and then of two. */
static int waits_work(void)
{
    struct timespec until;
    struct pollfd fd;
    int ends[2], word = 0;
    pthread_t thread;
    MUST_SYS(pipe(ends));
    fd = (struct pollfd){ ends[0], POLLIN, 0 };
    if (poll(&fd, 1, 1) != 0)
        return 1;
    MUST_SYS(write(ends[1], "x", 1));
    if (poll(&fd, 1, -1) != 1)
        return 2;
    until = in_ms(CLOCK_REALTIME, 1);
    if (sem_timedwait(&semaphore, &until) != -1 || errno != ETIMEDOUT)
        return 3;
    until = in_ms(CLOCK_REALTIME, 1);
    pthread_mutex_lock(&mutex);
    if (pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT)
        return 4;
    pthread_mutex_unlock(&mutex);
    if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &(struct timespec){ 0, 1000 }, NULL, 0) != -1 || errno != ETIMEDOUT)
        return 5;
    MUST(pthread_create(&thread, NULL, post, (void *)30));
    if (sem_wait(&semaphore) != 0 || pthread_join(thread, NULL) != 0)
        return 6;
    return 0;
}

static void count(const char *row, int good)
{
    line(row, "%d of %d", good, CHILDREN);
}

static int ended_with(pid_t child, int code)
{
    int status = -1;
    MUST_SYS(waitpid(child, &status, 0));
    return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

static void forks(void)
{
    int good = 0;
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = (pid_t)MUST_SYS(fork());
        if (child == 0)
            _exit(waits_work());
        good += ended_with(child, 0);
    }
    count("fork", good);
}

static void executes(int by_vfork)
{
    volatile int good = 0;
    char *const arguments[] = { "forks", "again", NULL };
    for (volatile int i = 0; i < CHILDREN; i++) {
        pid_t child = by_vfork ? vfork() : fork();
        if (child == 0) {
            execve("/proc/self/exe", arguments, environ);
            _exit(98);
        }
        good += ended_with(child, 42);
    }
    count(by_vfork ? "vfork and exec" : "fork and exec", good);
}

/* A child of vfork that waits itself, in its parent's memory. */
static void waits_in_vfork(void)
{
    volatile int good = 0;
    for (volatile int i = 0; i < CHILDREN; i++) {
        pid_t child = vfork();
        if (child == 0) {
            struct pollfd fd = { 0, 0, 0 };
            _exit(poll(&fd, 1, 1) == 0 && poll(NULL, 0, 1) == 0 ? 7 : 8);
        }
        good += ended_with(child, 7);
    }
    count("vfork and poll", good);
}

int main(int argc, char **argv)
{
    (void)argv;
    MUST_SYS(sem_init(&semaphore, 0, 0));
    if (argc > 2)
        return line("after exec", "%d", waits_work()), 0;
    if (argc > 1)
        return waits_work() == 0 ? 42 : 43;
    pthread_t threads[2];
    MUST_SYS(pipe2(there, O_CLOEXEC));
    MUST_SYS(pipe2(back, O_CLOEXEC));
    MUST(pthread_create(&threads[0], NULL, answer, NULL));
    MUST(pthread_create(&threads[1], NULL, ask, NULL));
    forks();
    executes(0);
    executes(1);
    waits_in_vfork();
    /* As long as it takes. */
    for (long before = passed; passed <= before + CHILDREN;)
        pause_ms(1);
    line("the others", "went on");
    fflush(stdout);
    /* Ends the two threads wherever they are. */
    execl("/proc/self/exe", "forks", "for", "good", NULL);
    return 98;
}
