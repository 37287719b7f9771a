/* Permissions (ipcperms in the kernel): owner, group and others; the first class that fits decides. */
#include "users.h"

static void try_all(const char *who, int id, key_t key)
{
    char row[64];
    struct semid_ds ds;
    unsigned short values[2] = { 0, 0 };
    TRY("semget asking nothing", semget(key, 0, 0) == id ? 0 : -1);
    TRY("semget asking read", semget(key, 0, 0444) == id ? 0 : -1);
    TRY("semget asking alter", semget(key, 0, 0222) == id ? 0 : -1);
    TRY("semget asking both", semget(key, 0, 0600) == id ? 0 : -1);
    TRY("semget with too many", semget(key, 9, 0600) == id ? 0 : -1);
    TRY("semop zero", SEMOP(id, OP(1, 0, IPC_NOWAIT)));
    TRY("semop alter", SEMOP(id, OP(0, 1, IPC_NOWAIT)));
    TRY("semop mixed", SEMOP(id, OP(1, 0, IPC_NOWAIT), OP(0, 1, 0)));
    TRY("semop index too large", SEMOP(id, OP(9, 1, 0)));
    TRY("GETVAL", get(id, 1, GETVAL));
    TRY("GETVAL, bad index", get(id, 9, GETVAL));
    TRY("GETPID", get(id, 1, GETPID) < 0 ? -1 : 0);
    TRY("GETNCNT", get(id, 0, GETNCNT));
    TRY("GETZCNT", get(id, 0, GETZCNT));
    TRY("GETALL", semctl(id, 0, GETALL, (union semun){ .array = values }));
    TRY("SETVAL", set_value(id, 1, 0));
    TRY("SETVAL, bad index", set_value(id, 9, 0));
    TRY("SETVAL, bad value", set_value(id, 1, -1));
    TRY("SETALL", semctl(id, 0, SETALL, (union semun){ .array = values }));
    TRY("SETALL, bad pointer", semctl(id, 0, SETALL, (union semun){ .array = (unsigned short *)8 }));
    TRY("IPC_STAT", semctl(id, 0, IPC_STAT, (union semun){ .buf = &ds }));
    TRY("IPC_STAT, bad pointer", semctl(id, 0, IPC_STAT, (union semun){ .buf = (struct semid_ds *)8 }));
    TRY("SEM_STAT", semctl(0, 0, SEM_STAT, (union semun){ .buf = &ds }) == id ? 0 : -1);
    TRY("SEM_STAT_ANY", semctl(0, 0, SEM_STAT_ANY, (union semun){ .buf = &ds }) == id ? 0 : -1);
    ds.sem_perm.uid = OWNER;
    ds.sem_perm.gid = GROUP;
    ds.sem_perm.mode = 0;
    if (geteuid() == STRANGER)
        TRY("IPC_SET", semctl(id, 0, IPC_SET, (union semun){ .buf = &ds }));
    TRY("IPC_SET, bad pointer", semctl(id, 0, IPC_SET, (union semun){ .buf = (struct semid_ds *)8 }));
    if (geteuid() == STRANGER)
        TRY("IPC_RMID", semctl(id, 0, IPC_RMID));
}

static void with_mode(int mode)
{
    key_t key = own_key(mode & 63);
    line("---- mode", "%o", mode);
    /* Made by one user, given to another, so that both are owners. */
    IN_CHILD(become(CREATOR, OTHER_GROUP, 0); MUST(semget(key, 2, IPC_CREAT | IPC_EXCL | 0600)));
    int id = (int)MUST(semget(key, 0, 0));
    struct semid_ds ds;
    MUST(semctl(id, 0, IPC_STAT, (union semun){ .buf = &ds }));
    line("creator", "%u %u", ds.sem_perm.cuid, ds.sem_perm.cgid);
    ds.sem_perm.uid = OWNER;
    ds.sem_perm.gid = GROUP;
    ds.sem_perm.mode = (unsigned short)mode;
    MUST(semctl(id, 0, IPC_SET, (union semun){ .buf = &ds }));
    IN_CHILD(become(OWNER, 1, 0); try_all("owner", id, key));
    IN_CHILD(become(CREATOR, 1, 0); try_all("creator", id, key));
    IN_CHILD(become(STRANGER, GROUP, 0); try_all("group", id, key));
    IN_CHILD(become(STRANGER, OTHER_GROUP, 0); try_all("creator's group", id, key));
    IN_CHILD(become(STRANGER, 1, 0); try_all("stranger", id, key));
    try_all("root", id, key);
    MUST(semctl(id, 0, IPC_STAT, (union semun){ .buf = &ds }));
    line("after all", "%u %u %o", ds.sem_perm.uid, ds.sem_perm.gid, ds.sem_perm.mode);
    remove_set(id);
}

static void switching(void)
{
    /* Rights follow the effective id of the moment, to and fro. */
    int id = new_set(1);
    ROW("root", SEMOP(id, OP(0, 1, 0)));
    MUST(seteuid(STRANGER));
    ROW("as a stranger", SEMOP(id, OP(0, 1, 0)));
    ROW("as a stranger, IPC_RMID", semctl(id, 0, IPC_RMID));
    MUST(seteuid(0));
    ROW("root again", SEMOP(id, OP(0, 1, 0)));
    MUST((int)syscall(SYS_setresuid, -1, STRANGER, -1));
    ROW("as a stranger, by number", SEMOP(id, OP(0, 1, 0)));
    MUST((int)syscall(SYS_setresuid, -1, 0, -1));
    ROW("root again, by number", SEMOP(id, OP(0, 1, 0)));
    IN_CHILD(MUST(setgid(GROUP)); MUST(setuid(STRANGER)); ROW("a child for good", SEMOP(id, OP(0, 1, 0)));
             ROW("its own set", SEMOP(new_set(1), OP(0, 1, 0))); remove_set(semget(IPC_PRIVATE, 1, 0)));
    ROW("the parent is as before", SEMOP(id, OP(0, 1, 0)));
    /* A supplementary group counts. */
    struct semid_ds ds;
    MUST(semctl(id, 0, IPC_STAT, (union semun){ .buf = &ds }));
    ds.sem_perm.gid = EXTRA_GROUP;
    ds.sem_perm.mode = 0060;
    MUST(semctl(id, 0, IPC_SET, (union semun){ .buf = &ds }));
    IN_CHILD(become(STRANGER, 1, 1); ROW("supplementary group", SEMOP(id, OP(0, 1, 0))));
    IN_CHILD(become(STRANGER, 1, 0); ROW("without it", SEMOP(id, OP(0, 1, 0))));
    /* New sets belong to the effective user of that moment. */
    IN_CHILD(become(STRANGER, GROUP, 0); int own = new_set(1);
             MUST(semctl(own, 0, IPC_STAT, (union semun){ .buf = &ds }));
             line("made by", "%u %u %u %u", ds.sem_perm.uid, ds.sem_perm.gid, ds.sem_perm.cuid, ds.sem_perm.cgid);
             remove_set(own));
    remove_set(id);
}

int main(void)
{
    if (!can_try())
        return 0;
    int modes[] = { 0600, 0060, 0006, 0000, 0444, 0222, 0640, 0066, 0606, 0604 };
    for (unsigned i = 0; i < COUNT(modes); i++)
        with_mode(modes[i]);
    switching();
    return 0;
}
