/* What the preload passes on: message queues, shared memory, cancellation, and syscall() itself. */
#include "check.h"
#include <pthread.h>
#include <sys/msg.h>
#include <sys/shm.h>

struct message {
    long type;
    char text[16];
};

static void *receive(void *id)
{
    struct message message;
    msgrcv(*(int *)id, &message, sizeof message.text, 0, 0);
    return NULL;
}

static int cleaned;

static void clean(void *unused)
{
    (void)unused;
    cleaned = 1;
}

static void *receive_with_cleanup(void *id)
{
    pthread_cleanup_push(clean, NULL);
    receive(id);
    pthread_cleanup_pop(0);
    return NULL;
}

static void messages(void)
{
    struct message out = { 3, "hello" }, in = { 0 };
    int id = (int)MUST(msgget(IPC_PRIVATE, 0600));
    ROW("msgsnd", msgsnd(id, &out, 6, 0));
    ROW("msgrcv", msgrcv(id, &in, sizeof in.text, 0, 0));
    line("message", "%ld %s", in.type, in.text);
    ROW("msgrcv, none", msgrcv(id, &in, sizeof in.text, 0, IPC_NOWAIT));
    ROW("msgsnd, bad type", msgsnd(id, &(struct message){ 0, "" }, 1, 0));

    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, receive_with_cleanup, &id);
    usleep(50000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    line("a thread cancelled in msgrcv", "%d, cleaned up %d", result == PTHREAD_CANCELED, cleaned);
    struct msqid_ds ds;
    ROW("msgctl", msgctl(id, IPC_STAT, &ds));
    ROW("IPC_RMID", msgctl(id, IPC_RMID, NULL));
    ROW("gone", msgsnd(id, &out, 6, 0));
}

static void memory(void)
{
    int id = (int)MUST(shmget(IPC_PRIVATE, 100, 0600));
    char *at = shmat(id, NULL, 0);
    line("shmat", "%d", at != (void *)-1);
    strcpy(at, "shared");
    IN_CHILD(line("a child sees", "%s", at));
    struct shmid_ds ds;
    ROW("shmctl", shmctl(id, IPC_STAT, &ds));
    line("attached", "%lu", (unsigned long)ds.shm_nattch);
    errno = 0;
    line("shmat of nothing", "%d %s", shmat(-1, NULL, 0) == (void *)-1, errno_name(errno));
    ROW("shmdt", shmdt(at));
    ROW("shmdt again", shmdt(at));
    ROW("IPC_RMID", shmctl(id, IPC_RMID, NULL));
}

static void numbers(void)
{
    int ends[2];
    char buffer[4] = "";
    ROW("getpid", syscall(SYS_getpid) == getpid());
    ROW("pipe2", syscall(SYS_pipe2, ends, 0L));
    ROW("write", syscall(SYS_write, ends[1], "abc", 3L));
    ROW("read", syscall(SYS_read, ends[0], buffer, 3L));
    line("read", "%s", buffer);
    ROW("close", syscall(SYS_close, -1));
    ROW("no such call", syscall(100000));
    ROW("a negative number", syscall(-1));
    void *map = (void *)syscall(SYS_mmap, NULL, 4096L, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1L, 0L);
    line("six arguments", "%d", map != MAP_FAILED && *(char *)map == 0);
    ROW("munmap", syscall(SYS_munmap, map, 4096L));
    ROW("futex", syscall(SYS_futex, buffer, 0, 1, NULL, NULL, 0));
}

int main(void)
{
    messages();
    memory();
    numbers();
    return 0;
}
