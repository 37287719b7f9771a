/* The process that carries out the steps that are given to it: one function for each command. */
#ifndef WORKER_H
#define WORKER_H
#include "step.h"
#include <pthread.h>
#include <sys/uio.h>

/* Where a process attaches segments: at fixed places where nothing else is ever mapped, and wherever the kernel likes. */
enum { FIXED_BAYS = 4, BAYS = 6, BAY = 16 * PAGE };
static char *bays[BAYS];

static int me; /* which process this is */
static void serve(void);

static key_t key_of(int n)
{
    return n ? shared->keys + n : IPC_PRIVATE;
}

static int id_of(const struct step *s, enum class class)
{
    return shared->ids[class][s->slot];
}

static int keep(const struct step *s, enum class class, int id)
{
    if (id >= 0)
        shared->ids[class][s->slot] = id;
    return id;
}

/* ---- Semaphores. ---- */

static void do_semget(const struct step *s, struct reply *r)
{
    r->result = keep(s, SETS, semget(key_of(s->numbers[0]), s->numbers[1], s->numbers[2]));
}

static void do_semop(const struct step *s, struct reply *r)
{
    struct sembuf ops[NUMBERS];
    struct timespec zero = { 0, 0 };
    const int *n = s->numbers;
    size_t i = 0;
    for (; 3 * (int)i + 3 < s->count; i++)
        ops[i] = OP((unsigned short)n[3 * i + 1], (short)n[3 * i + 2], (short)n[3 * i + 3]);
    r->result = n[0] ? semtimedop(id_of(s, SETS), ops, i, &zero) : semop(id_of(s, SETS), ops, i);
}

static void do_setval(const struct step *s, struct reply *r)
{
    r->result = set_value(id_of(s, SETS), s->numbers[0], s->numbers[1]);
}

static void do_setall(const struct step *s, struct reply *r)
{
    unsigned short all[NUMBERS] = { 0 };
    for (int i = 0; i < s->count; i++)
        all[i] = (unsigned short)s->numbers[i];
    r->result = semctl(id_of(s, SETS), 0, SETALL, (union semun){ .array = all });
}

static void do_semctl(const struct step *s, struct reply *r)
{
    r->result = semctl(id_of(s, SETS), s->numbers[0], s->numbers[1]);
}

static void do_semset(const struct step *s, struct reply *r)
{
    struct semid_ds ds;
    r->result = semctl(id_of(s, SETS), 0, IPC_STAT, (union semun){ .buf = &ds });
    if (r->result == -1)
        return;
    ds.sem_perm.mode = (unsigned short)s->numbers[0];
    r->result = semctl(id_of(s, SETS), 0, IPC_SET, (union semun){ .buf = &ds });
}

static void do_semrm(const struct step *s, struct reply *r)
{
    r->result = semctl(id_of(s, SETS), 0, IPC_RMID);
}

/* ---- Messages. ---- */

struct message {
    long type;
    char text[10000];
};

static void do_msgget(const struct step *s, struct reply *r)
{
    r->result = keep(s, QUEUES, msgget(key_of(s->numbers[0]), s->numbers[1]));
}

static void do_msgsnd(const struct step *s, struct reply *r)
{
    struct message m = { .type = s->numbers[0] };
    memset(m.text, 'a' + s->number % 26, sizeof m.text);
    r->result = msgsnd(id_of(s, QUEUES), &m, (size_t)s->numbers[1], s->numbers[2]);
}

static void do_msgrcv(const struct step *s, struct reply *r)
{
    struct message m;
    memset(&m, '?', sizeof m);
    r->result = (int)msgrcv(id_of(s, QUEUES), &m, (size_t)s->numbers[0], s->numbers[1], s->numbers[2]);
    if (r->result < 0)
        return;
    r->type = m.type;
    r->letter = r->result > 0 ? m.text[0] : ' ';
    for (int i = 0; i < (int)sizeof m.text; i++)
        if (m.text[i] != (i < r->result ? r->letter : '?'))
            r->letter = '?';
}

