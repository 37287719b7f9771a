/* Sections 4, 7 and 8, shmctl: commands, their errors, listings, limits. */
#include "shm.h"

static void status(void)
{
    key_t key = own_key(1);
    int id = (int)MUST(shmget(key, 100, IPC_CREAT | 0644));
    struct shmid_ds ds;
    row_status("IPC_STAT", id, key);
    ROW("IPC_STAT of -1", shmctl(-1, IPC_STAT, &ds));
    ROW("IPC_STAT of no such id", shmctl(0x7ffffff0, IPC_STAT, &ds));
    ROW("IPC_STAT, bad pointer", shmctl(id, IPC_STAT, (struct shmid_ds *)8));
    ROW("IPC_STAT of no such id, bad pointer", shmctl(0x7ffffff0, IPC_STAT, (struct shmid_ds *)8));
    ROW("IPC_STAT, null", shmctl(id, IPC_STAT, NULL));
    int index = id & 0x7fff;
    memset(&ds, 0, sizeof ds);
    ROW("SHM_STAT", shmctl(index, SHM_STAT, &ds) == id);
    line("SHM_STAT", "key %d, mode %o, %zu bytes, seq %d", ds.shm_perm.__key == key, ds.shm_perm.mode, ds.shm_segsz,
         ds.shm_perm.__seq == status_of(id).shm_perm.__seq);
    ROW("SHM_STAT of the id itself", shmctl(id, SHM_STAT, &ds) == id);
    ROW("SHM_STAT_ANY", shmctl(index, SHM_STAT_ANY, &ds) == id);
    ROW("SHM_STAT of -1", shmctl(-1, SHM_STAT, &ds));
    ROW("SHM_STAT of an index without a segment", shmctl(0x7ff0, SHM_STAT, &ds));
    ROW("SHM_STAT, bad pointer", shmctl(index, SHM_STAT, (struct shmid_ds *)8));
    ROW("SHM_STAT_ANY, bad pointer", shmctl(index, SHM_STAT_ANY, (struct shmid_ds *)8));
    ROW("unknown command", shmctl(id, 99, &ds));
    ROW("unknown command, no such id", shmctl(0x7ffffff0, 99, &ds));
    ROW("command -1", shmctl(id, -1, &ds));
    remove_segment(id);
    ROW("SHM_STAT of a removed one", shmctl(index, SHM_STAT, &ds));
}

static void changes(void)
{
    key_t key = own_key(2);
    int id = (int)MUST(shmget(key, 100, IPC_CREAT | 0600));
    struct shmid_ds ds = status_of(id);
    ds.shm_perm.mode = 07640;
    ds.shm_perm.__key = 5;
    ds.shm_segsz = 7;
    ROW("IPC_SET", shmctl(id, IPC_SET, &ds));
    row_status("of it the nine bits", id, key);
    ROW("found under its key", shmget(key, 0, 0) == id);
    ROW("IPC_SET, bad pointer", shmctl(id, IPC_SET, (struct shmid_ds *)8));
    ROW("IPC_SET, bad pointer, no such id", shmctl(0x7ffffff0, IPC_SET, (struct shmid_ds *)8));
    ROW("IPC_SET of no such id", shmctl(0x7ffffff0, IPC_SET, &ds));
    ds.shm_perm.uid = (uid_t)-1;
    ROW("IPC_SET, no user", shmctl(id, IPC_SET, &ds));
    ROW("SHM_LOCK", shmctl(id, SHM_LOCK, NULL));
    row_status("SHM_LOCKED", id, key);
    ROW("SHM_LOCK again", shmctl(id, SHM_LOCK, NULL));
    ROW("SHM_UNLOCK", shmctl(id, SHM_UNLOCK, NULL));
    ROW("SHM_UNLOCK again", shmctl(id, SHM_UNLOCK, NULL));
    row_status("unlocked", id, key);
    ROW("SHM_LOCK of no such id", shmctl(0x7ffffff0, SHM_LOCK, NULL));
    ROW("SHM_UNLOCK of -1", shmctl(-1, SHM_UNLOCK, NULL));
    ROW("IPC_RMID of no such id", shmctl(0x7ffffff0, IPC_RMID, NULL));
    ROW("IPC_RMID of -1", shmctl(-1, IPC_RMID, NULL));
    ROW("IPC_RMID, bad pointer", shmctl(id, IPC_RMID, (struct shmid_ds *)8));
    ROW("and again", shmctl(id, IPC_RMID, NULL));
}

