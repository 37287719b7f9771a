/* Section 5: SEM_UNDO. */
#include "check.h"
#include <pthread.h>
#include <spawn.h>

#define U SEM_UNDO

static int id;

static void values(const char *row)
{
    row_values(row, id);
}

/* Whether the last operation on a semaphore was this process's. */
static void by(const char *row, int num, pid_t pid)
{
    line(row, "%s", get(id, num, GETPID) == pid ? "by the dead" : "not by the dead");
}

static void all_to(unsigned short value)
{
    MUST(semctl(id, 0, SETALL, (union semun){ .array = (unsigned short[]){ value, value, value } }));
}

/* A child that does something, says so, and stays until it is told to end. */
struct actor {
    pid_t pid;
    int told, tell;
};

#define ACT(...)                                                      \
    ({                                                                \
        int up_[2], down_[2];                                         \
        MUST(pipe(up_));                                              \
        MUST(pipe(down_));                                            \
        fflush(stdout);                                               \
        pid_t pid_ = (pid_t)MUST(fork());                             \
        if (pid_ == 0) {                                              \
            char byte_ = 0;                                           \
            close(up_[0]);                                            \
            close(down_[1]);                                          \
            __VA_ARGS__;                                              \
            fflush(stdout);                                           \
            MUST(write(up_[1], &byte_, 1));                           \
            while (read(down_[0], &byte_, 1) == -1)                   \
                ;                                                     \
            _exit(0);                                                 \
        }                                                             \
        close(up_[1]);                                                \
        close(down_[0]);                                              \
        char told_;                                                   \
        if (read(up_[0], &told_, 1) != 1)                             \
            line("an actor", "ended early");                          \
        (struct actor){ pid_, up_[0], down_[1] };                     \
    })

static void leave(struct actor actor)
{
    /* Not by an end of file: actors that came later have the other end, too. */
    if (write(actor.tell, "x", 1) == -1)
        line("an actor", "is gone");
    close(actor.tell);
    close(actor.told);
    MUST(waitpid(actor.pid, NULL, 0));
}

static void slay(struct actor actor)
{
    MUST(kill(actor.pid, SIGKILL));
    close(actor.tell);
    close(actor.told);
    MUST(waitpid(actor.pid, NULL, 0));
}

static void basics(void)
{
    struct semid_ds ds;
    all_to(5);
    MUST(semctl(id, 0, IPC_STAT, (union semun){ .buf = &ds }));
    line("nobody has operated yet", "%d", ds.sem_otime != 0);
    struct actor one = ACT(ROW("add", SEMOP(id, OP(0, 3, U))); ROW("take", SEMOP(id, OP(1, -2, U)));
                           ROW("wait for zero of another", SEMOP(id, OP(2, -5, 0), OP(2, 0, U)));
                           ROW("twice", SEMOP(id, OP(0, 1, U))));
    values("while it lives");
    leave(one);
    values("after its end");
    by("sempid of an adjusted one", 0, one.pid);
    by("sempid of the other", 1, one.pid);
    MUST(semctl(id, 0, IPC_STAT, (union semun){ .buf = &ds }));
    line("undone: otime", "%d", ds.sem_otime != 0);

    all_to(0);
    IN_CHILD(MUST(SEMOP(id, OP(0, 1, U))); MUST(SEMOP(id, OP(0, 1, 0))));
    values("only flagged ones count");
    all_to(0);
    IN_CHILD(MUST(SEMOP(id, OP(0, 1, U), OP(1, 1, 0), OP(0, 2, 0), OP(1, 2, U))));
    values("some of a vector");
    all_to(9);
    IN_CHILD(MUST(SEMOP(id, OP(0, 4, U), OP(0, -1, U), OP(0, -1, 0), OP(1, -9, 0), OP(1, 0, U), OP(2, 1, U), OP(2, -1, U))));
    values("several of one semaphore");
    pid_t undone = (pid_t)MUST(fork());
    if (undone == 0) {
        MUST(SEMOP(id, OP(0, 1, U)));
        MUST(SEMOP(id, OP(0, -1, U)));
        _exit(0);
    }
    waitpid(undone, NULL, 0);
    values("taken back by itself");
    all_to(1);
    IN_CHILD(ROW("fails", SEMOP(id, OP(0, 1, U), OP(1, -2, U | IPC_NOWAIT)));
             ROW("fails with a time", SEMTIMEDOP(id, (&(struct timespec){ 0, 1000000 }), OP(1, -2, U)));
             ROW("of an index too large", SEMOP(id, OP(0, 1, U), OP(3, 1, U)));
             ROW("of a bad address", semop(id, (void *)8, 1));
             ROW("of no set", SEMOP(0x7fffffff, OP(0, 1, U))));
    values("what failed leaves nothing to undo");
}

