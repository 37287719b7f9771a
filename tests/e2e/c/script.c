/* Carries out a script of semaphore calls by several processes and prints, after each step, everything that can
 * be observed. A step may leave its process asleep; it is over when every process has answered or is counted
 * among the sleepers, so that the output is determined although the processes run freely.
 *
 * A line of the script:  PROCESS COMMAND SLOT NUMBER...   where a slot holds the id that a semget answered. */
#include "check.h"

enum { PROCESSES = 4, SLOTS = 3, NUMBERS = 24, IDS = 4096 };

struct step {
    int process, slot, count;
    char command;
    int numbers[NUMBERS];
};

static int *slots; /* shared by all */
static key_t keys; /* the first of 64 that nobody else has */
static int seen[IDS], seens;
static pid_t pids[PROCESSES];
static int to[PROCESSES], from[PROCESSES], asleep[PROCESSES];

static int operate(int id, const int *n, int count)
{
    struct sembuf ops[NUMBERS];
    struct timespec zero = { 0, 0 };
    int i;
    for (i = 0; 3 * i + 3 < count; i++)
        ops[i] = OP((unsigned short)n[3 * i + 1], (short)n[3 * i + 2], (short)n[3 * i + 3]);
    return n[0] ? semtimedop(id, ops, (size_t)i, &zero) : semop(id, ops, (size_t)i);
}

static int carry_out(const struct step *s)
{
    const int *n = s->numbers;
    int id = slots[s->slot];
    unsigned short all[NUMBERS] = { 0 };
    struct semid_ds ds;
    switch (s->command) {
    case 'G': {
        int got = semget(n[0] ? keys + n[0] : IPC_PRIVATE, n[1], n[2]);
        if (got >= 0)
            slots[s->slot] = got;
        return got;
    }
    case 'O':
        return operate(id, n, s->count);
    case 'V':
        return semctl(id, n[0], SETVAL, (union semun){ .val = n[1] });
    case 'A':
        for (int i = 0; i < s->count; i++)
            all[i] = (unsigned short)n[i];
        return semctl(id, 0, SETALL, (union semun){ .array = all });
    case 'C':
        return semctl(id, n[0], n[1]);
    case 'M':
        if (semctl(id, 0, IPC_STAT, (union semun){ .buf = &ds }) == -1)
            return -1;
        ds.sem_perm.mode = (unsigned short)n[0];
        return semctl(id, 0, IPC_SET, (union semun){ .buf = &ds });
    case 'R':
        return semctl(id, 0, IPC_RMID);
    default:
        return -3;
    }
}

static void serve(int in, int out)
{
    struct step step;
    while (read(in, &step, sizeof step) == sizeof step) {
        errno = 0;
        struct answer answer = { carry_out(&step), 0 };
        answer.error = errno;
        if (write(out, &answer, sizeof answer) != sizeof answer)
            break;
    }
    _exit(0);
}

static void remember(int id)
{
    for (int i = 0; i < seens; i++)
        if (seen[i] == id)
            return;
    if (seens < IDS)
        seen[seens++] = id;
}

static int sleepers(void)
{
    int sum = 0;
    for (int i = 0; i < seens; i++) {
        struct semid_ds ds;
        if (semctl(seen[i], 0, IPC_STAT, (union semun){ .buf = &ds }) == -1)
            continue;
        for (unsigned long j = 0; j < ds.sem_nsems; j++) {
            int n = get(seen[i], (int)j, GETNCNT), z = get(seen[i], (int)j, GETZCNT);
            sum += (n > 0 ? n : 0) + (z > 0 ? z : 0);
        }
    }
    return sum;
}

static const char *named(const struct step *step, int process, struct answer answer)
{
    static char text[64];
    if (answer.result == -1)
        return errno_name(answer.error);
    if (step != NULL && step->process == process && step->command == 'G')
        return "an id";
    if (step != NULL && step->process == process && step->command == 'C' && step->numbers[1] == GETPID) {
        for (int i = 0; i < PROCESSES; i++)
            if (answer.result == pids[i]) {
                snprintf(text, sizeof text, "process %d", i);
                return text;
            }
    }
    snprintf(text, sizeof text, "%d%s", answer.result, answer.error ? " (errno was touched)" : "");
    return text;
}

