// Threads that map, touch and unmap memory: they wait for the mmap_lock of their process, a rwsem of the kernel.
// Usage: mmap_storm ROUNDS
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { THREADS = 4, SIZE = 1 << 20 };

static void *storm(void *rounds) {
    for (long round = *(long *)rounds; round > 0; round--) {
        char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) exit(1);
        for (long at = 0; at < SIZE; at += 4096) memory[at] = 1;
        if (munmap(memory, SIZE) != 0) exit(1);
    }
    return NULL;
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 100;
    pthread_t threads[THREADS];
    for (int n = 0; n < THREADS; n++)
        if (pthread_create(&threads[n], NULL, storm, &rounds) != 0) return 1;
    for (int n = 0; n < THREADS; n++) pthread_join(threads[n], NULL);
    return 7;
}
