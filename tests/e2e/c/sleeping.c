/* semop(2) and semtimedop(2) that sleep: what wakes them, and with what answer. */
#include "check.h"
#include <pthread.h>

static void row_pid(const char *row, int id, int num, pid_t child)
{
    int pid = get(id, num, GETPID);
    line(row, "%s", pid == child ? "the sleeper" : pid == getpid() ? "the waker" : pid == 0 ? "none" : "somebody");
}

static void woken(void)
{
    int id = new_set(3);
    struct job job = START(id, OP(0, -1, 0));
    AWAIT_N(id, 0, 1);
    ROW("one waits", get(id, 0, GETNCNT));
    ROW("none for zero", get(id, 0, GETZCNT));
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_answer("woken by +1", job);
    ROW("none waits", get(id, 0, GETNCNT));
    row_pid("sempid", id, 0, job.pid);
    row_values("values", id);

    MUST(set_value(id, 1, 2));
    job = START(id, OP(1, 0, 0));
    AWAIT_Z(id, 1, 1);
    ROW("not counted as waiting for an increase", get(id, 1, GETNCNT));
    MUST(SEMOP(id, OP(1, -1, 0)));
    line("still asleep at 1", "%d", sleeps(job));
    MUST(SEMOP(id, OP(1, -1, 0)));
    row_answer("woken at 0", job);
    row_pid("sempid", id, 1, job.pid);

    job = START(id, OP(2, -3, 0));
    AWAIT_N(id, 2, 1);
    MUST(SEMOP(id, OP(2, 2, 0)));
    line("2 is not enough for -3", "%d", sleeps(job));
    MUST(SEMOP(id, OP(2, 2, 0)));
    row_answer("4 is", job);
    row_values("values", id);
    remove_set(id);
}

static void by_semctl(void)
{
    int id = new_set(2);
    struct job job = START(id, OP(0, -2, 0));
    AWAIT_N(id, 0, 1);
    MUST(set_value(id, 0, 1));
    line("SETVAL 1 leaves -2 asleep", "%d", sleeps(job));
    MUST(set_value(id, 0, 5));
    row_answer("SETVAL 5 wakes -2", job);
    row_pid("sempid", id, 0, job.pid);
    row_values("values", id);

    job = START(id, OP(0, 0, 0));
    AWAIT_Z(id, 0, 1);
    MUST(set_value(id, 0, 0));
    row_answer("SETVAL 0 wakes a wait for zero", job);

    job = START(id, OP(0, -1, 0), OP(1, -1, 0));
    AWAIT_N(id, 0, 1);
    MUST(semctl(id, 0, SETALL, (union semun){ .array = (unsigned short[]){ 2, 2 } }));
    row_answer("SETALL wakes", job);
    row_values("values", id);

    struct job zero = START(id, OP(0, 0, 0));
    AWAIT_Z(id, 0, 1);
    struct job take = START(id, OP(1, -5, 0));
    AWAIT_N(id, 1, 1);
    MUST(semctl(id, 0, SETALL, (union semun){ .array = (unsigned short[]){ 0, 9 } }));
    row_answer("SETALL wakes both kinds: zero", zero);
    row_answer("SETALL wakes both kinds: take", take);
    row_values("values", id);
    remove_set(id);
}