/* Collects what has been answered; true if everybody else is known to be asleep. */
static int settle(const struct step *step, struct answer *answers, int *answered)
{
    int outstanding = 0;
    for (int i = 0; i < PROCESSES; i++) {
        struct pollfd p = { .fd = from[i], .events = POLLIN };
        if (asleep[i] && poll(&p, 1, 0) == 1) {
            MUST(read(from[i], &answers[i], sizeof answers[i]));
            asleep[i] = 0;
            answered[i] = 1;
            if (step != NULL && step->process == i && step->command == 'G' && answers[i].result >= 0)
                remember(answers[i].result);
        }
        outstanding += asleep[i];
    }
    /* Only semop sleeps, and the kernel counts a caller whose timeout is zero as a sleeper for a moment. */
    if (step != NULL && (step->command != 'O' || step->numbers[0]) && asleep[step->process])
        return 0;
    /* A sleeper that moves on to another semaphore while these are counted one by one may count twice, once. */
    return outstanding == 0 || (outstanding == sleepers() && outstanding == sleepers());
}

static void show_state(void)
{
    for (int s = 0; s < SLOTS; s++) {
        struct semid_ds ds;
        if (slots[s] == -1)
            continue;
        if (semctl(slots[s], 0, IPC_STAT, (union semun){ .buf = &ds }) == -1) {
            printf("   slot %d %s\n", s, errno_name(errno));
            continue;
        }
        printf("   slot %d mode %o otime %d:", s, ds.sem_perm.mode, ds.sem_otime != 0);
        for (unsigned long j = 0; j < ds.sem_nsems; j++) {
            int pid = get(slots[s], (int)j, GETPID), by = -1;
            for (int i = 0; i < PROCESSES; i++)
                if (pid == pids[i])
                    by = i;
            printf(" %d/%d/%d/%d", get(slots[s], (int)j, GETVAL), by, get(slots[s], (int)j, GETNCNT),
                   get(slots[s], (int)j, GETZCNT));
        }
        printf("\n");
    }
}

static void take(int number, const struct step *step)
{
    struct answer answers[PROCESSES];
    int answered[PROCESSES] = { 0 };
    if (step != NULL) {
        if (asleep[step->process]) {
            printf("%d busy\n", number);
            return;
        }
        asleep[step->process] = 1;
        MUST(write(to[step->process], step, sizeof *step));
    }
    for (int tries = 0; !settle(step, answers, answered); tries++)
        usleep(tries < 20 ? 20 : 500);
    printf("%d", number);
    for (int i = 0; i < PROCESSES; i++)
        if (answered[i])
            printf(" process %d: %s;", i, named(step, i, answers[i]));
    printf("\n");
    show_state();
}

static int parse(const char *text, struct step *step)
{
    int used;
    memset(step, 0, sizeof *step);
    if (sscanf(text, "%d %c %d%n", &step->process, &step->command, &step->slot, &used) != 3)
        return 0;
    while (step->count < NUMBERS) {
        int more;
        text += used;
        if (sscanf(text, "%d%n", &step->numbers[step->count], &more) != 1)
            break;
        used = more;
        step->count++;
    }
    return step->process >= 0 && step->process < PROCESSES && step->slot >= 0 && step->slot < SLOTS;
}

int main(void)
{
    char text[1024];
    struct step step;
    keys = own_key(0);
    slots = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int s = 0; s < SLOTS; s++)
        slots[s] = -1;
    for (int i = 0; i < PROCESSES; i++) {
        int down[2], up[2];
        MUST(pipe(down));
        MUST(pipe(up));
        pids[i] = (pid_t)MUST(fork());
        if (pids[i] == 0) {
            close(down[1]);
            for (int j = 0; j < i; j++)
                close(to[j]);
            serve(down[0], up[1]);
        }
        close(down[0]);
        close(up[1]);
        to[i] = down[1];
        from[i] = up[0];
    }
    for (int number = 1; fgets(text, sizeof text, stdin) != NULL; number++) {
        if (!parse(text, &step)) {
            fprintf(stderr, "line %d of the script is none: %s", number, text);
            return 99;
        }
        take(number, &step);
    }
    for (int i = 0; i < seens; i++)
        remove_set(seen[i]);
    take(0, NULL);
    for (int i = 0; i < PROCESSES; i++)
        close(to[i]);
    while (wait(NULL) > 0)
        ;
    return 0;
}
