/* semctl(2): every command, its errors in their order, what it changes. */
#include "check.h"

static struct semid_ds stat_of(int id)
{
    struct semid_ds ds;
    memset(&ds, 0, sizeof ds);
    MUST(semctl(id, 0, IPC_STAT, (union semun){ .buf = &ds }));
    return ds;
}

static void values(int id)
{
    ROW("SETVAL", set_value(id, 1, 7));
    ROW("GETVAL", get(id, 1, GETVAL));
    ROW("SETVAL 32767", set_value(id, 1, 32767));
    ROW("GETVAL", get(id, 1, GETVAL));
    ROW("SETVAL 32768", set_value(id, 1, 32768));
    ROW("SETVAL -1", set_value(id, 1, -1));
    ROW("SETVAL 32768, id -1", set_value(-1, 1, 32768));
    ROW("SETVAL 32768, bad index", set_value(id, 99, 32768));
    ROW("SETVAL, id -1", set_value(-1, 1, 1));
    ROW("SETVAL, index 3", set_value(id, 3, 1));
    ROW("SETVAL, index -1", set_value(id, -1, 1));
    /* The upper half of the union is not part of an int. */
    ROW("SETVAL, upper half set", semctl(id, 1, SETVAL, 0x1234567800000005L));
    ROW("GETVAL", get(id, 1, GETVAL));
    int commands[] = { GETVAL, GETPID, GETNCNT, GETZCNT };
    const char *names[] = { "GETVAL", "GETPID", "GETNCNT", "GETZCNT" };
    for (int i = 0; i < 4; i++) {
        char row[64];
        snprintf(row, sizeof row, "%s, index 3", names[i]);
        ROW(row, get(id, 3, commands[i]));
        snprintf(row, sizeof row, "%s, index -1", names[i]);
        ROW(row, get(id, -1, commands[i]));
        snprintf(row, sizeof row, "%s, id -1", names[i]);
        ROW(row, get(-1, 0, commands[i]));
        snprintf(row, sizeof row, "%s, id -1, index -1", names[i]);
        ROW(row, get(-1, -1, commands[i]));
    }
    unsigned short good[3] = { 1, 2, 3 }, large[3] = { 4, 32768, 6 }, seen[4] = { 0, 0, 0, 77 };
    ROW("SETALL", semctl(id, 99, SETALL, (union semun){ .array = good }));
    ROW("GETALL", semctl(id, 99, GETALL, (union semun){ .array = seen }));
    line("values", "%u %u %u, untouched %u", seen[0], seen[1], seen[2], seen[3]);
    ROW("SETALL with 32768", semctl(id, 0, SETALL, (union semun){ .array = large }));
    row_values("nothing was set", id);
    ROW("SETALL, id -1", semctl(-1, 0, SETALL, (union semun){ .array = good }));
    ROW("GETALL, id -1", semctl(-1, 0, GETALL, (union semun){ .array = seen }));
}

static void unknown(int id)
{
    ROW("command 99", semctl(id, 0, 99));
    ROW("command -1", semctl(id, 0, -1));
    ROW("command 99, id -1", semctl(-1, 0, 99));
    ROW("command 4", semctl(id, 0, 4));
    ROW("command 10", semctl(id, 0, 10));
    ROW("GETVAL with bit 0x100", semctl(id, 0, GETVAL | 0x100));
    ROW("IPC_STAT, id -1", semctl(-1, 0, IPC_STAT, (union semun){ .buf = &(struct semid_ds){ 0 } }));
    ROW("IPC_STAT, index -5", semctl(id, -5, IPC_STAT, (union semun){ .buf = &(struct semid_ds){ 0 } }));
    ROW("IPC_RMID, id -1", semctl(-1, 0, IPC_RMID));
    ROW("IPC_SET, id -1", semctl(-1, 0, IPC_SET, (union semun){ .buf = &(struct semid_ds){ 0 } }));
    ROW("id 0x7fffffff", semctl(0x7fffffff, 0, GETVAL));
    ROW("id -2147483648", semctl((int)0x80000000, 0, GETVAL));
    ROW("an id that was never given", get(id + 1, 0, GETVAL));
}

/* Times of a set count seconds. */
static void await_next_second(void)
{
    for (time_t now = time(NULL); time(NULL) == now;)
        usleep(2000);
}

static void records(void)
{
    int id = new_set(3);
    ROW("pid of a new set", get(id, 0, GETPID));
    MUST(set_value(id, 0, 1));
    line("SETVAL sets the pid", "%d %d", get(id, 0, GETPID) == getpid(), get(id, 1, GETPID) == getpid());
    struct semid_ds ds = stat_of(id);
    line("SETVAL sets no otime", "%ld", (long)ds.sem_otime);
    unsigned short all[3] = { 1, 2, 3 };
    IN_CHILD(MUST(semctl(id, 0, SETALL, (union semun){ .array = all })));
    line("SETALL sets all pids", "%d", get(id, 0, GETPID) != getpid() && get(id, 2, GETPID) != 0);
    line("SETALL sets no otime", "%ld", (long)stat_of(id).sem_otime);
    time_t created = stat_of(id).sem_ctime;
    await_next_second();
    MUST(SEMOP(id, OP(0, 1, 0)));
    ds = stat_of(id);
    line("semop: otime, not ctime", "%d %d", ds.sem_otime > created, ds.sem_ctime == created);
    time_t operated = ds.sem_otime;
    MUST(set_value(id, 0, 1));
    line("SETVAL: ctime", "%d", stat_of(id).sem_ctime > created);
    await_next_second();
    MUST(semctl(id, 0, SETALL, (union semun){ .array = all }));
    ds = stat_of(id);
    line("SETALL: ctime, not otime", "%d %d", ds.sem_ctime > created + 1, ds.sem_otime == operated);
    MUST(get(id, 0, GETVAL));
    created = ds.sem_ctime;
    await_next_second();
    ds.sem_perm.mode = 0640;
    MUST(semctl(id, 0, IPC_SET, (union semun){ .buf = &ds }));
    line("IPC_SET: ctime", "%d", stat_of(id).sem_ctime > created);
    remove_set(id);
}

