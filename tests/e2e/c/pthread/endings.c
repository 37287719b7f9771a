/* Ways in which a program can end, beside threads that lock. Which one: the argument. */
#include "row.h"
#include <sys/resource.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t started;

static void *busy(void *unused)
{
    for (long i = 0;; i++) {
        MUST(pthread_mutex_lock(&m));
        MUST(pthread_mutex_unlock(&m));
        if (i == 100)
            pthread_barrier_wait(&started);
    }
    return unused;
}

static void *asleep(void *unused)
{
    pthread_barrier_wait(&started);
    MUST(pthread_mutex_lock(&held));
    return unused;
}

static void at_exit(void)
{
    MUST(pthread_mutex_lock(&m));
    MUST(pthread_mutex_unlock(&m));
    line("exit handler", "locked");
}

static void *last(void *unused)
{
    pause_ms(10);
    MUST(pthread_mutex_lock(&m));
    line("a thread", "outlives main");
    MUST(pthread_mutex_unlock(&m));
    return unused;
}

static void *exit_there(void *unused)
{
    exit(12);
    return unused;
}

static void handler(int signal)
{
    (void)signal;
    static const char text[] = "handled\n";
    if (write(1, text, sizeof text - 1) < 0 || pthread_mutex_trylock(&held) != EBUSY)
        _exit(98);
    _exit(13);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    volatile int *nowhere = NULL;
    pthread_t thread;
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    atexit(at_exit);
    at_quick_exit(at_exit);
    MUST(pthread_mutex_lock(&held));
    line("ends by", "%s", how);
    if (strcmp(how, "pthread_exit") == 0) {
        MUST(pthread_create(&thread, NULL, last, NULL));
        pthread_exit(NULL);
    }
    MUST(pthread_barrier_init(&started, NULL, 4));
    MUST(pthread_create(&thread, NULL, busy, NULL));
    MUST(pthread_create(&thread, NULL, busy, NULL));
    MUST(pthread_create(&thread, NULL, asleep, NULL));
    pthread_barrier_wait(&started);
    if (strcmp(how, "_exit") == 0)
        _exit(11);
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(14);
    if (strcmp(how, "exit in a thread") == 0) {
        MUST(pthread_create(&thread, NULL, exit_there, NULL));
        pthread_join(thread, NULL);
    }
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "handled crash") == 0)
        signal(SIGSEGV, handler);
    if (strstr(how, "crash") != NULL)
        *nowhere = 1;
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "term") == 0)
        raise(SIGTERM);
    return 10;
}