static void clamping(void)
{
    all_to(0);
    struct actor adder = ACT(MUST(SEMOP(id, OP(0, 5, U))));
    MUST(SEMOP(id, OP(0, -3, 0)));
    leave(adder);
    values("not below zero");
    all_to(32767);
    struct actor taker = ACT(MUST(SEMOP(id, OP(0, -10, U))));
    MUST(SEMOP(id, OP(0, 5, 0)));
    leave(taker);
    values("not above SEMVMX");
    all_to(0);
    IN_CHILD(MUST(SEMOP(id, OP(0, 32767, U))); MUST(SEMOP(id, OP(0, -32767, 0)));
             ROW("to the lowest adjustment", SEMOP(id, OP(0, 1, U)));
             ROW("below it", SEMOP(id, OP(0, 1, U)));
             ROW("below it in a vector", SEMOP(id, OP(1, 1, U), OP(0, 1, U)));
             ROW("below it, and then one that would wait", SEMOP(id, OP(0, 1, U), OP(1, -1, IPC_NOWAIT)));
             ROW("one that would wait, and then below", SEMOP(id, OP(1, -1, IPC_NOWAIT), OP(0, 1, U)));
             ROW("unflagged", SEMOP(id, OP(0, 1, 0))); values("at the limit"));
    values("after the lowest");
    all_to(32767);
    IN_CHILD(ROW("to the highest adjustment", SEMOP(id, OP(0, -32767, U))); MUST(SEMOP(id, OP(0, 1, 0)));
             ROW("above it", SEMOP(id, OP(0, -1, U)));
             ROW("above it, and it would wait", SEMOP(id, OP(0, -2, U | IPC_NOWAIT)));
             ROW("above and back", SEMOP(id, OP(0, -1, U), OP(0, 1, U)));
             ROW("back and above", SEMOP(id, OP(0, 1, U), OP(0, -1, U))));
    values("after the highest");
    /* Out of range only once it could proceed. */
    all_to(32767);
    struct actor late = ACT(MUST(SEMOP(id, OP(0, -32767, U))));
    (void)late;
    leave(late);
    all_to(32767);
    int ends[2];
    MUST(pipe(ends));
    fflush(stdout);
    pid_t sleeper = (pid_t)MUST(fork());
    if (sleeper == 0) {
        MUST(SEMOP(id, OP(0, -32767, U)));
        errno = 0;
        int result = SEMOP(id, OP(0, -1, U));
        struct answer answer = { result, errno };
        MUST(write(ends[1], &answer, sizeof answer));
        pause();
    }
    AWAIT_N(id, 0, 1);
    MUST(SEMOP(id, OP(0, 1, 0)));
    struct answer answer;
    MUST(read(ends[0], &answer, sizeof answer));
    report("out of range after a sleep", answer.result, answer.error);
    finish((struct job){ sleeper, ends[0] });
    close(ends[1]);
    values("and undone");
}

static void dropping(void)
{
    all_to(1);
    struct actor one = ACT(MUST(SEMOP(id, OP(0, 1, U), OP(1, 1, U), OP(2, 1, U))));
    MUST(set_value(id, 1, 7));
    values("SETVAL while it lives");
    leave(one);
    values("SETVAL drops the adjustment of its semaphore");
    one = ACT(MUST(SEMOP(id, OP(0, 1, U), OP(1, 1, U))));
    struct actor other = ACT(MUST(SEMOP(id, OP(0, 1, U))));
    all_to(4);
    leave(one);
    slay(other);
    values("SETALL drops those of everybody");
    one = ACT(MUST(SEMOP(id, OP(0, 2, U))));
    MUST(set_value(id, 0, 3));
    other = ACT(MUST(SEMOP(id, OP(0, 2, U))));
    leave(one);
    values("what came after SETVAL counts");
    leave(other);
    values("and is undone");
    int old = new_set(3);
    one = ACT(MUST(SEMOP(old, OP(0, 2, U))); semctl(old, 0, IPC_RMID); int own = new_set(3);
              MUST(SEMOP(own, OP(0, 2, U))); MUST(semctl(own, 0, IPC_RMID)));
    ROW("a set removed under an adjustment", get(old, 0, GETVAL));
    leave(one);
    values("leaves the others alone");
}