static void set_owner(void)
{
    int id = new_set(2);
    struct semid_ds ds = stat_of(id), wanted;
    memset(&wanted, 0xff, sizeof wanted);
    wanted.sem_perm.uid = ds.sem_perm.uid;
    wanted.sem_perm.gid = ds.sem_perm.gid;
    wanted.sem_perm.mode = 07652;
    ROW("IPC_SET", semctl(id, 0, IPC_SET, (union semun){ .buf = &wanted }));
    struct semid_ds now = stat_of(id);
    line("mode keeps nine bits", "%o", now.sem_perm.mode);
    line("key, creator, otime, nsems stay", "%d %d %d %d %d", now.sem_perm.__key == ds.sem_perm.__key,
         now.sem_perm.cuid == ds.sem_perm.cuid, now.sem_perm.cgid == ds.sem_perm.cgid,
         now.sem_otime == ds.sem_otime, now.sem_nsems == ds.sem_nsems);
    wanted.sem_perm.mode = 0600;
    wanted.sem_perm.uid = (uid_t)-1;
    ROW("IPC_SET uid -1", semctl(id, 0, IPC_SET, (union semun){ .buf = &wanted }));
    wanted.sem_perm.uid = ds.sem_perm.uid;
    wanted.sem_perm.gid = (gid_t)-1;
    ROW("IPC_SET gid -1", semctl(id, 0, IPC_SET, (union semun){ .buf = &wanted }));
    line("mode after refusals", "%o", stat_of(id).sem_perm.mode);
    remove_set(id);
}

/* Commands that list sets, by index and as counts. Only in a namespace without sets of other programs. */
static void listing(void)
{
    struct seminfo info;
    struct semid_ds ds;
    memset(&info, 0xff, sizeof info);
    ROW("IPC_INFO, no set", semctl(0, 0, IPC_INFO, (union semun){ .info = &info }));
    line("limits", "mni %d mns %d msl %d opm %d vmx %d", info.semmni, info.semmns, info.semmsl, info.semopm,
         info.semvmx);
    line("old fields", "map %d mnu %d ume %d usz %d aem %d", info.semmap, info.semmnu, info.semume, info.semusz,
         info.semaem);
    ROW("SEM_INFO, no set", semctl(0, 0, SEM_INFO, (union semun){ .info = &info }));
    line("in use", "sets %d, semaphores %d", info.semusz, info.semaem);
    ROW("SEM_STAT 0, no set", semctl(0, 0, SEM_STAT, (union semun){ .buf = &ds }));
    ROW("SEM_STAT_ANY 0, no set", semctl(0, 0, SEM_STAT_ANY, (union semun){ .buf = &ds }));

    int a = new_set(3), b = new_set(4), c = new_set(5);
    int highest = semctl(0, 0, IPC_INFO, (union semun){ .info = &info });
    line("highest index with three sets", "%d", highest);
    ROW("SEM_INFO answers the same", semctl(0, 0, SEM_INFO, (union semun){ .info = &info }) - highest);
    line("in use", "sets %d, semaphores %d", info.semusz, info.semaem);
    int ids[] = { a, b, c };
    for (int i = 0; i < 3; i++) {
        memset(&ds, 0xff, sizeof ds);
        line("SEM_STAT answers the id", "%d", semctl(i, 0, SEM_STAT, (union semun){ .buf = &ds }) == ids[i]);
        line("and fills", "nsems %lu mode %o", (unsigned long)ds.sem_nsems, ds.sem_perm.mode);
        memset(&ds, 0xff, sizeof ds);
        line("SEM_STAT_ANY", "%d", semctl(i, 0, SEM_STAT_ANY, (union semun){ .buf = &ds }) == ids[i]);
        line("and fills", "nsems %lu", (unsigned long)ds.sem_nsems);
    }
    ROW("SEM_STAT behind the last", semctl(3, 0, SEM_STAT, (union semun){ .buf = &ds }));
    ROW("SEM_STAT -1", semctl(-1, 0, SEM_STAT, (union semun){ .buf = &ds }));
    ROW("SEM_STAT 1000000", semctl(1000000, 0, SEM_STAT, (union semun){ .buf = &ds }));
    remove_set(b);
    ROW("SEM_STAT of a removed one", semctl(1, 0, SEM_STAT, (union semun){ .buf = &ds }));
    ROW("highest index without the middle one", semctl(0, 0, IPC_INFO, (union semun){ .info = &info }));
    remove_set(c);
    ROW("highest index without the last", semctl(0, 0, IPC_INFO, (union semun){ .info = &info }));
    ROW("IPC_INFO, id -1", semctl(-1, 0, IPC_INFO, (union semun){ .info = &info }));
    ROW("SEM_INFO, id -1", semctl(-1, 0, SEM_INFO, (union semun){ .info = &info }));
    int d = new_set(1);
    line("the next id is another", "%d", d != b && d != c);
    remove_set(a);
    remove_set(d);
    ROW("all gone: SEM_INFO", semctl(0, 0, SEM_INFO, (union semun){ .info = &info }));
    line("in use", "sets %d, semaphores %d", info.semusz, info.semaem);
}

int main(void)
{
    if (alone())
        listing();
    else
        line("listing", "skipped, not root");
    int id = new_set(3);
    values(id);
    unknown(id);
    remove_set(id);
    records();
    set_owner();
    return 0;
}
