/* fork, exec, vfork, threads, closed descriptors, changes of the user: semaphores work in all these cases. */
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/resource.h>

extern char **environ;

static int fork_chain(int id, int depth)
{
    int status = 0;
    MUST(SEMOP(id, OP(0, 1, 0)));
    if (depth > 0) {
        pid_t child = (pid_t)MUST(fork());
        if (child == 0)
            _exit(fork_chain(id, depth - 1));
        MUST(waitpid(child, &status, 0));
    }
    return status != 0;
}

static void *adder(void *id)
{
    for (int i = 0; i < 500; i++)
        MUST(SEMOP(*(int *)id, OP(1, 1, 0)));
    return NULL;
}

static void *short_lived(void *id)
{
    MUST(SEMOP(*(int *)id, OP(1, 1, 0)));
    return NULL;
}

static volatile int stop;

static void *busy(void *id)
{
    while (!stop) {
        MUST(SEMOP(*(int *)id, OP(1, 1, 0)));
        MUST(SEMOP(*(int *)id, OP(1, -1, 0)));
        MUST(SEMOP(*(int *)id, OP(0, 1, 0), OP(0, -1, 0)));
    }
    return NULL;
}

static void threads(int id)
{
    pthread_t all[4];
    MUST(set_value(id, 1, 0));
    for (int i = 0; i < 4; i++)
        pthread_create(&all[i], NULL, adder, &id);
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
    ROW("four threads", get(id, 1, GETVAL));
    for (int i = 0; i < 300; i++) {
        pthread_create(&all[0], NULL, short_lived, &id);
        pthread_join(all[0], NULL);
    }
    ROW("three hundred more, one after the other", get(id, 1, GETVAL));

    /* Forking while other threads are in the middle of it. */
    int failures = 0;
    MUST(semctl(id, 0, SETALL, (union semun){ .array = (unsigned short[]){ 0, 0, 0 } }));
    for (int i = 0; i < 2; i++)
        pthread_create(&all[i], NULL, busy, &id);
    for (int i = 0; i < 100; i++) {
        int status;
        pid_t child = (pid_t)MUST(fork());
        if (child == 0)
            _exit(SEMOP(id, OP(2, 1, 0)) == 0 ? 0 : 1);
        MUST(waitpid(child, &status, 0));
        failures += status != 0;
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(all[i], NULL);
    line("forked beside busy threads", "failures %d", failures);
    row_values("values", id);
}

static void *after_main(void *id)
{
    usleep(20000);
    MUST(SEMOP(*(int *)id, OP(0, 1, 0)));
    exit(0);
}

static void at_exit(void)
{
    int id = semget(own_key(5), 1, IPC_CREAT | 0600);
    line("semop in an exit handler", "%d", SEMOP(id, OP(0, 1, 0)));
    remove_set(id);
}

/* Runs this program again, `left` times, and adds one each time. */
static void exec_self(char *self, int id, int left)
{
    char number[16], again[16];
    snprintf(number, sizeof number, "%d", id);
    snprintf(again, sizeof again, "%d", left);
    execl("/proc/self/exe", self, "exec", number, again, (char *)NULL);
    _exit(97);
}

static void started(char *self, int id)
{
    char number[16];
    snprintf(number, sizeof number, "%d", id);
    char *args[] = { self, "exec", number, "0", NULL };
    int status;
    pid_t child;
    fflush(stdout);
    MUST(posix_spawn(&child, "/proc/self/exe", NULL, NULL, args, environ) == 0 ? 0 : -1);
    MUST(waitpid(child, &status, 0));
    line("posix_spawn", "status %d value %d", status, get(id, 0, GETVAL));
    child = vfork();
    if (child == 0) {
        execv("/proc/self/exe", args);
        _exit(97);
    }
    MUST(waitpid(child, &status, 0));
    line("vfork and exec", "status %d value %d", status, get(id, 0, GETVAL));
    /* Our own memory is as before. */
    ROW("the parent of a vfork", SEMOP(id, OP(0, 1, 0)));
    char command[64];
    snprintf(command, sizeof command, "/proc/%d/exe exec %d 0", getpid(), id);
    line("system", "status %d value %d", system(command), get(id, 0, GETVAL));
    child = (pid_t)MUST(syscall(SYS_fork));
    if (child == 0)
        _exit(SEMOP(id, OP(0, 1, 0)) == 0 ? 0 : 1);
    MUST(waitpid(child, &status, 0));
    line("fork by number", "status %d value %d", status, get(id, 0, GETVAL));
    child = (pid_t)MUST(syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L));
    if (child == 0)
        _exit(SEMOP(id, OP(0, 1, 0)) == 0 ? 0 : 1);
    MUST(waitpid(child, &status, 0));
    line("clone by number", "status %d value %d, pid of the child %d", status, get(id, 0, GETVAL),
         get(id, 0, GETPID) == child);
}