static void deaths(void)
{
    all_to(2);
    slay(ACT(MUST(SEMOP(id, OP(0, -1, U), OP(1, 1, U)))));
    values("killed");
    for (int i = 0; i < 20; i++)
        slay(ACT(MUST(SEMOP(id, OP(0, -1, U)))));
    values("twenty, one after the other");
    struct actor crowd[12];
    all_to(12);
    for (int i = 0; i < 12; i++)
        crowd[i] = ACT(MUST(SEMOP(id, OP(0, -1, U), OP(1, 1, U))));
    values("a crowd");
    for (int i = 0; i < 12; i += 2)
        slay(crowd[i]);
    values("half of it is gone");
    for (int i = 1; i < 12; i += 2)
        kill(crowd[i].pid, SIGKILL);
    for (int i = 1; i < 12; i += 2)
        slay(crowd[i]);
    values("all of it");
    all_to(2);
    struct actor parent = ACT(MUST(SEMOP(id, OP(0, -1, U))); IN_CHILD(values("a child begins with none"));
                              values("and undoes none");
                              IN_CHILD(MUST(SEMOP(id, OP(0, 5, U)))); values("but its own"));
    leave(parent);
    values("the parent's");
    int other = new_set(2);
    struct actor both = ACT(MUST(SEMOP(id, OP(0, -1, U))); MUST(SEMOP(other, OP(1, 4, U))));
    slay(both);
    values("two sets, one");
    row_values("two sets, the other", other);
    remove_set(other);
    /* All are dead; a process that has never used the set reads it. */
    fflush(stdout);
    pid_t first = (pid_t)MUST(fork());
    if (first == 0) {
        MUST(SEMOP(id, OP(0, -1, U)));
        kill(getpid(), SIGKILL);
    }
    waitpid(first, NULL, 0);
    IN_CHILD(values("a newcomer"); ROW("takes", SEMOP(id, OP(0, -2, IPC_NOWAIT))));
    /* Not reaped yet: a zombie counts as dead. */
    all_to(1);
    pid_t zombie = (pid_t)MUST(fork());
    if (zombie == 0) {
        MUST(SEMOP(id, OP(0, -1, U)));
        kill(getpid(), SIGKILL);
    }
    siginfo_t info;
    MUST(waitid(P_PID, (id_t)zombie, &info, WEXITED | WNOWAIT));
    values("of a zombie");
    waitpid(zombie, NULL, 0);
}

static void sleepers(void)
{
    all_to(1);
    struct actor holder = ACT(MUST(SEMOP(id, OP(0, -1, U))));
    struct job next = START(id, OP(0, -1, U));
    AWAIT_N(id, 0, 1);
    ROW("asleep", sleeps(next));
    slay(holder);
    row_answer("woken by the death of the holder", next);
    values("who has ended too");

    all_to(0);
    struct job taker = START(id, OP(0, -1, U));
    AWAIT_N(id, 0, 1);
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_answer("granted by a post", taker);
    values("and undone at its end");

    all_to(0);
    holder = ACT(MUST(SEMOP(id, OP(0, 1, U))));
    struct job zero = START(id, OP(0, 0, 0));
    AWAIT_Z(id, 0, 1);
    leave(holder);
    row_answer("an undo to zero wakes who waits for that", zero);

    all_to(1);
    holder = ACT(MUST(SEMOP(id, OP(0, -1, U), OP(1, -1, U))));
    struct job complex = START(id, OP(0, -1, 0), OP(1, -1, 0));
    AWAIT_N(id, 0, 1);
    struct job simple = START(id, OP(1, -1, 0));
    AWAIT_N(id, 1, 1);
    slay(holder);
    row_answer("a vector goes first, having come first", complex);
    ROW("the other goes on waiting", sleeps(simple));
    MUST(SEMOP(id, OP(1, 1, 0)));
    row_answer("until it is its turn", simple);

    /* The token goes from one to the next, each killed with it in hand. */
    all_to(1);
    holder = ACT(MUST(SEMOP(id, OP(0, -1, U))));
    pid_t queue[5];
    int ends[2];
    MUST(pipe(ends));
    fflush(stdout);
    for (int i = 0; i < 5; i++) {
        queue[i] = (pid_t)MUST(fork());
        if (queue[i] == 0) {
            MUST(SEMOP(id, OP(0, -1, U)));
            MUST(write(ends[1], &i, sizeof i));
            pause();
        }
        AWAIT_N(id, 0, i + 1);
    }
    slay(holder);
    for (int i = 0; i < 5; i++) {
        int who;
        MUST(read(ends[0], &who, sizeof who));
        line("the next holder", "%d", who);
        MUST(kill(queue[who], SIGKILL));
        waitpid(queue[who], NULL, 0);
    }
    values("after all of them");
    close(ends[0]);
    close(ends[1]);

    /* A waiter is killed, not the holder. */
    holder = ACT(MUST(SEMOP(id, OP(0, -1, U))));
    struct job first = START(id, OP(0, -1, U));
    AWAIT_N(id, 0, 1);
    struct job second = START(id, OP(0, -1, U));
    AWAIT_N(id, 0, 2);
    finish(first);
    ROW("waiters", get(id, 0, GETNCNT));
    slay(holder);
    row_answer("the second is served", second);
    values("at the end");

    /* A process becomes a holder while a sleeper already waits for more. */
    all_to(3);
    struct job greedy = START(id, OP(0, -4, 0));
    AWAIT_N(id, 0, 1);
    holder = ACT(MUST(SEMOP(id, OP(0, -1, U))));
    MUST(SEMOP(id, OP(0, 1, 0)));
    ROW("wants more", sleeps(greedy));
    slay(holder);
    row_answer("and gets it by a death", greedy);

    /* A sleeper with a time, which is over before the holder is dead. */
    all_to(1);
    holder = ACT(MUST(SEMOP(id, OP(0, -1, U))));
    struct job timed = START_TIMED(id, (&(struct timespec){ 0, 20000000 }), OP(0, -1, U));
    row_answer("a timeout beside a living holder", timed);
    slay(holder);
    values("nothing is owed to it");
}

