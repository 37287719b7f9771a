/* What a hand-off between sleeping processes costs at least: semopbench's rings of processes, with nothing around the system
 * calls that one needs. Prints the CPU time of a hand-off, which other programs disturb least, and the time by the clock.
 *
 * cc -O2 bench/c/handoff.c -o handoff && ./handoff futex 64 16 300
 *
 * kernel: three calls of semop a hand-off, as semopbench; posts: two, a wait and a post; futex: FUTEX_WAIT and FUTEX_WAKE on
 * a shared word; timed: the same, with a time limit of 50 ms that never comes.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct place {
    _Alignas(64) atomic_int token;
    double finished_us, cpu_us;
};

static enum { KERNEL, POSTS, FUTEX, TIMED } way;
static struct place *places;
static int semaphores, *sets;

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

static void operate(int group, int gate, int change) {
    struct sembuf op = {gate, change, 0};
    if (semop(sets[group], &op, 1)) {
        perror("semop");
        exit(1);
    }
}

static void await_token(int group, int gate) {
    if (way == KERNEL || way == POSTS)
        return operate(group, gate, -1);
    atomic_int *word = &places[group * semaphores + gate].token;
    struct timespec limit = {0, 50000000};
    while (!atomic_load(word))
        syscall(SYS_futex, word, FUTEX_WAIT, 0, way == TIMED ? &limit : 0, 0, 0);
    atomic_store(word, 0);
}

static void post(int group, int gate) {
    if (way == KERNEL || way == POSTS)
        return operate(group, gate, 1);
    atomic_int *word = &places[group * semaphores + gate].token;
    atomic_store(word, 1);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, 0, 0, 0);
}

static void take_turns(int group, int gate, int rounds) {
    struct place *mine = &places[group * semaphores + gate];
    double before = 0;
    for (int i = 0; i < rounds; i++) {
        await_token(group, gate);
        if (i == 0)
            before = cpu_us(); /* what was before the start does not count */
        if (way == KERNEL)
            operate(group, gate, 0); /* returns at once, as the reset of semopbench does */
        post(group, (gate + 1) % semaphores);
    }
    mine->finished_us = now_us();
    mine->cpu_us = cpu_us() - before;
}

int main(int argc, char **argv) {
    const char *names[] = {"kernel", "posts", "futex", "timed"};
    while (argc == 5 && way <= TIMED && strcmp(argv[1], names[way]))
        way++;
    if (argc != 5 || way > TIMED) {
        fprintf(stderr, "usage: handoff kernel|posts|futex|timed GROUPS SEMAPHORES ROUNDS\n");
        return 2;
    }
    int groups = atoi(argv[2]), rounds = atoi(argv[4]), all;
    semaphores = atoi(argv[3]);
    all = groups * semaphores;
    places = mmap(0, all * sizeof *places, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    sets = calloc(groups, sizeof *sets);
    for (int i = 0; i < groups; i++)
        sets[i] = semget(IPC_PRIVATE, semaphores, 0600);
    for (int i = 0; i < all; i++)
        if (!fork()) {
            prctl(PR_SET_PDEATHSIG, 9);
            take_turns(i / semaphores, i % semaphores, rounds);
            _exit(0);
        }
    sleep(1); /* until they sleep */
    double started = now_us(), last = 0, cpu = 0;
    for (int i = 0; i < groups; i++)
        post(i, 0);
    while (wait(0) > 0)
        ;
    for (int i = 0; i < all; i++) {
        cpu += places[i].cpu_us;
        last = places[i].finished_us > last ? places[i].finished_us : last;
    }
    printf("%s: CPU us a hand-off %.2f, by the clock %.2f\n", argv[1], cpu / all / rounds, (last - started) / all / rounds);
    for (int i = 0; i < groups; i++)
        semctl(sets[i], 0, IPC_RMID);
}