static void as_a_daemon(int id)
{
    int many[40];
    MUST(chdir("/"));
    umask(0777);
    for (int fd = 3; fd < 4096; fd++)
        close(fd);
    ROW("descriptors closed: semop", SEMOP(id, OP(0, 1, 0)));
    for (int i = 0; i < 40; i++)
        many[i] = new_set(100);
    ROW("descriptors closed: new sets", SEMOP(many[39], OP(99, 1, 0)));
    for (int i = 0; i < 40; i++)
        remove_set(many[i]);
    MUST(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 3, 3 }));
    ROW("no descriptor to be had", SEMOP(id, OP(0, 1, 0)));
    IN_CHILD(ROW("nor by a child", SEMOP(id, OP(0, 1, 0)));
             int own = new_set(2); ROW("which makes a set", SEMOP(own, OP(1, 1, 0))); remove_set(own));
    int fd = open("/dev/null", O_RDONLY);
    line("descriptors are ours again", "%d", fd);
}

static void unloaded(const char *library, int id)
{
    (void)id;
    for (int i = 0; i < 3; i++) {
        void *handle = dlopen(library, RTLD_NOW);
        if (handle == NULL) {
            line("dlopen", "%s", dlerror());
            return;
        }
        int (*loaded)(void) = (int (*)(void))dlsym(handle, "what_the_constructor_found");
        line("a library that uses semaphores when loaded", "%d", loaded());
        dlclose(handle);
    }
}

__attribute__((constructor)) static void before_main(void)
{
    int id = semget(IPC_PRIVATE, 1, 0600);
    if (id < 0 || SEMOP(id, OP(0, 1, 0)) != 0 || semctl(id, 0, IPC_RMID) != 0)
        _exit(96);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "exec") == 0) {
        int id = atoi(argv[2]), left = atoi(argv[3]);
        if (SEMOP(id, OP(0, 1, 0)) != 0)
            return 95;
        if (left > 0)
            exec_self(argv[0], id, left - 1);
        return 0;
    }
    int id = new_set(3);
    ROW("a chain of forks", fork_chain(id, 5));
    row_values("values", id);
    IN_CHILD(exec_self(argv[0], id, 5));
    row_values("after a chain of execs", id);
    started(argv[0], id);
    threads(id);
    if (argc > 1)
        unloaded(argv[1], id);
    /* Not on the stack, which ends with main. */
    static int shared_id;
    shared_id = id;
    IN_CHILD(pthread_t thread; MUST(set_value(id, 0, 0)); pthread_create(&thread, NULL, after_main, &shared_id);
             pthread_exit(NULL));
    row_values("main ended before its thread", id);
    IN_CHILD(as_a_daemon(id));
    if (geteuid() == 0) {
        IN_CHILD(MUST(setgid(4444)); MUST(setuid(3333)); int own = new_set(1);
                 ROW("another user for good", SEMOP(own, OP(0, 1, 0)));
                 ROW("may not touch root's", SEMOP(id, OP(0, 1, 0))); remove_set(own));
    } else {
        line("another user for good", "skipped, not root");
    }
    remove_set(id);
    atexit(at_exit);
    return 0;
}