/* ---- Threads, and other programs. ---- */

static void *take(void *arg)
{
    (void)arg;
    MUST(SEMOP(id, OP(0, -1, U)));
    return NULL;
}

static int said[2];

static void *outlive_main(void *arg)
{
    (void)arg;
    usleep(30000);
    values("main has ended, its thread has not");
    MUST(write(said[1], "x", 1));
    return NULL;
}

static void *stay(void *arg)
{
    MUST(SEMOP(id, OP(0, -1, U)));
    MUST(write(*(int *)arg, "x", 1));
    pause();
    return NULL;
}

static void threads(void)
{
    all_to(4);
    IN_CHILD(pthread_t thread; pthread_create(&thread, NULL, take, NULL); pthread_join(thread, NULL);
             values("its thread has ended"); MUST(SEMOP(id, OP(0, -1, U)));
             pthread_create(&thread, NULL, take, NULL); pthread_join(thread, NULL); values("another one"));
    values("the process has ended");
    MUST(pipe(said));
    fflush(stdout);
    pid_t child = (pid_t)MUST(fork());
    if (child == 0) {
        pthread_t thread;
        MUST(SEMOP(id, OP(0, -1, U)));
        pthread_create(&thread, NULL, outlive_main, NULL);
        pthread_exit(NULL);
    }
    char byte;
    MUST(read(said[0], &byte, 1));
    waitpid(child, NULL, 0);
    values("its last thread has ended");
    struct actor busy = ACT(pthread_t thread[3]; int ends[2]; MUST(pipe(ends)); for (int i = 0; i < 3; i++) {
        char x;
        pthread_create(&thread[i], NULL, stay, &ends[1]);
        MUST(read(ends[0], &x, 1));
    });
    values("three threads took");
    struct job waits = START(id, OP(0, -3, 0));
    AWAIT_N(id, 0, 1);
    slay(busy);
    row_answer("killed as a whole, who waits gets it", waits);
    values("all of them");
}

static void *separate(void *arg)
{
    line("unshare in a thread", "%d", unshare(CLONE_SYSVSEM));
    return arg;
}

static void sharing(void)
{
    all_to(4);
    IN_CHILD(MUST(SEMOP(id, OP(0, -1, U), OP(1, 2, U))); values("before unshare");
             ROW("unshare", unshare(CLONE_SYSVSEM)); values("after it"); MUST(SEMOP(id, OP(0, -2, U)));
             ROW("by number", syscall(SYS_unshare, CLONE_SYSVSEM)); values("again"); MUST(SEMOP(id, OP(0, -3, U)));
             values("the next one"));
    values("at the end");
    IN_CHILD(pthread_t thread; MUST(SEMOP(id, OP(0, -1, U))); pthread_create(&thread, NULL, separate, NULL);
             pthread_join(thread, NULL); values("the others share on"));
    values("until they end");
}

extern char **environ;

static void run_again(char *self, const char *what, char **environment)
{
    char number[16];
    snprintf(number, sizeof number, "%d", id);
    char *args[] = { self, "again", number, (char *)what, NULL };
    execve("/proc/self/exe", args, environment);
    _exit(97);
}

