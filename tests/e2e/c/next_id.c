/* kernel.sem_next_id and kernel.msg_next_id: the next new object gets this id, or one with the next free index. */
#include "check.h"

/* Sets the id; what the kernel answers to a second setting is not this test's concern. */
static void set_next(const char *class, int id)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/sys/kernel/%s_next_id", class);
    FILE *file = fopen(path, "w");
    MUST(file == NULL ? -1 : 0);
    fprintf(file, "%d\n", id);
    MUST(fclose(file));
}

static void show(const char *class)
{
    char path[64];
    int id = 0;
    snprintf(path, sizeof path, "/proc/sys/kernel/%s_next_id", class);
    FILE *file = fopen(path, "r");
    MUST(file == NULL ? -1 : 0);
    MUST(fscanf(file, "%d", &id) == 1 ? 0 : -1);
    fclose(file);
    line(class, "next %d", id);
}

static int make_sem(key_t key) { return semget(key, 1, IPC_CREAT | IPC_EXCL | 0600); }
static int make_msg(key_t key) { return msgget(key, IPC_CREAT | IPC_EXCL | 0600); }
static int remove_sem(int id) { return semctl(id, 0, IPC_RMID); }
static int remove_msg(int id) { return msgctl(id, IPC_RMID, NULL); }

static void try_class(const char *class, int (*make)(key_t), int (*remove)(int))
{
    key_t key = own_key(1);
    show(class);
    ROW("not set", make(IPC_PRIVATE));
    set_next(class, 1234567);
    show(class);
    int id = make(key);
    ROW("set", id);
    show(class);
    ROW("not set again", make(IPC_PRIVATE));
    set_next(class, 1234567);
    ROW("the same index", make(IPC_PRIVATE));
    ROW("not set again", make(IPC_PRIVATE));
    set_next(class, 1234567 + 32768);
    ROW("a failure", make(key));
    show(class);
    ROW("the next sequence number of a used index", make(IPC_PRIVATE));
    ROW("remove", remove(id));
    set_next(class, 1234567);
    ROW("once more", make(key));
    ROW("remove", remove(id));
    set_next(class, 2147483647);
    ROW("the largest id", make(IPC_PRIVATE));
    set_next(class, 2147483647);
    ROW("its index again", make(IPC_PRIVATE));
    show(class);
    ROW("remove it", remove(2147483647));
    set_next(class, 0);
    ROW("the smallest id, in use", make(IPC_PRIVATE));
    ROW("not set again", make(IPC_PRIVATE));
}

int main(void)
{
    if (!alone() || access("/proc/sys/kernel/sem_next_id", F_OK) != 0) {
        line("next_id", "skipped, not root, or a kernel without the setting");
        return 0;
    }
    try_class("sem", make_sem, remove_sem);
    try_class("msg", make_msg, remove_msg);
    return 0;
}
