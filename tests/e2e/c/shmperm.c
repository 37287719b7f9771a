/* Section 8, for segments: which users may find, attach, inspect and change them. */
#include "shm.h"
#include "users.h"

static void try_all(const char *who, int id, key_t key)
{
    char row[64];
    struct shmid_ds ds;
    memset(&ds, 0, sizeof ds);
#define TRY_ATTACH(what, address, flags) \
    (snprintf(row, sizeof row, "%s: %s", who, what), row_attach(row, id, (address), (flags)))
    TRY("shmget asking nothing", shmget(key, 0, 0) == id ? 0 : -1);
    TRY("shmget asking read", shmget(key, 0, 0444) == id ? 0 : -1);
    TRY("shmget asking write", shmget(key, 0, 0222) == id ? 0 : -1);
    TRY("shmget asking both", shmget(key, 0, IPC_CREAT | 0600) == id ? 0 : -1);
    TRY("shmget asking to execute", shmget(key, 0, 0111) == id ? 0 : -1);
    TRY("shmget too large", shmget(key, 99999, 0600) == id ? 0 : -1);
    TRY_ATTACH("shmat", NULL, 0);
    TRY_ATTACH("shmat SHM_RDONLY", NULL, SHM_RDONLY);
    TRY_ATTACH("shmat SHM_EXEC", NULL, SHM_EXEC);
    TRY_ATTACH("shmat SHM_EXEC SHM_RDONLY", NULL, SHM_EXEC | SHM_RDONLY);
    TRY_ATTACH("shmat not aligned", (char *)1, 0);
    TRY_ATTACH("shmat over the program", (void *)((unsigned long)&become & ~4095ul), 0);
    TRY("IPC_STAT", shmctl(id, IPC_STAT, &ds));
    TRY("IPC_STAT, bad pointer", shmctl(id, IPC_STAT, (struct shmid_ds *)8));
    TRY("SHM_STAT", shmctl(id & 0x7fff, SHM_STAT, &ds) == id ? 0 : -1);
    TRY("SHM_STAT_ANY", shmctl(id & 0x7fff, SHM_STAT_ANY, &ds) == id ? 0 : -1);
    TRY("SHM_LOCK", shmctl(id, SHM_LOCK, NULL));
    TRY("SHM_UNLOCK", shmctl(id, SHM_UNLOCK, NULL));
    ds.shm_perm.uid = OWNER;
    ds.shm_perm.gid = GROUP;
    ds.shm_perm.mode = 0;
    if (geteuid() == STRANGER)
        TRY("IPC_SET", shmctl(id, IPC_SET, &ds));
    TRY("IPC_SET, bad pointer", shmctl(id, IPC_SET, (struct shmid_ds *)8));
    if (geteuid() == STRANGER)
        TRY("IPC_RMID", shmctl(id, IPC_RMID, NULL));
}

static void with_mode(int mode)
{
    key_t key = own_key(mode & 63);
    line("---- mode", "%o", mode);
    IN_CHILD(become(CREATOR, OTHER_GROUP, 0); MUST(shmget(key, 100, IPC_CREAT | IPC_EXCL | 0600)));
    int id = (int)MUST(shmget(key, 0, 0));
    struct shmid_ds ds = status_of(id);
    line("creator", "%u %u", ds.shm_perm.cuid, ds.shm_perm.cgid);
    ds.shm_perm.uid = OWNER;
    ds.shm_perm.gid = GROUP;
    ds.shm_perm.mode = (unsigned short)mode;
    MUST(shmctl(id, IPC_SET, &ds));
    IN_CHILD(become(OWNER, 1, 0); try_all("owner", id, key));
    IN_CHILD(become(CREATOR, 1, 0); try_all("creator", id, key));
    IN_CHILD(become(STRANGER, GROUP, 0); try_all("group", id, key));
    IN_CHILD(become(STRANGER, 1, 1); try_all("other supplementary group", id, key));
    IN_CHILD(become(STRANGER, OTHER_GROUP, 0); try_all("creator's group", id, key));
    IN_CHILD(become(STRANGER, 1, 0); try_all("stranger", id, key));
    try_all("root", id, key);
    ds = status_of(id);
    line("after all", "%u %u %o", ds.shm_perm.uid, ds.shm_perm.gid, ds.shm_perm.mode);
    remove_segment(id);
}

/* An unprivileged owner, the limit of locked memory, and rights that are given up. */
static void rights(void)
{
    struct rlimit none = { 0, 0 };
    IN_CHILD(MUST(setgid(GROUP)); MUST(setuid(STRANGER)); MUST(setrlimit(RLIMIT_MEMLOCK, &none));
             int id = new_segment(100); ROW("SHM_LOCK without a limit", shmctl(id, SHM_LOCK, NULL));
             ROW("SHM_UNLOCK", shmctl(id, SHM_UNLOCK, NULL));
             struct shmid_ds ds = status_of(id);
             line("made by", "%u %u %u %u", ds.shm_perm.uid, ds.shm_perm.gid, ds.shm_perm.cuid, ds.shm_perm.cgid);
             ds.shm_perm.uid = OWNER; ROW("given away", shmctl(id, IPC_SET, &ds));
             ROW("its creator removes it", shmctl(id, IPC_RMID, NULL)));
    key_t key = own_key(63);
    int id = (int)MUST(shmget(key, 100, IPC_CREAT | 0600));
    IN_CHILD(MUST(seteuid(STRANGER)); ROW("as a stranger", shmget(key, 0, 0600)); MUST(seteuid(0));
             ROW("root again", shmget(key, 0, 0600) == id));
    IN_CHILD(MUST((int)syscall(SYS_setresuid, -1, STRANGER, -1)); ROW("by number", shmget(key, 0, 0600));
             row_attach("by number", id, NULL, 0); row_status("by number", id, key));
    remove_segment(id);
}

int main(void)
{
    if (!can_try())
        return 0;
    int modes[] = { 0600, 0060, 0006, 0000, 0444, 0222, 0640, 0066, 0604, 0777 };
    for (unsigned i = 0; i < COUNT(modes); i++)
        with_mode(modes[i]);
    rights();
    return 0;
}
