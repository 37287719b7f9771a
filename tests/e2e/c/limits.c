/* The limits are settings of the IPC namespace, and live: kernel.sem of proc(5). */
#include "check.h"

static struct sembuf many[600];

static void set_limits(int msl, int mns, int opm, int mni)
{
    FILE *f = fopen("/proc/sys/kernel/sem", "w");
    if (f == NULL || fprintf(f, "%d %d %d %d\n", msl, mns, opm, mni) < 0 || fclose(f) != 0) {
        line("kernel.sem", "skipped, it cannot be written");
        exit(0);
    }
}

/* As many sets as the kernel has unless told otherwise, at once. */
static void all_of_them(void)
{
    enum { MANY = 32000 };
    static int ids[MANY];
    int made = 0, wrong = 0;
    set_limits(32000, 1024000000, 500, MANY);
    while (made < MANY && (ids[made] = semget(0x10000 + made, 1 + made % 3, IPC_CREAT | IPC_EXCL | 0600)) != -1)
        made++;
    line("sets", "%d", made);
    ROW("one more", semget(IPC_PRIVATE, 1, 0600));
    struct seminfo info;
    ROW("SEM_INFO", semctl(0, 0, SEM_INFO, (union semun){ .info = &info }));
    line("SEM_INFO", "%d sets, %d semaphores", info.semusz, info.semaem);
    for (int i = 0; i < MANY; i++)
        wrong += semget(0x10000 + i, 1, 0) != ids[i];
    for (int i = 0; i < MANY; i += 7)
        wrong += SEMOP(ids[i], OP(0, 3, 0), OP(0, -1, 0)) != 0 || get(ids[i], 0, GETVAL) != 2;
    line("found", "%d wrong", wrong);
    for (int i = 0; i < MANY; i += 2)
        remove_set(ids[i]);
    for (int i = 0; i < MANY; i++)
        wrong += semget(0x10000 + i, 1, 0) != (i % 2 ? ids[i] : -1);
    for (int i = 0; i < MANY; i += 2)
        wrong += (ids[i] = semget(0x10000 + i, 1, IPC_CREAT | 0600)) == -1;
    ROW("one more again", semget(IPC_PRIVATE, 1, 0600));
    line("half of them anew", "%d wrong", wrong);
    for (int i = 0; i < MANY; i++)
        remove_set(ids[i]);
    ROW("none is left", semctl(0, 0, SEM_INFO, (union semun){ .info = &info }));
    line("none is left", "%d sets, %d semaphores", info.semusz, info.semaem);
}

int main(void)
{
    struct seminfo info;
    if (!alone()) {
        line("limits", "skipped, not root");
        return 0;
    }
    set_limits(6, 10, 502, 3);
    MUST(semctl(0, 0, IPC_INFO, (union semun){ .info = &info }));
    line("as set", "%d %d %d %d", info.semmsl, info.semmns, info.semopm, info.semmni);

    ROW("over SEMMSL", semget(IPC_PRIVATE, 7, 0600));
    int a = semget(IPC_PRIVATE, 6, 0600);
    line("SEMMSL", "%s", a >= 0 ? "an id" : errno_name(errno));
    ROW("over SEMMNS", semget(IPC_PRIVATE, 5, 0600));
    int b = semget(IPC_PRIVATE, 4, 0600);
    line("SEMMNS", "%s", b >= 0 ? "an id" : errno_name(errno));
    ROW("one more than SEMMNS", semget(IPC_PRIVATE, 1, 0600));
    remove_set(b);
    ROW_ID("room again", b = semget(IPC_PRIVATE, 1, 0600));
    int c = semget(IPC_PRIVATE, 1, 0600);
    line("SEMMNI", "%s", c >= 0 ? "an id" : errno_name(errno));
    ROW("one more than SEMMNI", semget(IPC_PRIVATE, 1, 0600));
    ROW("one more than SEMMNI with a key", semget(own_key(1), 1, IPC_CREAT | 0600));
    ROW("the key was not made", semget(own_key(1), 1, 0));
    remove_set(c);
    ROW_ID("room again", c = semget(IPC_PRIVATE, 1, 0600));

    for (unsigned i = 0; i < COUNT(many); i++)
        many[i] = OP(i % 6, 1, 0);
    ROW("SEMOPM raised", semop(a, many, 502));
    ROW("over SEMOPM", semop(a, many, 503));
    row_values("values", a);

    set_limits(2, 100, 501, 10);
    ROW("SEMMSL lowered: existing sets stay", SEMOP(a, OP(5, 1, 0)));
    ROW("SEMMSL lowered: new ones obey", semget(IPC_PRIVATE, 3, 0600));
    ROW("SEMOPM lowered", semop(a, many, 502));
    int d = semget(IPC_PRIVATE, 2, 0600);
    line("SEMMNI raised", "%s", d >= 0 ? "an id" : errno_name(errno));
    set_limits(2, 100, 501, 1);
    ROW("SEMMNI lowered below what there is", semget(IPC_PRIVATE, 1, 0600));
    ROW("which still works", SEMOP(d, OP(0, 1, 0)));
    remove_set(a);
    remove_set(b);
    remove_set(c);
    remove_set(d);
    all_of_them();
    return 0;
}
