/* semop(2) and semtimedop(2) that do not sleep: order of errors, the vector, what is recorded. */
#include "check.h"

static void row_pids(const char *row, int id, int n)
{
    char text[128] = "";
    for (int i = 0; i < n; i++) {
        int pid = get(id, i, GETPID);
        strcat(text, pid == 0 ? " none" : pid == getpid() ? " self" : " other");
    }
    line(row, "%s", text + 1);
}

static long otime(int id)
{
    struct semid_ds ds;
    MUST(semctl(id, 0, IPC_STAT, (union semun){ .buf = &ds }));
    return (long)ds.sem_otime;
}

static void order_of_errors(int id)
{
    static struct sembuf many[501];
    struct sembuf one = OP(0, 0, IPC_NOWAIT), far = OP(9, 0, IPC_NOWAIT);
    struct timespec zero = { 0, 0 }, bad = { 0, 1000000000 }, negative = { -1, 0 }, below = { 0, -1 };
    struct sembuf *nowhere = (struct sembuf *)8;
    struct timespec *never = (struct timespec *)8;

    ROW("over SEMOPM", semop(id, many, 501));
    ROW("over SEMOPM, id -1", semop(-1, many, 501));
    ROW("over SEMOPM, bad pointer", semop(id, nowhere, 501));
    ROW("SIZE_MAX operations", semop(id, many, (size_t)-1));
    ROW("over SEMOPM by bits above 32", semop(id, &one, (size_t)1 << 32 | 1));
    ROW("SEMOPM operations", semop(id, many, 500));
    ROW("no operations", semop(id, &one, 0));
    ROW("no operations, id -1", semop(-1, &one, 0));
    ROW("no operations, bad pointer", semop(id, nowhere, 0));
    ROW("bad pointer", semop(id, nowhere, 1));
    ROW("bad pointer, id -1", semop(-1, nowhere, 1));
    ROW("null pointer", semop(id, NULL, 1));
    ROW("bad timeout pointer", semtimedop(id, &one, 1, never));
    ROW("bad timeout pointer, id -1", semtimedop(-1, &one, 1, never));
    ROW("bad timeout pointer, bad operations", semtimedop(id, nowhere, 1, never));
    ROW("bad timeout pointer, over SEMOPM", semtimedop(id, many, 501, never));
    ROW("bad nanoseconds", semtimedop(id, &one, 1, &bad));
    ROW("bad nanoseconds, id -1", semtimedop(-1, &one, 1, &bad));
    ROW("bad nanoseconds, no operations", semtimedop(id, &one, 0, &bad));
    ROW("bad nanoseconds, over SEMOPM", semtimedop(id, many, 501, &bad));
    ROW("bad nanoseconds, bad operations", semtimedop(id, nowhere, 1, &bad));
    ROW("negative seconds", semtimedop(id, &one, 1, &negative));
    ROW("negative nanoseconds", semtimedop(id, &one, 1, &below));
    ROW("id -1", semop(-1, &one, 1));
    ROW("id 0x7fffffff", semop(0x7fffffff, &one, 1));
    ROW("id -1, index too large", semop(-1, &far, 1));
    ROW("index too large", semop(id, &far, 1));
    ROW("index 65535", SEMOP(id, OP(65535, 1, 0)));
    ROW("index just too large", SEMOP(id, OP(3, 0, IPC_NOWAIT)));
    ROW("index too large behind a blocking one", SEMOP(id, OP(0, -1, IPC_NOWAIT), OP(3, 1, 0)));
    ROW("index too large behind an overflow", SEMOP(id, OP(0, 32767, 0), OP(0, 1, 0), OP(3, 1, 0)));
    ROW("good timeout, nothing to wait for", semtimedop(id, &one, 1, &zero));
    row_values("values are still", id);
}

