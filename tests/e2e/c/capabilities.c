/* Sections 4, 6, 7 and 8: what each single capability permits to a user that is neither owner nor creator. */
#include "queues.h"
#include "users.h"
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/shm.h>

/* The effective capabilities become this one, or none. What is permitted stays, so that they can be changed again. False if this
 * one is not permitted, as in many containers. */
static int keep_only(int capability)
{
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct data[2];
    MUST((int)syscall(SYS_capget, &header, data));
    data[0].effective = capability < 0 ? 0 : 1u << capability;
    data[1].effective = 0;
    return syscall(SYS_capset, &header, data) == 0;
}

/* Objects of root's that no other user may access. */
static int set, queue, segment;

static void try_all(const char *who)
{
    char row[64];
    struct semid_ds sds;
    struct msqid_ds mds;
    struct shmid_ds hds;
    TRY("semop", SEMOP(set, OP(0, 1, IPC_NOWAIT)));
    TRY("GETVAL", get(set, 0, GETVAL) < 0 ? -1 : 0);
    TRY("SETVAL", set_value(set, 0, 1));
    TRY("semctl IPC_STAT", semctl(set, 0, IPC_STAT, (union semun){ .buf = &sds }));
    TRY("msgsnd", give(queue, 1, 'a', 1, IPC_NOWAIT));
    TRY("msgrcv", take(queue, 10, 0, IPC_NOWAIT) < 0 ? -1 : 0);
    TRY("msgctl IPC_STAT", msgctl(queue, IPC_STAT, &mds));
    TRY("shmat", shmat(segment, NULL, 0) == (void *)-1 ? -1 : 0);
    TRY("shmat SHM_EXEC", shmat(segment, NULL, SHM_EXEC) == (void *)-1 ? -1 : 0);
    TRY("shmctl IPC_STAT", shmctl(segment, IPC_STAT, &hds));
    TRY("SHM_LOCK", shmctl(segment, SHM_LOCK, NULL));
    TRY("SHM_UNLOCK", shmctl(segment, SHM_UNLOCK, NULL));
}

/* With the values that root read; owner and mode stay. */
static void try_changes(const char *who, struct semid_ds sds, struct msqid_ds mds, struct shmid_ds hds)
{
    char row[64];
    TRY("semctl IPC_SET", semctl(set, 0, IPC_SET, (union semun){ .buf = &sds }));
    TRY("msgctl IPC_SET", msgctl(queue, IPC_SET, &mds));
    mds.msg_qbytes = 1 << 20;
    TRY("more room than msgmnb", msgctl(queue, IPC_SET, &mds));
    TRY("shmctl IPC_SET", shmctl(segment, IPC_SET, &hds));
    TRY("semctl IPC_RMID", semctl(set, 0, IPC_RMID));
    TRY("msgctl IPC_RMID", msgctl(queue, IPC_RMID, NULL));
    TRY("shmctl IPC_RMID", shmctl(segment, IPC_RMID, NULL));
}

static void with(const char *who, int capability)
{
    struct rlimit none = { 0, 0 };
    struct semid_ds sds;
    struct msqid_ds mds;
    struct shmid_ds hds;
    line("----", "%s", who);
    set = (int)MUST(semget(IPC_PRIVATE, 1, 0));
    queue = (int)MUST(msgget(IPC_PRIVATE, 0));
    segment = (int)MUST(shmget(IPC_PRIVATE, 100, 0));
    MUST(semctl(set, 0, IPC_STAT, (union semun){ .buf = &sds }));
    MUST(msgctl(queue, IPC_STAT, &mds));
    MUST(shmctl(segment, IPC_STAT, &hds));
    IN_CHILD(MUST(setrlimit(RLIMIT_MEMLOCK, &none)); become(STRANGER, GROUP, 0);
             if (keep_only(capability)) { try_all(who); try_changes(who, sds, mds, hds); }
             else line(who, "is not to be had"));
    remove_set(set);
    remove_queue(queue);
    shmctl(segment, IPC_RMID, NULL);
}

/* To and fro in one process, through every call that changes them. */
static void switching(void)
{
    set = (int)MUST(semget(IPC_PRIVATE, 1, 0));
    MUST(seteuid(STRANGER));
    ROW("a stranger", SEMOP(set, OP(0, 1, IPC_NOWAIT)));
    keep_only(CAP_IPC_OWNER);
    ROW("with CAP_IPC_OWNER", SEMOP(set, OP(0, 1, IPC_NOWAIT)));
    keep_only(-1);
    ROW("without", SEMOP(set, OP(0, 1, IPC_NOWAIT)));
    keep_only(CAP_SETUID);
    MUST(seteuid(0));
    ROW("root", SEMOP(set, OP(0, 1, IPC_NOWAIT)));
    keep_only(-1);
    ROW("root without capabilities, an owner of mode 0", SEMOP(set, OP(0, 1, IPC_NOWAIT)));
    ROW("who may still remove it", semctl(set, 0, IPC_RMID));
}

int main(void)
{
    if (!can_try())
        return 0;
    with("none", -1);
    with("CAP_IPC_OWNER", CAP_IPC_OWNER);
    with("CAP_SYS_ADMIN", CAP_SYS_ADMIN);
    with("CAP_SYS_RESOURCE", CAP_SYS_RESOURCE);
    with("CAP_IPC_LOCK", CAP_IPC_LOCK);
    with("CAP_DAC_OVERRIDE", CAP_DAC_OVERRIDE);
    switching();
    return 0;
}
