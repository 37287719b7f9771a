// A read-side section of liburcu's membarrier flavour that reads one pointer, in batches as timing.rs has them.
// Usage: urcu_memb time-ms N | times N. Prints ns per section, the median over batches.
#define _GNU_SOURCE
#define _LGPL_SOURCE
#define URCU_INLINE_SMALL_FUNCTIONS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <urcu/urcu-memb.h>

static void *shared;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static inline __attribute__((always_inline)) void sections(long n)
{
    for (long i = 0; i < n; i++) {
        urcu_memb_read_lock();
        void *p = rcu_dereference(shared);
        __asm__ volatile("" : : "r"(p) : "memory");
        urcu_memb_read_unlock();
    }
}

static double batch(long n)
{
    double start = now_ns();
    sections(n);
    return now_ns() - start;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    urcu_memb_register_thread();
    long amount = atol(argv[2]);
    if (!strcmp(argv[1], "times")) {
        sections(amount);
        puts("0");
    } else {
        long n = 1, count = 0, room = 1 << 16;
        double *batches = malloc(room * sizeof *batches);
        while (batch(n) < 100e3)
            n *= 2;
        double start = now_ns();
        do
            batches[count++] = batch(n);
        while (count < room && now_ns() - start < amount * 1e6);
        qsort(batches, count, sizeof *batches, compare);
        printf("%f\n", batches[count / 2] / n);
        free(batches);
    }
    urcu_memb_unregister_thread();
    return 0;
}