static void vectors(int id)
{
    ROW("each sees the ones before", SEMOP(id, OP(0, 1, 0), OP(0, -1, 0), OP(0, 0, 0)));
    row_values("then", id);
    ROW("take, then give", SEMOP(id, OP(0, -1, IPC_NOWAIT), OP(0, 1, 0)));
    ROW("give, then take", SEMOP(id, OP(0, 1, IPC_NOWAIT), OP(0, -1, 0)));
    ROW("give 2 twice, take 3", SEMOP(id, OP(1, 2, 0), OP(1, 2, 0), OP(1, -3, 0)));
    row_values("then", id);
    ROW("all or nothing", SEMOP(id, OP(0, 5, 0), OP(2, -1, IPC_NOWAIT)));
    row_values("then", id);
    ROW("zero wanted, is one", SEMOP(id, OP(1, 0, IPC_NOWAIT)));
    ROW("IPC_NOWAIT of the blocking one counts", SEMOP(id, OP(0, 1, 0), OP(2, -1, IPC_NOWAIT)));
    struct timespec zero = { 0, 0 };
    ROW("IPC_NOWAIT of another does not", SEMTIMEDOP(id, &zero, OP(0, 1, IPC_NOWAIT), OP(2, -1, 0)));
    ROW("timeout zero, blocking", SEMTIMEDOP(id, &zero, OP(2, -1, 0)));
    ROW("timeout zero, possible", SEMTIMEDOP(id, &zero, OP(2, 1, 0)));
    ROW("unknown flags are ignored", SEMOP(id, OP(2, -1, 0x4000 | IPC_NOWAIT)));
    row_values("then", id);
    ROW("same semaphore, many times",
        SEMOP(id, OP(0, 1, 0), OP(0, 1, 0), OP(0, 1, 0), OP(0, -2, 0), OP(0, -1, 0), OP(0, 0, 0)));
    ROW("zero behind a give", SEMOP(id, OP(0, 1, 0), OP(0, 0, IPC_NOWAIT)));
    row_values("then", id);
}

static void range(int id)
{
    MUST(set_value(id, 0, 32767));
    MUST(set_value(id, 1, 0));
    ROW("over SEMVMX", SEMOP(id, OP(0, 1, 0)));
    ROW("over SEMVMX with IPC_NOWAIT", SEMOP(id, OP(0, 1, IPC_NOWAIT)));
    ROW("over SEMVMX by much", SEMOP(id, OP(0, 32767, 0)));
    ROW("back in time", SEMOP(id, OP(0, -1, 0), OP(0, 1, 0)));
    ROW("over on the way", SEMOP(id, OP(0, 1, 0), OP(0, -1, 0)));
    ROW("a blocking one before the overflow", SEMOP(id, OP(1, -1, IPC_NOWAIT), OP(0, 1, 0)));
    ROW("an overflow before the blocking one", SEMOP(id, OP(0, 1, 0), OP(1, -1, IPC_NOWAIT)));
    ROW("all of it", SEMOP(id, OP(0, -32767, 0)));
    ROW("take -32768", SEMOP(id, OP(0, -32768, IPC_NOWAIT)));
    ROW("give 32767", SEMOP(id, OP(0, 32767, 0)));
    MUST(set_value(id, 0, 0));
    row_values("then", id);
}

static void records(void)
{
    int id = new_set(4);
    line("otime of a new set", "%ld", otime(id));
    ROW("blocked", SEMOP(id, OP(0, 1, 0), OP(1, -1, IPC_NOWAIT)));
    row_pids("a failure sets no pid", id, 4);
    line("nor otime", "%ld", otime(id));
    ROW("zero", SEMOP(id, OP(1, 0, 0)));
    row_pids("a wait for zero sets it", id, 4);
    line("and otime is now", "%d", otime(id) >= time(NULL) - 2);
    ROW("two", SEMOP(id, OP(2, 1, 0), OP(3, 0, 0)));
    row_pids("only those named", id, 4);
    IN_CHILD(MUST(SEMOP(id, OP(2, 1, 0))));
    row_pids("the last one counts", id, 4);
    remove_set(id);
}

static void removed(void)
{
    int id = new_set(1);
    remove_set(id);
    ROW("removed", SEMOP(id, OP(0, 1, 0)));
    ROW("removed, index too large", SEMOP(id, OP(7, 1, 0)));
    ROW("removed twice", semctl(id, 0, IPC_RMID));
    ROW("removed, zero", SEMOP(id, OP(0, 0, IPC_NOWAIT)));
}

int main(void)
{
    int id = new_set(3);
    order_of_errors(id);
    vectors(id);
    range(id);
    remove_set(id);
    records();
    removed();

    id = new_set(1);
    ROW("by number: semop", syscall(SYS_semop, id, (struct sembuf[]){ OP(0, 3, 0) }, 1L));
    ROW("by number: semctl GETVAL", syscall(SYS_semctl, id, 0, GETVAL, 0));
    ROW("by number: semtimedop", syscall(SYS_semtimedop, id, (struct sembuf[]){ OP(0, -3, 0) }, 1L, NULL));
    ROW("by number: blocked", syscall(SYS_semop, id, (struct sembuf[]){ OP(0, -3, IPC_NOWAIT) }, 1L));
    ROW("by number: IPC_RMID", syscall(SYS_semctl, id, 0, IPC_RMID, 0));
    ROW_ID("by number: semget", id = (int)syscall(SYS_semget, IPC_PRIVATE, 1, 0600));
    ROW("both ways lead to the same set", SEMOP(id, OP(0, 1, 0)));
    remove_set(id);
    return 0;
}
