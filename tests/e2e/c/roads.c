/* The path of each call, an instruction at a time. A thread with asynchronous cancellation is unwound from any instruction. If a
   function there has landing pads, but none for this instruction, the program ends. So no function with landing pads may be on
   the path; each row checks that. */
#include "queues.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sys/shm.h>
#include <ucontext.h>
#include <unwind.h>

#define TRAP_FLAG 0x100
#define MOST 16

static int set, queue, segment;
static int (*set_type)(int, int *);

/* Functions with landing pads that were seen. */
static _Unwind_Ptr found[MOST];
static int count, steps;

/* Frames that were interrupted: behind a call, landing pads do no harm. */
static _Unwind_Reason_Code look(struct _Unwind_Context *frame, void *unused)
{
    (void)unused;
    int interrupted = 0;
    _Unwind_GetIPInfo(frame, &interrupted);
    if (!interrupted)
        return _URC_NO_REASON;
    if (_Unwind_GetLanguageSpecificData(frame) == NULL)
        return _URC_NO_REASON;
    _Unwind_Ptr function = _Unwind_GetRegionStart(frame);
    for (int i = 0; i < count; i++)
        if (found[i] == function)
            return _URC_NO_REASON;
    if (count < MOST)
        found[count++] = function;
    return _URC_NO_REASON;
}

/* Between two instructions of a call; or at a breakpoint, from where on there are such stops, or none. */
static void stepped(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    if (info->si_code == SI_KERNEL) {
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] ^= TRAP_FLAG;
        return;
    }
    int before;
    set_type(PTHREAD_CANCEL_DEFERRED, &before);
    if (before == PTHREAD_CANCEL_ASYNCHRONOUS) {
        steps++;
        _Unwind_Backtrace(look, NULL);
    }
    set_type(before, &before);
}

#define BREAKPOINT() __asm__ volatile("int3" ::: "memory")

#define ROAD(name, call) \
    do { \
        count = steps = 0; \
        BREAKPOINT(); \
        (void)(call); \
        BREAKPOINT(); \
        line(name, "%d with landing places%s", count, steps == 0 && expected ? ", and no step" : ""); \
        for (int i = 0; i < count; i++) { \
            Dl_info where = { 0 }; \
            dladdr((void *)found[i], &where); \
            fprintf(stderr, "%s: %s at %#lx of %s\n", name, where.dli_sname ? where.dli_sname : "a function", \
                    (unsigned long)found[i] - (unsigned long)where.dli_fbase, where.dli_fname); \
        } \
    } while (0)

/* Every call but the thread's first one, whose path is long. `expected`: the thread may be cancelled anywhere. */
static void roads(int expected)
{
    struct sembuf plain = OP(0, 1, 0), undo = OP(0, 1, SEM_UNDO), full = OP(0, -9, IPC_NOWAIT), far = OP(9, 1, 0);
    struct sembuf two[] = { OP(0, 1, 0), OP(1, 1, SEM_UNDO) };
    struct semid_ds ds;
    struct {
        long type;
        char text[64];
    } m = { 1, "" };
    void *at = NULL;
    semop(set, &undo, 1);
    msgsnd(queue, &m, sizeof m.text, 0);
    ROAD("semop", semop(set, &plain, 1));
    ROAD("semop with SEM_UNDO", semop(set, &undo, 1));
    ROAD("semop that fails", semop(set, &full, 1));
    ROAD("semop out of range", semop(set, &far, 1));
    ROAD("semop of none", semop(set, &plain, 0));
    ROAD("semop at no address", semop(set, NULL, 1));
    ROAD("semop of no set", semop(-1, &plain, 1));
    ROAD("semop of two", semop(set, two, 2));
    ROAD("semtimedop", semtimedop(set, &full, 1, &((struct timespec){ 0, 100000 })));
    ROAD("semctl", semctl(set, 0, GETVAL));
    ROAD("semctl IPC_STAT", semctl(set, 0, IPC_STAT, (union semun){ .buf = &ds }));
    ROAD("semget", semget(own_key(1), 1, 0));
    ROAD("msgsnd", msgsnd(queue, &m, sizeof m.text, IPC_NOWAIT));
    ROAD("msgrcv", msgrcv(queue, &m, sizeof m.text, 0, IPC_NOWAIT));
    ROAD("msgrcv of nothing", msgrcv(queue, &m, sizeof m.text, 0, IPC_NOWAIT));
    ROAD("msgctl", msgctl(queue, IPC_STAT, NULL));
    ROAD("msgget", msgget(own_key(1), 0));
    ROAD("shmat", at = shmat(segment, NULL, 0));
    ROAD("shmdt", shmdt(at));
    ROAD("shmctl", shmctl(segment, IPC_STAT, NULL));
    ROAD("shmget", shmget(own_key(1), 1, 0));
    ROAD("syscall", syscall(SYS_semop, set, &plain, 1));
}

static void *chosen(void *unused)
{
    (void)unused;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    roads(1);
    return NULL;
}

static volatile int done;

/* libc lets a thread be cancelled anywhere in the sleep of a cancellation point, and in handlers that run in it, before 2.41. */
static void handler(int signal)
{
    (void)signal;
    roads(0);
    done = 1;
}

/* Before the process has called anything. */
static void first(int signal)
{
    int expected = 0;
    (void)signal;
    ROAD("semget, the first call", set = semget(IPC_PRIVATE, 2, 0600));
    done = 1;
}

static void *interrupted(void *unused)
{
    (void)unused;
    while (!done)
        poll(NULL, 0, 10);
    return NULL;
}

static void in_a_handler(void (*handler)(int))
{
    pthread_t thread;
    done = 0;
    MUST(sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = handler }, NULL));
    MUST(-pthread_create(&thread, NULL, interrupted, NULL));
    usleep(5000);
    MUST(-pthread_kill(thread, SIGUSR1));
    MUST(-pthread_join(thread, NULL));
}

int main(void)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    set_type = (int (*)(int, int *))dlsym(libc, "pthread_setcanceltype");
    /* libc's own: what answers between two instructions of ours must not be ours. */
    int (*action)(int, const struct sigaction *, struct sigaction *) =
        (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(libc, "sigaction");
    MUST(action(SIGTRAP, &(struct sigaction){ .sa_sigaction = stepped, .sa_flags = SA_SIGINFO | SA_NODEFER }, NULL));

    in_a_handler(first);
    remove_set(set);

    pthread_t thread;
    set = new_set(2);
    queue = new_queue();
    segment = (int)MUST(shmget(IPC_PRIVATE, 100, 0600));
    MUST(-pthread_create(&thread, NULL, chosen, NULL));
    MUST(-pthread_join(thread, NULL));
    in_a_handler(handler);
    remove_set(set);
    remove_queue(queue);
    MUST(shmctl(segment, IPC_RMID, NULL));
    return 0;
}