/* Waits until a process executes another program than this one. */
static void await_exec(pid_t pid, const char *name)
{
    char path[64], comm[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    while (strncmp(comm, name, strlen(name)) != 0) {
        FILE *f = fopen(path, "r");
        if (f == NULL || fgets(comm, sizeof comm, f) == NULL)
            comm[0] = '\0';
        if (f != NULL)
            fclose(f);
        usleep(500);
    }
}

static void programs(char *self)
{
    char *nothing[] = { NULL };
    all_to(5);
    IN_CHILD(MUST(SEMOP(id, OP(0, -1, U))); run_again(self, "look", environ));
    values("after another program");
    IN_CHILD(MUST(SEMOP(id, OP(0, -1, U))); run_again(self, "take", environ));
    values("which took more");
    IN_CHILD(MUST(SEMOP(id, OP(0, -1, U))); run_again(self, "chain", environ));
    values("and executed a third");
    IN_CHILD(run_again(self, "take", environ));
    values("of which the first did nothing");
    /* Programs without the preload library. */
    for (int i = 0; i < 2; i++) {
        fflush(stdout);
        pid_t child = (pid_t)MUST(fork());
        if (child == 0) {
            char *args[] = { "sleep", "100", NULL };
            MUST(SEMOP(id, OP(0, -1, U)));
            execve("/bin/sleep", args, i == 0 ? environ : nothing);
            _exit(97);
        }
        await_exec(child, "sleep");
        values("it executes another");
        struct job waits = START(id, OP(0, -5, 0));
        AWAIT_N(id, 0, 1);
        ROW("which lives, so somebody waits", sleeps(waits));
        MUST(kill(child, SIGKILL));
        waitpid(child, NULL, 0);
        row_answer("until it is dead", waits);
        all_to(5);
        child = (pid_t)MUST(fork());
        if (child == 0) {
            char *args[] = { "true", NULL };
            MUST(SEMOP(id, OP(0, -1, U)));
            execve("/bin/true", args, i == 0 ? environ : nothing);
            _exit(97);
        }
        waitpid(child, NULL, 0);
        values("a short one");
    }
    /* Children that are started without a copy of their parent's memory. */
    IN_CHILD(MUST(SEMOP(id, OP(0, -1, U))); pid_t other = vfork(); if (other == 0) run_again(self, "take", environ);
             waitpid(other, NULL, 0); values("of the child of a vfork"));
    values("of its parent");
    pid_t started;
    char number[16];
    snprintf(number, sizeof number, "%d", id);
    char *args[] = { self, "again", number, "take", NULL };
    fflush(stdout);
    MUST(posix_spawn(&started, "/proc/self/exe", NULL, NULL, args, environ) == 0 ? 0 : -1);
    waitpid(started, NULL, 0);
    values("posix_spawn");
    pid_t bare = (pid_t)MUST(syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L));
    if (bare == 0) {
        MUST(SEMOP(id, OP(0, -1, U)));
        values("a bare clone");
        fflush(stdout);
        kill(getpid(), SIGKILL);
    }
    waitpid(bare, NULL, 0);
    values("is undone too");
    struct actor cloned = ACT(pid_t inner = (pid_t)syscall(SYS_fork); if (inner == 0) {
        MUST(SEMOP(id, OP(1, -1, U)));
        pause();
    }
    while (get(id, 1, GETVAL) != 4) usleep(500); struct job waits = START(id, OP(1, -5, 0)); AWAIT_N(id, 1, 1);
    ROW("who waits for it", sleeps(waits)); kill(inner, SIGKILL); waitpid(inner, NULL, 0);
    row_answer("is served", waits));
    leave(cloned);
}

/* The other program: what it is to do with the set. */
static int again(char **argv)
{
    id = atoi(argv[2]);
    values("another program finds");
    if (strcmp(argv[3], "look") == 0)
        return 0;
    MUST(SEMOP(id, OP(0, -1, U)));
    values("and takes");
    if (strcmp(argv[3], "chain") == 0)
        run_again(argv[0], "take", environ);
    return 0;
}

static void permissions(void)
{
    if (geteuid() != 0)
        return;
    int others = (int)MUST(semget(IPC_PRIVATE, 1, 0604));
    IN_CHILD(MUST(setgid(4444)); MUST(setuid(3333)); ROW("not allowed", SEMOP(others, OP(0, 1, U)));
             ROW("looking is allowed", SEMOP(others, OP(0, 0, U))));
    row_values("nothing was done", others);
    remove_set(others);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "again") == 0)
        return again(argv);
    id = new_set(3);
    basics();
    clamping();
    dropping();
    deaths();
    sleepers();
    threads();
    sharing();
    programs(argv[0]);
    permissions();
    remove_set(id);
    return 0;
}