static void counted_where_it_blocks(void)
{
    int id = new_set(2);
    struct job job = START(id, OP(0, -1, 0), OP(1, -1, 0));
    AWAIT_N(id, 0, 1);
    line("first op blocks", "%d %d", get(id, 0, GETNCNT), get(id, 1, GETNCNT));
    MUST(SEMOP(id, OP(0, 1, 0)));
    AWAIT_N(id, 1, 1);
    line("now the second", "%d %d", get(id, 0, GETNCNT), get(id, 1, GETNCNT));
    row_values("nothing was taken", id);
    MUST(SEMOP(id, OP(0, -1, 0)));
    AWAIT_N(id, 0, 1);
    line("now the first again", "%d %d", get(id, 0, GETNCNT), get(id, 1, GETNCNT));
    MUST(SEMOP(id, OP(1, 1, 0)));
    line("second alone does not help", "%d", sleeps(job));
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_answer("both", job);
    row_values("values", id);

    MUST(set_value(id, 1, 1));
    job = START(id, OP(0, 0, 0), OP(1, 0, 0), OP(0, 1, 0));
    AWAIT_Z(id, 1, 1);
    line("zero blocks on the second", "%d %d", get(id, 0, GETZCNT), get(id, 1, GETZCNT));
    MUST(set_value(id, 0, 1));
    AWAIT_Z(id, 0, 1);
    line("then on the first", "%d %d", get(id, 0, GETZCNT), get(id, 1, GETZCNT));
    MUST(set_value(id, 1, 0));
    MUST(set_value(id, 0, 0));
    row_answer("all at zero", job);
    row_values("values", id);

    /* Nothing but waits for zero. */
    MUST(semctl(id, 0, SETALL, (union semun){ .array = (unsigned short[]){ 0, 1 } }));
    job = START(id, OP(0, 0, 0), OP(1, 0, 0));
    AWAIT_Z(id, 1, 1);
    line("zeros only", "%d %d", get(id, 0, GETZCNT), get(id, 1, GETZCNT));
    MUST(set_value(id, 0, 1));
    line("one of them is not", "%d", sleeps(job));
    MUST(set_value(id, 1, 0));
    line("the other is not", "%d", sleeps(job));
    AWAIT_Z(id, 0, 1);
    MUST(SEMOP(id, OP(0, -1, 0)));
    row_answer("both are", job);

    /* A mixed vector: counted as waiting for zero or for more, whichever blocks. */
    MUST(semctl(id, 0, SETALL, (union semun){ .array = (unsigned short[]){ 1, 0 } }));
    job = START(id, OP(0, 0, 0), OP(1, -1, 0));
    AWAIT_Z(id, 0, 1);
    line("zero first", "%d %d %d %d", get(id, 0, GETZCNT), get(id, 0, GETNCNT), get(id, 1, GETZCNT),
         get(id, 1, GETNCNT));
    MUST(set_value(id, 0, 0));
    AWAIT_N(id, 1, 1);
    line("then more", "%d %d %d %d", get(id, 0, GETZCNT), get(id, 0, GETNCNT), get(id, 1, GETZCNT),
         get(id, 1, GETNCNT));
    MUST(SEMOP(id, OP(1, 1, 0)));
    row_answer("done", job);
    remove_set(id);
}

static void timeouts(void)
{
    int id = new_set(1);
    struct timespec zero = { 0, 0 }, short_ = { 0, 30000000 }, long_ = { 1000, 0 }, huge = { 0x7fffffffffffffff, 999999999 };
    ROW("timeout 0", SEMTIMEDOP(id, &zero, OP(0, -1, 0)));
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    ROW("timeout 30 ms", SEMTIMEDOP(id, &short_, OP(0, -1, 0)));
    clock_gettime(CLOCK_MONOTONIC, &after);
    long ms = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
    line("not before its time", "%d", ms >= 29);
    ROW("none waits any more", get(id, 0, GETNCNT));
    ROW("timeout with IPC_NOWAIT", SEMTIMEDOP(id, &long_, OP(0, -1, IPC_NOWAIT)));
    struct job job = START_TIMED(id, &long_, OP(0, -1, 0));
    AWAIT_N(id, 0, 1);
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_answer("woken long before", job);
    job = START_TIMED(id, &huge, OP(0, -1, 0));
    AWAIT_N(id, 0, 1);
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_answer("the longest timeout", job);
    MUST(set_value(id, 0, 1));
    ROW("wait for zero with timeout", SEMTIMEDOP(id, &short_, OP(0, 0, 0)));
    ROW("two operations with timeout", SEMTIMEDOP(id, &short_, OP(0, -1, 0), OP(0, -1, 0)));
    row_values("values", id);
    ROW("pid of a timeout", get(id, 0, GETPID) == getpid());
    remove_set(id);
}

static volatile sig_atomic_t handled;

static void handler(int signal)
{
    (void)signal;
    handled++;
}

/* A process that installs a handler, sleeps in semop and reports the result. */
static struct job interruptible(int id, int flags)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
    MUST(sigaction(SIGUSR1, &action, NULL));
    struct job job = START(id, OP(0, -1, 0));
    AWAIT_N(id, 0, 1);
    return job;
}

