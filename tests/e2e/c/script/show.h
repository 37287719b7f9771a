/* Everything that can be observed of the objects in the slots, but for ids and times. */
#ifndef SHOW_H
#define SHOW_H
#include "step.h"

static pid_t pids[PROCESSES];

/* The process as a script names it; '-' for no process yet, '+' for one that is gone or is not part of the script. */
static char named(pid_t pid)
{
    for (int i = 0; i < PROCESSES && pid > 0; i++)
        if (pid == pids[i])
            return (char)('0' + i);
    return pid == 0 ? '-' : '+';
}

static const char *key_name(key_t key)
{
    static char text[16];
    snprintf(text, sizeof text, "%d", key == IPC_PRIVATE ? 0 : key - shared->keys);
    return text;
}

static void show_set(int id)
{
    struct semid_ds ds;
    if (semctl(id, 0, IPC_STAT, (union semun){ .buf = &ds }) == -1) {
        printf("%s\n", errno_name(errno));
        return;
    }
    printf("key %s mode %o %s:", key_name(ds.sem_perm.__key), ds.sem_perm.mode, ds.sem_otime ? "used" : "new");
    for (int i = 0; i < (int)ds.sem_nsems; i++)
        printf(" %d/%c/%d/%d", get(id, i, GETVAL), named(get(id, i, GETPID)), get(id, i, GETNCNT), get(id, i, GETZCNT));
    printf("\n");
}

static void show_queue(int id)
{
    struct msqid_ds ds;
    if (msgctl(id, IPC_STAT, &ds) == -1) {
        printf("%s\n", errno_name(errno));
        return;
    }
    printf("key %s mode %o: %lu messages, %lu bytes of %lu, sent by %c%s, received by %c%s\n",
           key_name(ds.msg_perm.__key), ds.msg_perm.mode, (unsigned long)ds.msg_qnum, (unsigned long)ds.__msg_cbytes,
           (unsigned long)ds.msg_qbytes, named(ds.msg_lspid), ds.msg_stime ? "" : " never", named(ds.msg_lrpid),
           ds.msg_rtime ? "" : " never");
}

static void show_segment(int id)
{
    struct shmid_ds ds;
    if (shmctl(id, IPC_STAT, &ds) == -1) {
        printf("%s\n", errno_name(errno));
        return;
    }
    printf("key %s mode %o: %zu bytes, %lu attached, made by %c, last %c%s%s\n", key_name(ds.shm_perm.__key),
           ds.shm_perm.mode, ds.shm_segsz, (unsigned long)ds.shm_nattch, named(ds.shm_cpid), named(ds.shm_lpid),
           ds.shm_atime ? "" : ", never attached", ds.shm_dtime ? "" : ", never detached");
}

static const struct {
    const char *name;
    void (*show)(int id);
} classes[CLASSES] = { { "set", show_set }, { "queue", show_queue }, { "segment", show_segment } };

static void show_slots(void)
{
    for (int class = 0; class < CLASSES; class++)
        for (int slot = 0; slot < SLOTS; slot++)
            if (shared->ids[class][slot] != -1) {
                printf("   %s %d ", classes[class].name, slot);
                classes[class].show(shared->ids[class][slot]);
            }
}

/* ---- Listings. ---- */

union status {
    struct semid_ds set;
    struct msqid_ds queue;
    struct shmid_ds segment;
    struct seminfo sets;
    char room[512];
};

/* IPC_STAT, SEM_INFO or SEM_STAT and their like. */
enum { STAT, INFO, BY_INDEX };
static int ask(enum class class, int id, int what, union status *status)
{
    static const int commands[CLASSES][3] = {
        { IPC_STAT, SEM_INFO, SEM_STAT }, { IPC_STAT, MSG_INFO, MSG_STAT }, { IPC_STAT, SHM_INFO, SHM_STAT }
    };
    int command = commands[class][what];
    memset(status, 0, sizeof *status);
    return class == SETS     ? semctl(id, 0, command, (union semun){ .buf = &status->set })
           : class == QUEUES ? msgctl(id, command, &status->queue)
                             : shmctl(id, command, &status->segment);
}

/* Whether the object is found by an index, and is the same there. */
static int by_index(enum class class, int id)
{
    union status status, indexed;
    int highest = ask(class, 0, INFO, &status), index = 0;
    if (ask(class, id, STAT, &status) == -1)
        return 0;
    while (index <= highest && ask(class, index, BY_INDEX, &indexed) != id)
        index++;
    return index <= highest && memcmp(&status, &indexed, sizeof status) == 0;
}

/* The mode that /proc/sysvipc tells of the object, in octal; "nowhere" if it does not. */
static const char *by_proc(enum class class, int id)
{
    static const char *const paths[CLASSES] = { "/proc/sysvipc/sem", "/proc/sysvipc/msg", "/proc/sysvipc/shm" };
    static char text[512], mode[32];
    FILE *file = fopen(paths[class], "r");
    int found = 0, its;
    while (file != NULL && !found && fgets(text, sizeof text, file) != NULL)
        found = sscanf(text, "%*d %d %31s", &its, mode) == 2 && its == id;
    if (file != NULL)
        fclose(file);
    return found ? mode : "nowhere";
}

static void show_listings(void)
{
    for (int class = 0; class < CLASSES; class++)
        for (int slot = 0; slot < SLOTS; slot++)
            if (shared->ids[class][slot] != -1)
                printf("   %s %d %s, in /proc %s\n", classes[class].name, slot,
                       by_index(class, shared->ids[class][slot]) ? "listed" : "not listed",
                       by_proc(class, shared->ids[class][slot]));
}

#endif
