// Threads that map, touch and unmap memory until they have waited for the mmap_lock of their process, a rwsem of the kernel: they
// sleep for nothing else, so their voluntary context switches are these waits.
// Usage: mmap_storm WAITS
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { THREADS = 4, SIZE = 1 << 14 };

static atomic_long waits;

static void *storm(void *wanted) {
    long before = 0;
    while (waits < *(long *)wanted) {
        char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) exit(1);
        for (long at = 0; at < SIZE; at += 4096) memory[at] = 1;
        if (munmap(memory, SIZE) != 0) exit(1);
        struct rusage usage;
        if (getrusage(RUSAGE_THREAD, &usage) != 0) exit(1);
        waits += usage.ru_nvcsw - before;
        before = usage.ru_nvcsw;
    }
    return NULL;
}

int main(int argc, char **argv) {
    long wanted = argc > 1 ? atol(argv[1]) : 100;
    pthread_t threads[THREADS];
    for (int n = 0; n < THREADS; n++)
        if (pthread_create(&threads[n], NULL, storm, &wanted) != 0) return 1;
    for (int n = 0; n < THREADS; n++) pthread_join(threads[n], NULL);
    return 7;
}
