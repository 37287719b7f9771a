/* Section 7, shmget: what it checks, in which order. */
#include "shm.h"

static void sizes(void)
{
    key_t key = own_key(1);
    ROW("no key", shmget(key, 100, 0600));
    ROW("no key, size 0", shmget(key, 0, 0600));
    ROW("create with 0", shmget(key, 0, IPC_CREAT | 0600));
    ROW("private with 0", shmget(IPC_PRIVATE, 0, 0600));
    ROW("create far too large", shmget(key, (size_t)-1, IPC_CREAT | 0600));
    ROW("private far too large", shmget(IPC_PRIVATE, (size_t)-1, 0600));
    ROW("no key far too large", shmget(key, (size_t)-1, 0600));
    int id = (int)MUST(shmget(key, 100, IPC_CREAT | IPC_EXCL | 0640));
    row_status("as made", id, key);
    ROW("found", shmget(key, 100, 0600) == id);
    ROW("found with 0", shmget(key, 0, 0) == id);
    ROW("found with IPC_CREAT", shmget(key, 50, IPC_CREAT | 0600) == id);
    ROW("larger", shmget(key, 101, 0600));
    ROW("larger, though within its page", shmget(key, 4096, IPC_CREAT | 0600));
    ROW("exclusive", shmget(key, 100, IPC_CREAT | IPC_EXCL | 0600));
    ROW("exclusive and larger", shmget(key, 5000, IPC_CREAT | IPC_EXCL | 0600));
    ROW("exclusive without IPC_CREAT", shmget(key, 100, IPC_EXCL | 0600) == id);
    remove_segment(id);
    ROW("removed", shmget(key, 100, 0600));
    row_status("removed", id, key);
    ROW("removed twice", shmctl(id, IPC_RMID, NULL));
    int again = (int)MUST(shmget(key, 5000, IPC_CREAT | 0600));
    line("made again", "%s", again == id ? "under the same id" : "under another id");
    row_status("made again", again, key);
    remove_segment(again);
}

static void modes(void)
{
    int id = (int)MUST(shmget(IPC_PRIVATE, 1, 01777 | IPC_CREAT | IPC_EXCL));
    row_status("private, exclusive", id, 0);
    remove_segment(id);
    int private = (int)MUST(shmget(IPC_PRIVATE, 1, 0));
    id = (int)MUST(shmget(0, 1, 0));
    line("key 0", "%s", id == private ? "finds it" : "finds nothing");
    remove_segment(private);
    row_status("mode 0", id, 0);
    remove_segment(id);
    id = (int)MUST(shmget(own_key(2), 3 * PAGE, 0600 | IPC_CREAT | SHM_NORESERVE));
    row_status("SHM_NORESERVE", id, own_key(2));
    remove_segment(id);
    int huge = shmget(IPC_PRIVATE, 2 << 20, 0600 | SHM_HUGETLB);
    line("SHM_HUGETLB", "%s", huge >= 0 ? "made" : errno_name(errno));
    remove_segment(huge);
    huge = shmget(IPC_PRIVATE, 2 << 20, 0600 | SHM_HUGETLB | 63 << 26);
    line("SHM_HUGETLB of no such size", "%s", huge >= 0 ? "made" : errno_name(errno));
    huge = shmget(own_key(3), 1, 0600 | IPC_CREAT | SHM_HUGETLB | 63 << 26);
    line("SHM_HUGETLB of no such size, with a key", "%s", huge >= 0 ? "made" : errno_name(errno));
    ROW("which left no key", shmget(own_key(3), 1, 0600));
}

/* The keys of many, and that ids are not given out again at once. */
static void many(void)
{
    enum { N = 200 };
    static int ids[N];
    int same = 0, wrong = 0;
    for (int i = 0; i < N; i++)
        ids[i] = (int)MUST(shmget(own_key(4) * 2 + i * 2, 100 + (size_t)i, IPC_CREAT | IPC_EXCL | 0600));
    for (int i = 0; i < N; i++)
        wrong += shmget(own_key(4) * 2 + i * 2, 0, 0) != ids[i] || status_of(ids[i]).shm_segsz != 100 + (size_t)i;
    for (int i = 0; i < N; i += 2)
        remove_segment(ids[i]);
    for (int i = 0; i < N; i += 2) {
        int id = (int)MUST(shmget(own_key(4) * 2 + i * 2, 1, IPC_CREAT | IPC_EXCL | 0600));
        same += id == ids[i];
        ids[i] = id;
    }
    for (int i = 0; i < N; i++)
        wrong += shmget(own_key(4) * 2 + i * 2, 0, 0) != ids[i];
    line("many", "%d wrong, %d ids were given out again", wrong, same);
    for (int i = 0; i < N; i++)
        remove_segment(ids[i]);
}

static void by_number(void)
{
    long id = syscall(SYS_shmget, own_key(5), 100, IPC_CREAT | 0600);
    ROW_ID("shmget by number", id);
    ROW("found by name", shmget(own_key(5), 100, 0) == id);
    char *at = (char *)syscall(SYS_shmat, id, NULL, 0);
    line("shmat by number", "%s", at != (char *)-1 ? "attached" : errno_name(errno));
    at[99] = 1;
    struct shmid_ds ds;
    ROW("shmctl by number", syscall(SYS_shmctl, id, IPC_STAT, &ds));
    line("its key", "%d", ds.shm_perm.__key == own_key(5));
    ROW("shmdt by number", syscall(SYS_shmdt, at));
    ROW("shmdt by number again", syscall(SYS_shmdt, at));
    ROW("shmat by number, no such id", syscall(SYS_shmat, -1, NULL, 0));
    ROW("IPC_RMID by number", syscall(SYS_shmctl, id, IPC_RMID, NULL));
    ROW("gone", shmget(own_key(5), 100, 0));
}

int main(void)
{
    sizes();
    modes();
    many();
    by_number();
    return 0;
}