/* Alone in a namespace: counts mean something. */
static void listings(void)
{
    struct shm_info info;
    struct shminfo limits;
    struct shmid_ds ds;
    memset(&limits, 0xA5, sizeof limits);
    ROW("IPC_INFO of nothing", shmctl(0, IPC_INFO, (struct shmid_ds *)&limits));
    line("limits", "%lu %lu %lu %lu %lu", limits.shmmax, limits.shmmin, limits.shmmni, limits.shmseg, limits.shmall);
    memset(&info, 0xA5, sizeof info);
    ROW("SHM_INFO of nothing", shmctl(0, SHM_INFO, (struct shmid_ds *)&info));
    line("usage", "%d ids, %lu pages, %lu resident, %lu swapped, %lu %lu", info.used_ids, info.shm_tot, info.shm_rss,
         info.shm_swp, info.swap_attempts, info.swap_successes);
    int a = new_segment(100), b = new_segment(3 * PAGE), c = new_segment(PAGE + 1);
    char *at = attach(b);
    at[0] = at[2 * PAGE] = 1;
    ROW("SHM_INFO", shmctl(0, SHM_INFO, (struct shmid_ds *)&info));
    line("usage", "%d ids, %lu pages, %lu resident", info.used_ids, info.shm_tot, info.shm_rss);
    ROW("IPC_INFO", shmctl(0, IPC_INFO, (struct shmid_ds *)&limits));
    remove_segment(b);
    ROW("SHM_INFO, one is removed and attached", shmctl(0, SHM_INFO, (struct shmid_ds *)&info));
    line("usage", "%d ids, %lu pages, %lu resident", info.used_ids, info.shm_tot, info.shm_rss);
    ROW("SHM_STAT of it", shmctl(b & 0x7fff, SHM_STAT, &ds) == b);
    line("its mode", "%o", ds.shm_perm.mode);
    MUST(shmdt(at));
    ROW("SHM_STAT when it is gone", shmctl(b & 0x7fff, SHM_STAT, &ds));
    ROW("SHM_INFO when it is gone", shmctl(0, SHM_INFO, (struct shmid_ds *)&info));
    line("usage", "%d ids, %lu pages, %lu resident", info.used_ids, info.shm_tot, info.shm_rss);
    remove_segment(c);
    ROW("IPC_INFO, the highest is removed", shmctl(0, IPC_INFO, (struct shmid_ds *)&limits));
    ROW("SHM_INFO, bad pointer", shmctl(0, SHM_INFO, (struct shmid_ds *)8));
    ROW("IPC_INFO, bad pointer", shmctl(0, IPC_INFO, (struct shmid_ds *)8));
    ROW("SHM_INFO of -1", shmctl(-1, SHM_INFO, (struct shmid_ds *)&info));
    ROW("IPC_INFO of -1", shmctl(-1, IPC_INFO, (struct shmid_ds *)&limits));
    ROW("SHM_INFO of any id", shmctl(4711, SHM_INFO, (struct shmid_ds *)&info));
    remove_segment(a);
}

static void set(const char *name, unsigned long value)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
    FILE *f = fopen(path, "w");
    if (f == NULL || fprintf(f, "%lu\n", value) < 0 || fclose(f) != 0) {
        line(path, "skipped, it cannot be written");
        exit(0);
    }
}

/* They belong to the namespace, and are live. */
static void limits(void)
{
    struct shminfo info;
    set("shmmax", 3 * PAGE);
    set("shmall", 4);
    set("shmmni", 2);
    MUST(shmctl(0, IPC_INFO, (struct shmid_ds *)&info));
    line("as set", "%lu %lu %lu %lu", info.shmmax, info.shmmni, info.shmseg, info.shmall);
    ROW("over shmmax", shmget(IPC_PRIVATE, 3 * PAGE + 1, 0600));
    ROW("over shmmax, with a key", shmget(own_key(3), 3 * PAGE + 1, IPC_CREAT | 0600));
    int a = new_segment(3 * PAGE);
    ROW("over shmall", shmget(IPC_PRIVATE, PAGE + 1, 0600));
    int b = new_segment(PAGE);
    set("shmall", 100);
    ROW("over shmmni", shmget(IPC_PRIVATE, 1, 0600));
    ROW("over shmmni, with a key", shmget(own_key(3), 1, IPC_CREAT | 0600));
    ROW("too small, over shmmni", shmget(IPC_PRIVATE, 0, 0600));
    ROW("which left no key", shmget(own_key(3), 1, 0));
    void *at = attach(a);
    remove_segment(a);
    ROW("removed, but attached", shmget(IPC_PRIVATE, 1, 0600));
    MUST(shmdt(at));
    ROW_ID("room again", a = shmget(own_key(3), 1, IPC_CREAT | 0600));
    set("shmmax", 10);
    ROW("larger than shmmax by now, found", shmget(own_key(3), 1, 0) == a);
    ROW("found, too large", shmget(own_key(3), 11, 0));
    remove_segment(a);
    remove_segment(b);
}

/* shm_rmid_forced: a segment that no process has attached is removed. */
static void forced(void)
{
    key_t key = own_key(4);
    set("shm_rmid_forced", 1);
    int id = (int)MUST(shmget(key, 100, IPC_CREAT | 0600));
    void *at = attach(id);
    row_status("forced", id, key);
    MUST(shmdt(at));
    row_status("forced, detached", id, key);
    ROW("its key", shmget(key, 0, 0));
    IN_CHILD(MUST(shmget(key, 100, IPC_CREAT | 0600)));
    usleep(20000);
    ROW("forced, its maker is gone", shmget(key, 0, 0));
    set("shm_rmid_forced", 0);
}

int main(void)
{
    int own = geteuid() == 0 && alone();
    status();
    changes();
    if (!own) {
        line("listings and limits", "skipped, not root");
        return 0;
    }
    listings();
    set("shmmni", 4096);
    limits();
    set("shmmax", 1 << 30);
    set("shmmni", 4096);
    forced();
    return 0;
}