static void interrupted(void)
{
    int id = new_set(1);
    struct job job = interruptible(id, 0);
    kill(job.pid, SIGUSR1);
    row_answer("a handler", job);
    ROW("none waits any more", get(id, 0, GETNCNT));
    job = interruptible(id, SA_RESTART);
    kill(job.pid, SIGUSR1);
    row_answer("a handler with SA_RESTART", job);
    ROW("none waits any more", get(id, 0, GETNCNT));
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_values("nothing was taken", id);
    MUST(SEMOP(id, OP(0, -1, 0)));

    signal(SIGUSR1, SIG_IGN);
    job = START(id, OP(0, -1, 0));
    AWAIT_N(id, 0, 1);
    kill(job.pid, SIGUSR1);
    line("an ignored signal leaves it asleep", "%d", sleeps(job));
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_answer("and +1 wakes it", job);

    signal(SIGUSR1, SIG_DFL);
    job = START(id, OP(0, -1, 0));
    AWAIT_N(id, 0, 1);
    kill(job.pid, SIGUSR1);
    row_answer("killed", job);
    AWAIT_N(id, 0, 0);
    ROW("none waits any more", get(id, 0, GETNCNT));
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_values("nothing goes to the dead", id);

    MUST(set_value(id, 0, 0));
    job = START(id, OP(0, -1, 0));
    AWAIT_N(id, 0, 1);
    kill(job.pid, SIGKILL);
    row_answer("SIGKILL", job);
    AWAIT_N(id, 0, 0);
    remove_set(id);
}

static void removed(void)
{
    int id = new_set(2);
    MUST(set_value(id, 1, 1));
    struct job take = START(id, OP(0, -1, 0)), zero = START(id, OP(1, 0, 0)),
               both = START(id, OP(1, -1, 0), OP(0, -1, 0));
    AWAIT_N(id, 0, 2);
    AWAIT_Z(id, 1, 1);
    MUST(semctl(id, 0, IPC_RMID));
    row_answer("removed: take", take);
    row_answer("removed: zero", zero);
    row_answer("removed: both", both);
    ROW("afterwards", SEMOP(id, OP(0, 1, 0)));
}

static void range_after_sleep(void)
{
    int id = new_set(2);
    MUST(set_value(id, 1, 32767));
    struct job job = START(id, OP(0, -1, 0), OP(1, 1, 0));
    AWAIT_N(id, 0, 1);
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_answer("an overflow that appears later", job);
    row_values("values", id);
    ROW("none waits any more", get(id, 0, GETNCNT));
    remove_set(id);
}

static void nowait_after_sleep(void)
{
    int id = new_set(2);
    struct job job = START(id, OP(0, -1, 0), OP(1, -1, IPC_NOWAIT));
    AWAIT_N(id, 0, 1);
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_answer("blocked later by an op with IPC_NOWAIT", job);
    row_values("values", id);
    remove_set(id);
}

static void recorded(void)
{
    int id = new_set(2);
    struct semid_ds ds;
    struct job job = START(id, OP(0, 0, 0), OP(1, -1, 0));
    AWAIT_N(id, 1, 1);
    MUST(semctl(id, 0, IPC_STAT, (union semun){ .buf = &ds }));
    line("asleep: no otime", "%ld", (long)ds.sem_otime);
    row_pid("asleep: no pid", id, 0, job.pid);
    time_t before = time(NULL);
    MUST(set_value(id, 1, 1));
    row_answer("woken by SETVAL", job);
    MUST(semctl(id, 0, IPC_STAT, (union semun){ .buf = &ds }));
    line("the sleeper's otime is now", "%d", ds.sem_otime >= before);
    row_pid("pid of the wait for zero", id, 0, job.pid);
    row_pid("pid of the take", id, 1, job.pid);
    remove_set(id);
}

static void *poster(void *id)
{
    AWAIT_N(*(int *)id, 0, 1);
    MUST(SEMOP(*(int *)id, OP(0, 1, 0)));
    return NULL;
}

static void threads(void)
{
    int id = new_set(1);
    pthread_t thread;
    pthread_create(&thread, NULL, poster, &id);
    ROW("a thread wakes a thread", SEMOP(id, OP(0, -1, 0)));
    pthread_join(thread, NULL);
    ROW("sempid is the process", get(id, 0, GETPID) == getpid());
    remove_set(id);
}

/* State S in /proc/PID/stat: a sleeper sleeps. */
static void state(void)
{
    int id = new_set(1);
    struct job job = START(id, OP(0, -1, 0));
    AWAIT_N(id, 0, 1);
    char path[64], text[512] = "", state = '?';
    while (state != 'S') {
        usleep(1000);
        snprintf(path, sizeof path, "/proc/%d/stat", job.pid);
        FILE *f = fopen(path, "r");
        if (f != NULL && fgets(text, sizeof text, f) != NULL && strrchr(text, ')') != NULL)
            state = strrchr(text, ')')[2];
        if (f != NULL)
            fclose(f);
    }
    line("state of a sleeper", "%c", state);
    finish(job);
    remove_set(id);
}

int main(void)
{
    woken();
    by_semctl();
    counted_where_it_blocks();
    timeouts();
    interrupted();
    removed();
    range_after_sleep();
    nowait_after_sleep();
    recorded();
    threads();
    state();
    return 0;
}
