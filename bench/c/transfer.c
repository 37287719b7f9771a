/* What it costs to move a cache line from one CPU to another: two threads, each bound to a CPU, write to one word in turn.
 * Prints nanoseconds for one direction. A contended lock needs at least one such transfer when it changes its owner.
 *
 * cc -O2 -pthread bench/c/transfer.c -o transfer && ./transfer 0 1
 *
 * In a virtual machine the result can change while the program does not, probably because the hypervisor moves the virtual
 * CPUs. So measure it before and after each measurement of a contended lock.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WARM_UP = 500, ROUNDS = 8000 };

static _Alignas(128) atomic_uint word;

static void bind_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        perror("sched_setaffinity");
        exit(1);
    }
}

static void await(unsigned value) {
    /* Each thread has a CPU of its own. */
    while (atomic_load_explicit(&word, memory_order_acquire) != value) {
    }
}

static void *answer(void *cpu) {
    bind_to(*(int *)cpu);
    for (unsigned round = 0; round < ROUNDS; round++) {
        await(2 * round + 1);
        atomic_store_explicit(&word, 2 * round + 2, memory_order_release);
    }
    return NULL;
}

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv) {
    int cpus[] = {argc > 2 ? atoi(argv[1]) : 0, argc > 2 ? atoi(argv[2]) : 1};
    if (cpus[0] == cpus[1]) {
        fprintf(stderr, "usage: transfer CPU OTHER-CPU\n");
        return 2;
    }
    bind_to(cpus[0]);
    pthread_t other;
    if (pthread_create(&other, NULL, answer, &cpus[1]) != 0)
        return 1;
    double began = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (round == WARM_UP)
            began = now_ns();
        atomic_store_explicit(&word, 2 * round + 1, memory_order_release);
        await(2 * round + 2);
    }
    double elapsed = now_ns() - began;
    pthread_join(other, NULL);
    printf("%.0f\n", elapsed / (ROUNDS - WARM_UP) / 2);
    return 0;
}
