/* Processes: forks of every sort, beside threads that lock; exec; spawn. */
#include "row.h"
#include <spawn.h>
#include <sys/resource.h>

extern char **environ;

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static long count;
static int stop;

static void *add(void *unused)
{
    for (int i = 0; i < 200; i++) {
        MUST(pthread_mutex_lock(&m));
        count++;
        MUST(pthread_mutex_unlock(&m));
        MUST(pthread_rwlock_rdlock(&rw));
        MUST(pthread_rwlock_unlock(&rw));
    }
    return unused;
}

static void *busy(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
        MUST(pthread_mutex_lock(&other));
        MUST(pthread_mutex_unlock(&other));
    }
    return unused;
}

/* What a child does: locks, starts threads, forks on. Answers an exit status. */
static int live(int depth)
{
    count = 0;
    pthread_mutex_init(&other, NULL);
    crowd(2, add, NULL);
    if (count != 400 || pthread_mutex_lock(&other) != 0 || pthread_mutex_unlock(&other) != 0)
        return 1;
    if (depth == 0)
        return 0;
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(live(depth - 1));
    if (child == -1 || waitpid(child, &status, 0) != child)
        return 2;
    crowd(2, add, NULL);
    return count == 800 ? WEXITSTATUS(status) : 3;
}

static void forks(void)
{
    pthread_t threads[2];
    int failures = 0;
    line("a chain of children", "%d", live(4));
    for (int i = 0; i < 2; i++)
        MUST(pthread_create(&threads[i], NULL, busy, NULL));
    for (int i = 0; i < 60; i++) {
        int status = 0;
        pid_t child = (pid_t)MUST_SYS(fork());
        if (child == 0)
            _exit(live(i % 10 == 0 ? 1 : 0));
        MUST_SYS(waitpid(child, &status, 0));
        failures += status != 0;
    }
    line("children beside busy threads that failed", "%d", failures);
    stop = 1;
    for (int i = 0; i < 2; i++)
        MUST(pthread_join(threads[i], NULL));
}

/* Threads that are born, lock for the first time, and end, all the time. */
static void *births(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
        crowd(3, add, NULL);
    return unused;
}

static void forks_beside_births(void)
{
    pthread_t thread;
    int failures = 0;
    stop = 0;
    MUST(pthread_create(&thread, NULL, births, NULL));
    for (int i = 0; i < 60; i++) {
        int status = 0;
        pid_t child = (pid_t)MUST_SYS(fork());
        if (child == 0) {
            pthread_mutex_init(&m, NULL);
            pthread_rwlock_init(&rw, NULL);
            _exit(live(0));
        }
        MUST_SYS(waitpid(child, &status, 0));
        failures += status != 0;
    }
    line("children beside births that failed", "%d", failures);
    stop = 1;
    MUST(pthread_join(thread, NULL));
}

static int fork_here(void *unused)
{
    (void)unused;
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(live(1));
    waitpid(child, &status, 0);
    errno = UNTOUCHED;
    return WEXITSTATUS(status);
}

/* A fork that bypasses libc. */
static void raw_forks(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t child = (pid_t)(i == 0 ? syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : syscall(SYS_fork));
        if (child == 0) {
            for (int n = 0; n < 1000; n++)
                add(NULL);
            if (i == 2)
                raise(SIGKILL);
            syscall(SYS_exit_group, 5);
        }
        row_child("a raw child", child);
    }
    count = 0;
    add(NULL);
    line("after raw children", "%ld", count);
}

/* Children that stay beside their parent, all locking. */
static void side_by_side(void)
{
    pid_t children[6];
    for (size_t i = 0; i < COUNT(children); i++) {
        children[i] = (pid_t)MUST_SYS(fork());
        if (children[i] == 0)
            _exit(live(0));
    }
    add(NULL);
    for (size_t i = 0; i < COUNT(children); i++)
        row_child("a child among others", children[i]);
}

static struct rlimit few(rlim_t limit)
{
    return (struct rlimit){ limit, limit };
}

static void others_programs(char *self)
{
    char *again[] = { self, "image", "3", NULL };
    pid_t child = vfork();
    if (child == 0) {
        execv("/proc/self/exe", again);
        _exit(97);
    }
    row_child("vfork and exec", child);
    MUST(posix_spawn(&child, "/proc/self/exe", NULL, NULL, again, environ));
    row_child("posix_spawn", child);
    row_child("vfork and _exit", (child = vfork()) == 0 ? (_exit(4), 0) : child);
    line("system", "%d", WEXITSTATUS(system("exit 6")));
    FILE *pipe = popen("echo from a pipe", "r");
    char text[64] = "";
    line("popen", "%s", pipe != NULL && fgets(text, sizeof text, pipe) != NULL ? strtok(text, "\n") : "nothing");
    pclose(pipe);
    /* Without a descriptor that the program does not know, and without one that it could open. */
    IN_CHILD("descriptors closed", {
        closefrom(3);
        const struct rlimit none = few(3);
        setrlimit(RLIMIT_NOFILE, &none);
        line("live without descriptors", "%d", live(1));
    });
    IN_CHILD("files not to be written", {
        const struct rlimit none = few(0);
        setrlimit(RLIMIT_FSIZE, &none);
        _exit(live(1));
    });
}

/* This program again, which locks before and after, `left` times. */
static int image(char *self, int left)
{
    char number[16];
    snprintf(number, sizeof number, "%d", left - 1);
    crowd(2, add, NULL);
    MUST(pthread_mutex_lock(&m));
    if (left > 0) {
        char *again[] = { self, "image", number, NULL };
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, busy, NULL));
        execv("/proc/self/exe", again);
        return 97;
    }
    return count == 400 ? 0 : 96;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "image") == 0)
        return image(argv[0], atoi(argv[2]));
    forks();
    forks_beside_births();
    for (int i = 0; i < 3; i++)
        row_elsewhere("a fork by a thread", fork_here, NULL);
    raw_forks();
    side_by_side();
    others_programs(argv[0]);
    return 0;
}