static void do_msgset(const struct step *s, struct reply *r)
{
    struct msqid_ds ds;
    r->result = msgctl(id_of(s, QUEUES), IPC_STAT, &ds);
    if (r->result == -1)
        return;
    ds.msg_perm.mode = (unsigned short)s->numbers[0];
    ds.msg_qbytes = (unsigned long)s->numbers[1];
    r->result = msgctl(id_of(s, QUEUES), IPC_SET, &ds);
}

static void do_msgrm(const struct step *s, struct reply *r)
{
    r->result = msgctl(id_of(s, QUEUES), IPC_RMID, NULL);
}

/* ---- Shared memory. ---- */

static char *place(const struct step *s)
{
    int bay = s->numbers[0];
    return bay < FIXED_BAYS ? (char *)0x110000000000 + bay * BAY : bays[bay];
}

static void do_shmget(const struct step *s, struct reply *r)
{
    r->result = keep(s, SEGMENTS, shmget(key_of(s->numbers[0]), (size_t)s->numbers[1], s->numbers[2]));
}

/* A bay that the kernel chooses is taken once. */
static void do_shmat(const struct step *s, struct reply *r)
{
    int bay = s->numbers[0];
    char *wanted = bay < FIXED_BAYS ? place(s) + s->numbers[2] : NULL;
    if (bay >= FIXED_BAYS && bays[bay] != NULL)
        return;
    char *at = shmat(id_of(s, SEGMENTS), wanted, s->numbers[1]);
    r->result = at == (char *)-1 ? -1 : at == wanted ? 1 : at == wanted - s->numbers[2] ? 2 : 3;
    if (bay >= FIXED_BAYS && r->result != -1)
        bays[bay] = at;
}

static void do_shmdt(const struct step *s, struct reply *r)
{
    r->result = shmdt(place(s) + s->numbers[1]);
    if (r->result == 0)
        bays[s->numbers[0]] = NULL;
}

/* Nothing is unmapped from a bay that the kernel chose: chance would decide what is mapped there next. */
static void do_munmap(const struct step *s, struct reply *r)
{
    if (s->numbers[0] < FIXED_BAYS)
        r->result = munmap(place(s) + s->numbers[1] * PAGE, (size_t)s->numbers[2] * PAGE);
}

/* Behind the first page of a bay that the kernel chose may be anything. */
static char *page(const struct step *s)
{
    return s->numbers[0] < FIXED_BAYS ? place(s) + s->numbers[1] * PAGE : place(s);
}

/* The kernel copies, so that no access can kill. */
static void do_poke(const struct step *s, struct reply *r)
{
    char letter = (char)('a' + s->number % 26);
    struct iovec from = { &letter, 1 }, to = { page(s), 1 };
    r->result = (int)process_vm_writev(getpid(), &from, 1, &to, 1, 0);
}

static void do_peek(const struct step *s, struct reply *r)
{
    char letter = 0;
    struct iovec to = { &letter, 1 }, from = { page(s), 1 };
    r->result = (int)process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    r->letter = r->result == -1 ? 0 : letter;
}

static void do_shmset(const struct step *s, struct reply *r)
{
    struct shmid_ds ds;
    r->result = shmctl(id_of(s, SEGMENTS), IPC_STAT, &ds);
    if (r->result == -1)
        return;
    ds.shm_perm.mode = (unsigned short)s->numbers[0];
    r->result = shmctl(id_of(s, SEGMENTS), IPC_SET, &ds);
}

static void do_shmrm(const struct step *s, struct reply *r)
{
    r->result = shmctl(id_of(s, SEGMENTS), IPC_RMID, NULL);
}

/* ---- Processes. ---- */

static void *linger(void *unused)
{
    usleep(2000);
    return unused;
}

