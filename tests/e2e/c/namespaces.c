/* IPC namespaces: what a process sees that goes to another one, alone and with other threads, and back; and children that
 * begin in another one. */
#include "shm.h"
#include <pthread.h>

static key_t key;

/* Which of the objects under the key are there. */
static void look(const char *where)
{
    int sem = semget(key, 0, 0), shm = shmget(key, 0, 0);
    struct seminfo info;
    struct shm_info usage;
    MUST(semctl(0, 0, SEM_INFO, (union semun){ .info = &info }));
    MUST(shmctl(0, SHM_INFO, (struct shmid_ds *)&usage));
    line(where, "set %s of %d, value %d, segment %s of %d", sem >= 0 ? "there" : errno_name(errno), info.semusz,
         sem >= 0 ? get(sem, 0, GETVAL) : -1, shm >= 0 ? "there" : errno_name(errno), usage.used_ids);
}

static int make(int value)
{
    int id = (int)MUST(semget(key, 1, IPC_CREAT | IPC_EXCL | 0600));
    MUST(set_value(id, 0, value));
    MUST(shmget(key, 100, IPC_CREAT | IPC_EXCL | 0600));
    return id;
}

static int space(void)
{
    return (int)MUST(open("/proc/thread-self/ns/ipc", O_RDONLY | O_CLOEXEC));
}

static void there_and_back(const char *self)
{
    MUST(unshare(CLONE_NEWIPC));
    int first = space();
    look("a new one");
    int id = make(1);
    look("with objects");
    char *at = attach((int)MUST(shmget(key, 0, 0)));
    at[0] = 7;
    MUST(unshare(CLONE_NEWIPC));
    int second = space();
    look("another");
    ROW("an id of the one before", SEMOP(id, OP(0, 1, 0)));
    line("what is attached stays", "%d", at[0]);
    make(2);
    look("another, with objects");
    IN_CHILD(look("a child"); MUST(setns(first, CLONE_NEWIPC)); look("a child, back"); MUST(SEMOP(id, OP(0, 4, 0))));
    look("unmoved");
    MUST(setns(first, 0));
    look("back");
    ROW("the id is good again", SEMOP(id, OP(0, 1, 0)));
    look("one more");
    MUST(setns(second, CLONE_NEWIPC));
    look("to and fro");
    MUST((int)syscall(SYS_setns, first, CLONE_NEWIPC));
    look("back by number");
    MUST((int)syscall(SYS_unshare, CLONE_NEWIPC));
    look("a third, by number");
    MUST(setns(first, CLONE_NEWIPC));
    fflush(stdout);
    IN_CHILD(char number[16]; snprintf(number, sizeof number, "%d", key); execl(self, self, number, NULL));
    ROW("unshare of something else", unshare(CLONE_FS));
    look("the same");
    ROW("setns of nothing", setns(-1, CLONE_NEWIPC));
    look("the same");
    MUST(shmdt(at));
}

static pthread_barrier_t turn;

static void *bystander(void *unused)
{
    look("a thread");
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    look("a thread, while another has gone");
    int id = (int)MUST(semget(key, 0, 0));
    for (int i = 0; i < 1000; i++)
        MUST(SEMOP(id, OP(0, 1, 0)));
    look("it has worked there");
    pthread_barrier_wait(&turn);
    return unused;
}

static void threads(void)
{
    pthread_t thread;
    MUST(unshare(CLONE_NEWIPC));
    int id = make(3);
    pthread_barrier_init(&turn, NULL, 2);
    pthread_create(&thread, NULL, bystander, NULL);
    pthread_barrier_wait(&turn);
    MUST(unshare(CLONE_NEWIPC));
    look("one of two threads");
    make(9);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    pthread_join(thread, NULL);
    look("unmoved by the other");
    IN_CHILD(look("its child"));
    ROW("an id of the other's", SEMOP(id + 32768, OP(0, 1, 0)));
}

static int cloned(void *objects)
{
    look("a cloned child");
    int id = make(5);
    look("a cloned child, with objects");
    MUST(SEMOP(id, OP(0, -1, SEM_UNDO)));
    IN_CHILD(look("its child"); MUST(SEMOP(id, OP(0, -1, SEM_UNDO))); look("its child, after an operation"));
    look("a cloned child, after the death of its own");
    ROW("an id of the parent's", SEMOP(*(int *)objects + 32768, OP(0, 1, 0)));
    fflush(stdout);
    return 7;
}

static void ends(pid_t child)
{
    int status;
    MUST(waitpid(child, &status, __WALL));
    line("the cloned child", "exit %d", WEXITSTATUS(status));
    look("its parent");
}

/* A child that begins in another namespace, and one that does not. */
static void clones(void)
{
    static _Alignas(16) char stack[1 << 18];
    MUST(unshare(CLONE_NEWIPC));
    int id = make(3);
    fflush(stdout);
    ends((pid_t)MUST(clone(cloned, stack + sizeof stack, CLONE_NEWIPC | SIGCHLD, &id)));
    fflush(stdout);
    pid_t child = (pid_t)MUST(syscall(SYS_clone, CLONE_NEWIPC | SIGCHLD, NULL, NULL, NULL, NULL));
    if (child == 0)
        _exit(cloned(&id));
    ends(child);
    unsigned long long arguments[8] = { CLONE_NEWIPC, [4] = SIGCHLD };
    child = (pid_t)MUST(syscall(SYS_clone3, arguments, sizeof arguments));
    if (child == 0)
        _exit(cloned(&id));
    ends(child);
    child = (pid_t)MUST(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL));
    if (child == 0) {
        look("a cloned child in the same namespace");
        fflush(stdout);
        _exit(0);
    }
    ends(child);
    ROW("bad arguments", syscall(SYS_clone3, NULL, sizeof arguments));
    ROW("flags that exclude each other", clone(cloned, stack + sizeof stack, CLONE_NEWIPC | CLONE_SYSVSEM | SIGCHLD, &id));
}

static void *idle(void *unused)
{
    pthread_barrier_wait(&turn);
    return unused;
}

/* The same in a process with another thread, which the child does not have. */
static void threads_clone(void)
{
    pthread_t thread;
    pthread_barrier_init(&turn, NULL, 2);
    pthread_create(&thread, NULL, idle, NULL);
    clones();
    pthread_barrier_wait(&turn);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        key = atoi(argv[1]);
        look("another image");
        return 0;
    }
    key = own_key(1);
    if (geteuid() != 0) {
        line("namespaces", "skipped, not root");
        return 0;
    }
    int home = space();
    if (unshare(CLONE_NEWIPC) != 0) {
        line("namespaces", "skipped, not allowed");
        return 0;
    }
    MUST(setns(home, 0));
    IN_CHILD(there_and_back(argv[0]));
    IN_CHILD(threads());
    IN_CHILD(clones());
    IN_CHILD(threads_clone());
    ROW("nothing of it here", semget(key, 0, 0));
    ROW("nothing of it here", shmget(key, 0, 0));
    return 0;
}
