/* semget(2): errors in their order, what a new set looks like, ids and keys. */
#include "check.h"

int main(void)
{
    key_t key = own_key(1), absent = own_key(2);

    ROW("no key, no IPC_CREAT", semget(absent, 1, 0600));
    ROW("nsems 0 without a set", semget(absent, 0, 0600));
    ROW("create with nsems 0", semget(absent, 0, IPC_CREAT | 0600));
    ROW("create with nsems -1", semget(absent, -1, IPC_CREAT | 0600));
    ROW("create with nsems over SEMMSL", semget(absent, 1000000, IPC_CREAT | 0600));
    ROW("private with nsems 0", semget(IPC_PRIVATE, 0, 0600));
    ROW("private with nsems -1", semget(IPC_PRIVATE, -1, 0600));
    ROW("private with nsems over SEMMSL", semget(IPC_PRIVATE, 1000000, 0600));

    int id = semget(key, 3, IPC_CREAT | 0640);
    line("create", "%s", id >= 0 ? "an id" : errno_name(errno));
    ROW("found: same id", semget(key, 3, 0) == id);
    ROW("found with IPC_CREAT", semget(key, 3, IPC_CREAT | 0600) == id);
    ROW("found with fewer", semget(key, 1, 0) == id);
    ROW("found with nsems 0", semget(key, 0, 0) == id);
    ROW("IPC_EXCL without IPC_CREAT finds", semget(key, 3, IPC_EXCL) == id);
    ROW("more than it has", semget(key, 4, 0));
    ROW("IPC_CREAT|IPC_EXCL", semget(key, 3, IPC_CREAT | IPC_EXCL | 0600));
    ROW("IPC_EXCL before size", semget(key, 4, IPC_CREAT | IPC_EXCL | 0600));
    ROW("nsems -1 though it exists", semget(key, -1, 0));
    ROW("nsems over SEMMSL though it exists", semget(key, 1000000, 0));
    ROW("IPC_EXCL after a bad nsems", semget(key, -1, IPC_CREAT | IPC_EXCL | 0600));

    struct semid_ds ds;
    memset(&ds, 0xff, sizeof ds);
    time_t now = time(NULL);
    ROW("stat of the new set", semctl(id, 0, IPC_STAT, (union semun){ .buf = &ds }));
    line("mode", "%o", ds.sem_perm.mode);
    line("owner and creator are the effective ids", "%d %d %d %d", ds.sem_perm.uid == geteuid(),
         ds.sem_perm.cuid == geteuid(), ds.sem_perm.gid == getegid(), ds.sem_perm.cgid == getegid());
    line("key", "%d", ds.sem_perm.__key == key);
    line("otime", "%ld", (long)ds.sem_otime);
    line("ctime is now", "%d", ds.sem_ctime >= now - 2 && ds.sem_ctime <= now + 2);
    line("nsems", "%lu", (unsigned long)ds.sem_nsems);
    row_values("values", id);
    for (int i = 0; i < 3; i++)
        ROW("sempid", get(id, i, GETPID));

    /* The idiom by which the second comer waits until the first has initialised: Stevens, UNP 2. */
    MUST(SEMOP(id, OP(0, 1, 0)));
    MUST(semctl(id, 0, IPC_STAT, (union semun){ .buf = &ds }));
    line("otime after a semop is now", "%d", ds.sem_otime >= now && ds.sem_otime <= now + 5);

    remove_set(id);
    ROW("gone", semget(key, 0, 0));
    int again = (int)MUST(semget(key, 1, IPC_CREAT | 0777));
    line("the next id is another", "%d", again != id);
    ROW("the old id is invalid", get(id, 0, GETVAL));
    MUST(semctl(again, 0, IPC_STAT, (union semun){ .buf = &ds }));
    line("mode 0777", "%o", ds.sem_perm.mode);
    remove_set(again);

    int modes[] = { 0, 0777, 01777, 07777, 0111 };
    for (unsigned i = 0; i < COUNT(modes); i++) {
        int set = (int)MUST(semget(IPC_PRIVATE, 1, modes[i]));
        int stat = semctl(set, 0, IPC_STAT, (union semun){ .buf = &ds });
        line("mode of private", "%o -> %o", modes[i], stat == 0 ? ds.sem_perm.mode : 0);
        remove_set(set);
    }

    int a = new_set(1), b = new_set(1);
    line("IPC_PRIVATE creates each time", "%d", a != b);
    MUST(semctl(a, 0, IPC_STAT, (union semun){ .buf = &ds }));
    line("key of a private set", "%d", (int)ds.sem_perm.__key);
    int zero = 0;
    ROW_ID("key 0 with IPC_CREAT|IPC_EXCL", zero = semget(0, 1, IPC_CREAT | IPC_EXCL | 0600));
    remove_set(zero);
    remove_set(a);
    remove_set(b);

    /* Keys of every shape. */
    key_t keys[] = { -1, (key_t)0x80000001, 0x7fffffff, 1 };
    for (unsigned i = 0; i < COUNT(keys); i++) {
        key_t k = keys[i] ^ (key_t)((unsigned)getpid() << 8 & 0x3fffff00);
        int set = (int)MUST(semget(k, 2, IPC_CREAT | 0600));
        ROW("odd key found", semget(k, 2, 0) == set);
        remove_set(set);
        ROW("odd key gone", semget(k, 2, 0));
    }

    /* Many sets at once, removed in another order, found until then. */
    enum { MANY = 300 };
    static int ids[MANY];
    int found = 0, distinct = 1, gone = 0;
    for (int i = 0; i < MANY; i++)
        ids[i] = (int)MUST(semget((key_t)(0x10000000u | (unsigned)(getpid() & 0xfffff) << 9 | (unsigned)i), 1 + i % 5,
                                  IPC_CREAT | IPC_EXCL | 0600));
    for (int i = 0; i < MANY; i++) {
        found += semget((key_t)(0x10000000u | (unsigned)(getpid() & 0xfffff) << 9 | (unsigned)i), 0, 0) == ids[i];
        for (int j = 0; j < i; j++)
            distinct &= ids[i] != ids[j];
    }
    for (int i = 0; i < MANY; i += 2)
        remove_set(ids[i]);
    for (int i = 1; i < MANY; i += 2)
        remove_set(ids[i]);
    for (int i = 0; i < MANY; i++)
        gone += get(ids[i], 0, GETVAL) == -1 && errno == EINVAL;
    line("many sets", "found %d, distinct %d, gone %d", found, distinct, gone);
    return 0;
}
