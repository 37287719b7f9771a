/* What a hand-off between sleeping processes costs: rings of processes as semopbench's, and processes that take turns with a
 * lock of System V. Prints microseconds a hand-off: by the clock, and of CPU time, which other programs disturb least.
 *
 * cc -O2 bench/c/handoff.c -o handoff && ./handoff futex 64 16 300
 *
 * Rings: the process that has the token wakes the next one, and waits.
 *   semop: three calls of semop a hand-off, as semopbench; posts: two, -1 and a post;
 *   zero: three, a wait for zero and two that do not wait;
 *   message: msgrcv and msgsnd of a message without text;
 *   futex: FUTEX_WAIT and FUTEX_WAKE on a shared word, and nothing around them: the floor;
 *   timed: the same, with a time limit of 50 ms that never comes.
 * Lock: the processes of a group take and release the lock of the textbook, {wait for zero, +1 with SEM_UNDO} in one call.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct place {
    _Alignas(64) atomic_int token;
    atomic_int ready;
    double finished_us, cpu_us;
};

static enum { SEMOP, POSTS, ZERO, LOCK, MESSAGE, FUTEX, TIMED } way;
static const char *const names[] = {"semop", "posts", "zero", "lock", "message", "futex", "timed"};
static struct place *places;
static int groups, semaphores, *sets, *queues;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static double cpu_us(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e6 + r.ru_utime.tv_usec + r.ru_stime.tv_usec;
}

static void call(int group, struct sembuf *ops, int count) {
    if (semop(sets[group], ops, count)) {
        perror("semop");
        exit(1);
    }
}

static void operate(int group, int gate, int change, int flags) {
    struct sembuf op = {gate, change, flags};
    call(group, &op, 1);
}

static void require(int result) {
    if (result == -1) {
        perror("message");
        exit(1);
    }
}

static void await_token(int group, int gate) {
    struct sembuf take[] = {{0, 0, 0}, {0, 1, SEM_UNDO}};
    atomic_int *word = &places[group * semaphores + gate].token;
    struct timespec limit = {0, 50000000};
    long type;
    switch (way) {
    case SEMOP:
        operate(group, gate, -1, 0);
        return operate(group, gate, 0, 0); /* returns at once, as the reset of semopbench does */
    case POSTS:
        return operate(group, gate, -1, 0);
    case ZERO:
        operate(group, gate, 0, 0);
        return operate(group, gate, 1, 0);
    case LOCK:
        return call(group, take, 2);
    case MESSAGE:
        return require(msgrcv(queues[group], &type, 0, gate + 1, 0));
    default:
        while (!atomic_load(word))
            syscall(SYS_futex, word, FUTEX_WAIT, 0, way == TIMED ? &limit : 0, 0, 0);
        atomic_store(word, 0);
    }
}

static void post(int group, int gate) {
    atomic_int *word = &places[group * semaphores + gate].token;
    long type = gate + 1;
    switch (way) {
    case SEMOP:
    case POSTS:
        return operate(group, gate, 1, 0);
    case ZERO:
        return operate(group, gate, -1, 0);
    case LOCK:
        return operate(group, 0, -1, SEM_UNDO);
    case MESSAGE:
        return require(msgsnd(queues[group], &type, 0, 0));
    default:
        atomic_store(word, 1);
        syscall(SYS_futex, word, FUTEX_WAKE, 1, 0, 0, 0);
    }
}

static void take_turns(int group, int gate, int rounds) {
    struct place *mine = &places[group * semaphores + gate];
    double before = 0;
    atomic_store(&mine->ready, 1);
    for (int i = 0; i < rounds; i++) {
        await_token(group, gate);
        if (i == 0)
            before = cpu_us(); /* what was before the start does not count */
        post(group, (gate + 1) % semaphores);
    }
    mine->finished_us = now_us();
    mine->cpu_us = cpu_us() - before;
}

static void remove_objects(void) {
    for (int i = 0; i < groups; i++) {
        semctl(sets[i], 0, IPC_RMID);
        if (way == MESSAGE)
            msgctl(queues[i], IPC_RMID, 0);
    }
}

/* No process ends before all have started, unless a call fails in it. */
static void rest(void) {
    if (waitpid(-1, NULL, WNOHANG) > 0) {
        remove_objects();
        exit(1);
    }
    usleep(100);
}

/* Returns when the process sleeps in its first wait, or is about to. */
static void await_sleeper(int group, int gate) {
    int number = way == LOCK ? 0 : gate;
    int expected = way == LOCK ? gate + 1 : 1;
    while (!atomic_load(&places[group * semaphores + gate].ready))
        rest();
    if (way < MESSAGE)
        while (semctl(sets[group], number, GETNCNT) + semctl(sets[group], number, GETZCNT) < expected)
            rest();
}

int main(int argc, char **argv) {
    while (argc == 5 && way <= TIMED && strcmp(argv[1], names[way]))
        way++;
    if (argc != 5 || way > TIMED) {
        fprintf(stderr, "usage: handoff semop|posts|zero|lock|message|futex|timed GROUPS SEMAPHORES ROUNDS\n");
        return 2;
    }
    int rounds = atoi(argv[4]), all;
    groups = atoi(argv[2]);
    semaphores = atoi(argv[3]);
    all = groups * semaphores;
    places = mmap(0, all * sizeof *places, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    sets = calloc(groups, sizeof *sets);
    queues = calloc(groups, sizeof *queues);
    for (int i = 0; i < groups; i++)
        sets[i] = queues[i] = -1;
    for (int i = 0; i < groups; i++) {
        sets[i] = semget(IPC_PRIVATE, way == LOCK ? 1 : semaphores, 0600);
        queues[i] = way == MESSAGE ? msgget(IPC_PRIVATE, 0600) : 0;
        if (sets[i] < 0 || queues[i] < 0) {
            perror("handoff");
            remove_objects();
            return 1;
        }
        if (way == LOCK)
            operate(i, 0, 1, 0);
        for (int gate = 0; way == ZERO && gate < semaphores; gate++)
            operate(i, gate, 1, 0);
    }
    for (int i = 0; i < all; i++)
        if (!fork()) {
            prctl(PR_SET_PDEATHSIG, 9);
            take_turns(i / semaphores, i % semaphores, rounds);
            _exit(0);
        }
    for (int i = 0; i < all; i++)
        await_sleeper(i / semaphores, i % semaphores);
    usleep(10000); /* until those sleep that were about to */
    double started = now_us(), last = 0, cpu = 0;
    for (int i = 0; i < groups; i++)
        way == LOCK ? operate(i, 0, -1, 0) : post(i, 0);
    int status, failed = 0;
    while (wait(&status) > 0)
        failed |= status;
    for (int i = 0; i < all; i++) {
        cpu += places[i].cpu_us;
        last = places[i].finished_us > last ? places[i].finished_us : last;
    }
    printf("%.3f %.3f\n", (last - started) / all / rounds, cpu / all / rounds);
    remove_objects();
    return failed != 0;
}
