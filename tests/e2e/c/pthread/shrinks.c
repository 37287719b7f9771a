/* The recording is truncated while two threads use locks: the program goes on. Its own handling of SIGBUS is what it is
 * without the meter. The first argument is the length that is left, or "other": then another process empties the file.
 * With a second one the program executes itself, to see what is inherited. */
#include "row.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t both;
static long count;
static const char *left;

static void use_locks(int times)
{
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(&mutex);
        count++;
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
    }
}

/* Without the meter there is no recording. */
static void shrink_recording(void)
{
    const char *recording = getenv("UNSPIN_RECORD");
    if (recording == NULL)
        return;
    if (strcmp(left, "other") != 0) {
        MUST_SYS(truncate(recording, atol(left)));
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        execlp("cp", "cp", "/dev/null", recording, (char *)NULL);
        _exit(1);
    }
    int status;
    MUST_SYS(waitpid(child, &status, 0));
    MUST_SYS(status == 0 ? 0 : -1);
}

/* Returns what is wrong. */
static void *work(void *shrinks)
{
    use_locks(1000);
    pthread_barrier_wait(&both);
    /* One of the two uses locks at the same time. */
    use_locks(500);
    if (shrinks != NULL)
        shrink_recording();
    use_locks(500);
    sigset_t mask;
    errno = UNTOUCHED;
    use_locks(500);
    int error = errno;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    return error == UNTOUCHED && !sigismember(&mask, SIGBUS) ? NULL : "errno or the mask has changed";
}

static void *later(void *unused)
{
    use_locks(100);
    return unused;
}

static volatile char *map;
static int file;

/* A mapping of the program itself, whose file shrinks as well. */
static void map_short_file(void)
{
    char name[] = "/tmp/unspin-e2e-XXXXXX";
    file = mkstemp(name);
    MUST_SYS(file);
    unlink(name);
    MUST_SYS(ftruncate(file, 4096));
    map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    MUST_SYS(map == MAP_FAILED ? -1 : 0);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    line("own handler", "signal %d, code %d, right address: %d, SIGUSR1 blocked: %d", signal, info->si_code,
         info->si_addr == (void *)(map + 4096), sigismember(&mask, SIGUSR1));
    MUST_SYS(ftruncate(file, 8192));
}

static void own_fault(void)
{
    MUST_SYS(ftruncate(file, 4096));
    map[4096] = 1;
    line("own file", "%d", map[4096]);
}

static const char *handler_name(void *handler)
{
    if (handler == (void *)SIG_DFL)
        return "default";
    if (handler == (void *)SIG_IGN)
        return "ignored";
    return handler == (void *)on_fault ? "own" : "another";
}

static void ask(const char *row)
{
    struct sigaction now;
    MUST_SYS(sigaction(SIGBUS, NULL, &now));
    line(row, "%s flags %#x", handler_name((void *)now.sa_sigaction), (unsigned)now.sa_flags);
}

int main(int argc, char **argv)
{
    left = argc > 1 ? argv[1] : "0";
    ask("at the start");
    if (strcmp(left, "again") == 0)
        return 7;
    pthread_t threads[2];
    pthread_barrier_init(&both, NULL, 2);
    use_locks(1);
    map_short_file();
    struct sigaction own = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
    sigaddset(&own.sa_mask, SIGUSR1);
    MUST_SYS(sigaction(SIGBUS, &own, NULL));
    own_fault();
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, i == 0 ? &both : NULL);
    for (long i = 0; i < 2; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        line("thread", "%s", wrong == NULL ? "right" : (char *)wrong);
    }
    /* Threads and processes that begin afterwards. */
    pthread_create(&threads[0], NULL, later, NULL);
    pthread_join(threads[0], NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        use_locks(100);
        own_fault();
        _exit(5);
    }
    int status;
    waitpid(child, &status, 0);
    line("child", "%d", status);
    ask("own");
    own_fault();
    line("count", "%ld", count);
    signal(SIGBUS, SIG_DFL);
    ask("default again");
    child = fork();
    if (child == 0) {
        MUST_SYS(ftruncate(file, 0));
        map[0] = 1;
        _exit(0);
    }
    waitpid(child, &status, 0);
    line("own fault by default", "signal %d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    use_locks(1);
    if (argc > 2) {
        /* The next program is not metered. */
        unsetenv("UNSPIN_RECORD");
        signal(SIGBUS, SIG_IGN);
        execl("/proc/self/exe", argv[0], "again", (char *)NULL);
    }
    return 7;
}
