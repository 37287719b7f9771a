/* Creates System V objects in all states that ipcs(1) shows, runs a command while they exist, and removes them. Objects of a
 * kind are created in a fixed order, so that their ids are fixed in a new IPC namespace or arena.
 *
 *   objects UID COMMAND...    UID is given to one object of each kind, if the caller may
 */
#include <err.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETS 4
#define QUEUES 4
/* Sizes around the limits of rounding. */
static const size_t sizes[] = { 1, 1000, 1023, 1024, 1075, 1076, 1536, 10189, 10190, 102400, 1048575, 1048576, 1153433,
                                1UL << 30, (1UL << 40) - 1, (1UL << 40) + (1UL << 36), 3UL << 41 };
#define SEGMENTS (sizeof sizes / sizeof sizes[0])

static int sets[SETS], queues[QUEUES], segments[SEGMENTS];

static int must(int result, const char *what)
{
    if (result < 0)
        err(1, "%s", what);
    return result;
}

static pid_t waiter(int set, int number, int change)
{
    pid_t child = must(fork(), "fork");
    if (child == 0) {
        struct sembuf wait = { number, change, 0 };
        semop(set, &wait, 1);
        _exit(0);
    }
    /* Counted once it sleeps. */
    while (must(semctl(set, number, change == 0 ? GETZCNT : GETNCNT), "GETNCNT") == 0)
        usleep(1000);
    return child;
}

static void make_sets(uid_t uid)
{
    static const int modes[SETS] = { 0600, 0644, 0, 0777 };
    for (int i = 0; i < SETS; i++)
        sets[i] = must(semget(i == 0 ? IPC_PRIVATE : 0x5e0 + i, i + 1, IPC_CREAT | modes[i]), "semget");
    struct sembuf up[] = { { 0, 7, 0 }, { 1, 32767, 0 } };
    must(semop(sets[1], up, 2), "semop");
    struct semid_ds status;
    must(semctl(sets[3], 0, IPC_STAT, &status), "IPC_STAT");
    status.sem_perm.uid = uid;
    status.sem_perm.gid = uid;
    semctl(sets[3], 0, IPC_SET, &status);
}

static void make_queues(uid_t uid)
{
    for (int i = 0; i < QUEUES; i++)
        queues[i] = must(msgget(i == 0 ? IPC_PRIVATE : 0x3e0 + i, IPC_CREAT | 0640), "msgget");
    struct { long type; char text[5000]; } message = { 1, "" };
    for (int i = 0; i < 3; i++)
        must(msgsnd(queues[1], &message, 100 * i, 0), "msgsnd");
    must(msgsnd(queues[2], &message, sizeof message.text, 0), "msgsnd");
    must(msgrcv(queues[1], &message, sizeof message.text, 0, 0), "msgrcv");
    struct msqid_ds status;
    must(msgctl(queues[3], IPC_STAT, &status), "IPC_STAT");
    status.msg_perm.uid = uid;
    status.msg_perm.gid = uid;
    status.msg_qbytes = 1000;
    msgctl(queues[3], IPC_SET, &status);
}

static void make_segments(uid_t uid)
{
    for (size_t i = 0; i < SEGMENTS; i++) {
        key_t key = i == 0 ? IPC_PRIVATE : (key_t)(0xfffff000 + i);
        segments[i] = must(shmget(key, sizes[i], IPC_CREAT | SHM_NORESERVE | 0600), "shmget");
    }
    /* Attached twice, attached and detached, removed while attached, locked. */
    char *memory = shmat(segments[1], NULL, 0);
    memory[0] = 1;
    shmat(segments[1], NULL, SHM_RDONLY);
    shmdt(shmat(segments[2], NULL, 0));
    shmat(segments[3], NULL, 0);
    must(shmctl(segments[3], IPC_RMID, NULL), "IPC_RMID");
    shmctl(segments[4], SHM_LOCK, NULL);
    struct shmid_ds status;
    must(shmctl(segments[5], IPC_STAT, &status), "IPC_STAT");
    status.shm_perm.uid = uid;
    status.shm_perm.gid = uid;
    shmctl(segments[5], IPC_SET, &status);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        errx(2, "objects UID COMMAND...");
    uid_t uid = atoi(argv[1]);
    make_sets(uid);
    make_queues(uid);
    make_segments(uid);
    pid_t waiters[] = { waiter(sets[1], 0, -8), waiter(sets[1], 1, 0) };
    pid_t command = must(fork(), "fork");
    if (command == 0) {
        execvp(argv[2], argv + 2);
        err(127, "%s", argv[2]);
    }
    int status;
    must(waitpid(command, &status, 0), "waitpid");
    for (int i = 0; i < SETS; i++)
        semctl(sets[i], 0, IPC_RMID);
    for (int i = 0; i < QUEUES; i++)
        msgctl(queues[i], IPC_RMID, NULL);
    for (size_t i = 0; i < SEGMENTS; i++)
        shmctl(segments[i], IPC_RMID, NULL);
    for (int i = 0; i < 2; i++)
        waitpid(waiters[i], NULL, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
