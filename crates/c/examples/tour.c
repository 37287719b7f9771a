/*
 * A tour of unspin/sysv.h: each mechanism once, with a thread, a child, and a child that is killed.
 *
 *     cc tour.c -o tour $(pkg-config --cflags --libs unspin-sysv)
 *     ./tour rcu ./my.arena
 *
 * It prints the same under every engine, `kernel` included.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unspin/sysv.h>

static unspin_sysv *engine;

/* semctl(2): the program defines it. */
union semun {
    int val;
    struct semid_ds *buf;
    unsigned short *array;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void semop_or_die(int id, int num, int change, int flags)
{
    struct sembuf op = { (unsigned short)num, (short)change, (short)flags };
    if (unspin_semop(engine, id, &op, 1) == -1)
        die("unspin_semop");
}

static void *post(void *id)
{
    semop_or_die(*(int *)id, 1, 1, 0);
    return NULL;
}

static int value(int id, int num)
{
    return unspin_semctl(engine, id, num, GETVAL);
}

static void semaphores(void)
{
    union semun arg;
    unsigned short values[2] = { 3, 0 };
    struct semid_ds status;
    struct timespec soon = { 0, 1000000 };
    struct sembuf take = { 1, -1, 0 };
    pthread_t thread;
    int id = unspin_semget(engine, IPC_PRIVATE, 2, IPC_CREAT | 0600);
    if (id == -1)
        die("unspin_semget");
    arg.array = values;
    if (unspin_semctl(engine, id, 0, SETALL, arg) == -1)
        die("SETALL");
    arg.buf = &status;
    if (unspin_semctl(engine, id, 0, IPC_STAT, arg) == -1)
        die("IPC_STAT");
    printf("a set of %lu, mode %o\n", (unsigned long)status.sem_nsems, status.sem_perm.mode);

    /* A thread of this process serves a wait. */
    if (pthread_create(&thread, NULL, post, &id) != 0)
        die("pthread_create");
    semop_or_die(id, 1, -1, 0);
    pthread_join(thread, NULL);

    /* A child is a participant of its own. */
    if (fork() == 0) {
        semop_or_die(id, 0, 4, 0);
        _exit(0);
    }
    wait(NULL);
    printf("values %d and %d\n", value(id, 0), value(id, 1));

    errno = 0;
    if (unspin_semtimedop(engine, id, &take, 1, &soon) == -1)
        printf("a wait of a millisecond: %s\n", strerrorname_np(errno));
    take.sem_num = 2;
    if (unspin_semop(engine, id, &take, 1) == -1)
        printf("a semaphore that is not there: %s\n", strerrorname_np(errno));
    if (unspin_semctl(engine, id, 0, IPC_RMID) == -1)
        die("IPC_RMID");
    if (value(id, 0) == -1)
        printf("removed: %s\n", strerrorname_np(errno));
}

/* Who holds it is killed: the adjustment gives it back, and wakes who waits. */
static void undo(void)
{
    int id = unspin_semget(engine, IPC_PRIVATE, 1, 0600), ready[2];
    char byte;
    pid_t child;
    if (id == -1 || pipe(ready) == -1)
        die("unspin_semget");
    semop_or_die(id, 0, 1, 0);
    child = fork();
    if (child == 0) {
        semop_or_die(id, 0, -1, SEM_UNDO);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    if (read(ready[0], &byte, 1) != 1)
        die("read");
    printf("taken by a child: %d\n", value(id, 0));
    kill(child, SIGKILL);
    semop_or_die(id, 0, -1, 0);
    printf("had after its death\n");
    waitpid(child, NULL, 0);
    unspin_semctl(engine, id, 0, IPC_RMID);
}

static void messages(void)
{
    struct {
        long type;
        char text[16];
    } out = { 2, "second" }, in;
    ssize_t size;
    int id = unspin_msgget(engine, IPC_PRIVATE, 0600);
    if (id == -1)
        die("unspin_msgget");
    if (unspin_msgsnd(engine, id, &out, sizeof out.text, 0) == -1)
        die("unspin_msgsnd");
    out.type = 1;
    strcpy(out.text, "first");
    if (unspin_msgsnd(engine, id, &out, sizeof out.text, 0) == -1)
        die("unspin_msgsnd");
    if (unspin_msgrcv(engine, id, &in, 4, 0, 0) == -1)
        printf("too little room: %s\n", strerrorname_np(errno));
    while ((size = unspin_msgrcv(engine, id, &in, sizeof in.text, -2, IPC_NOWAIT)) != -1)
        printf("type %ld, %zd bytes: %s\n", in.type, size, in.text);
    printf("no more: %s\n", strerrorname_np(errno));
    if (unspin_msgctl(engine, id, IPC_RMID, NULL) == -1)
        die("IPC_RMID");
}

static void memory(void)
{
    struct shmid_ds status;
    char *here;
    int id = unspin_shmget(engine, IPC_PRIVATE, 100, IPC_CREAT | 0600);
    if (id == -1)
        die("unspin_shmget");
    here = (char *)unspin_shmat(engine, id, NULL, 0);
    if (here == (char *)-1)
        die("unspin_shmat");
    if (fork() == 0) {
        strcpy(here, "written by a child");
        _exit(0);
    }
    wait(NULL);
    if (unspin_shmctl(engine, id, IPC_STAT, &status) == -1)
        die("IPC_STAT");
    printf("%zu bytes, attached %lu times: %s\n", status.shm_segsz, (unsigned long)status.shm_nattch, here);
    if (unspin_shmctl(engine, id, IPC_RMID, NULL) == -1 || unspin_shmdt(engine, here) == -1)
        die("unspin_shmdt");
    if (unspin_shmdt(engine, here) == -1)
        printf("detached: %s\n", strerrorname_np(errno));
}

int main(int argc, char **argv)
{
    const char *names[] = UNSPIN_SYSV_NAMES;
    int kind = 0, kinds = sizeof names / sizeof *names;
    if (argc != 3) {
        fprintf(stderr, "usage: %s ENGINE ARENA\n", argv[0]);
        return 2;
    }
    while (kind < kinds && strcmp(argv[1], names[kind]) != 0)
        kind++;
    setvbuf(stdout, NULL, _IONBF, 0);
    engine = unspin_sysv_open(kind, argv[2], NULL);
    if (engine == NULL) {
        fprintf(stderr, "%s: %s\n", strerrorname_np(errno), unspin_sysv_error());
        return 1;
    }
    semaphores();
    undo();
    messages();
    memory();
    unspin_sysv_close(engine);
    return 0;
}