static void do_exit(const struct step *s, struct reply *r)
{
    pthread_t thread;
    (void)r;
    if (s->numbers[0] == 0)
        exit(0);
    if (s->numbers[0] == 1)
        _exit(0);
    MUST(pthread_create(&thread, NULL, linger, NULL) ? -1 : 0);
    pthread_exit(NULL);
}

static void do_fork(const struct step *s, struct reply *r)
{
    r->result = fork();
    if (r->result == 0) {
        me = s->numbers[0];
        serve();
    }
}

/* Another image answers: this one again, or, without the preload, one that answers no more. */
static void do_exec(const struct step *s, struct reply *r)
{
    char process[8];
    char *again[] = { "script", "serve", process, NULL }, *mute[] = { "script", "mute", process, NULL };
    snprintf(process, sizeof process, "%d", me);
    if (s->numbers[0] == 0)
        execv("/proc/self/exe", again);
    unsetenv("LD_PRELOAD");
    r->result = execv("/proc/self/exe", mute);
}

struct command {
    const char *name;
    void (*carry_out)(const struct step *, struct reply *);
    int least; /* numbers that it needs */
};

/* "kill" and "signal" are the coordinator's. */
static const struct command commands[] = {
    { "semget", do_semget, 3 }, { "semop", do_semop, 1 },   { "setval", do_setval, 2 }, { "setall", do_setall, 1 },
    { "semctl", do_semctl, 2 }, { "semset", do_semset, 1 }, { "semrm", do_semrm, 0 },   { "msgget", do_msgget, 2 },
    { "msgsnd", do_msgsnd, 3 }, { "msgrcv", do_msgrcv, 3 }, { "msgset", do_msgset, 2 }, { "msgrm", do_msgrm, 0 },
    { "shmget", do_shmget, 3 }, { "shmat", do_shmat, 3 },   { "shmdt", do_shmdt, 2 },   { "munmap", do_munmap, 3 },
    { "poke", do_poke, 2 },     { "peek", do_peek, 2 },     { "shmset", do_shmset, 1 }, { "shmrm", do_shmrm, 0 },
    { "exit", do_exit, 1 },     { "fork", do_fork, 1 },     { "exec", do_exec, 1 },     { "kill", NULL, 1 },
    { "signal", NULL, 1 },
};

static int is(const struct step *step, const char *command)
{
    return strcmp(commands[step->command].name, command) == 0;
}

struct errand {
    const struct step *step;
    struct reply *reply;
};

static void *run_errand(void *at)
{
    struct errand *errand = at;
    errno = 0;
    commands[errand->step->command].carry_out(errand->step, errand->reply);
    errand->reply->error = errno;
    return NULL;
}

static void answer(struct reply reply)
{
    if (write(end_of(REPLIES, me, IN), &reply, sizeof reply) != sizeof reply)
        _exit(97);
}

static void serve(void)
{
    struct step step;
    for (;;) {
        if (read(end_of(COMMANDS, me, OUT), &step, sizeof step) != sizeof step) {
            if (errno == EINTR)
                continue;
            _exit(96);
        }
        struct reply reply = { 0 };
        struct errand errand = { &step, &reply };
        pthread_t thread;
        if (step.threaded) {
            MUST(pthread_create(&thread, NULL, run_errand, &errand) ? -1 : 0);
            pthread_join(thread, NULL);
        } else
            run_errand(&errand);
        answer(reply);
    }
}

static void note_signal(int signal)
{
    (void)signal;
}

/* Signals that interrupt calls. The coordinator hears them too, so that no process is ever without. */
static void hear_signals(void)
{
    struct sigaction interrupts = { .sa_handler = note_signal }, restarts = { .sa_handler = note_signal };
    restarts.sa_flags = SA_RESTART;
    MUST(sigaction(SIGUSR1, &interrupts, NULL));
    MUST(sigaction(SIGUSR2, &restarts, NULL));
}

static void begin_service(int process)
{
    me = process;
    /* No process waits for children that other processes fork. */
    signal(SIGCHLD, SIG_IGN);
}

#endif
