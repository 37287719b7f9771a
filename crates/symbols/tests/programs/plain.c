#include "probe.h"
#include <pthread.h>
#include <stdlib.h>

struct queue {
    pthread_spinlock_t guard;
    int length;
    struct {
        char padding[20];
        pthread_mutex_t lock;
    } ends[2];
};

pthread_mutex_t global_lock = PTHREAD_MUTEX_INITIALIZER; /* line: global_lock */
static pthread_mutex_t hidden_lock;                      /* line: hidden_lock */
static struct queue queues[8];                           /* line: queues line: first_queue */
static struct cell {
    char padding[8];
    pthread_rwlock_t lock;
} grid[2][3]; /* line: grid */
/* Far more than a page: most of it lies in a mapping without a name. */
static struct cell field[1 << 14]; /* line: field */
static union {
    struct {
        struct {
            pthread_mutex_t locks[2];
        };
    };
    char bytes[1];
} either; /* line: either */
static __thread pthread_mutex_t own_lock;
int deep(int n);

__attribute__((noinline)) static int inner(int n) {
    static pthread_mutex_t local_lock; /* line: local_lock */
    tell("local_lock", &local_lock);
    probe("inner"); /* line: inner */
    return n + 1;
}

__attribute__((always_inline)) static inline int inlined(int n) {
    return inner(n) + 1; /* line: inlined */
}

__attribute__((noinline)) int outer(int n) {
    static pthread_mutex_t local_lock; /* line: other_local_lock */
    tell("other_local_lock", &local_lock);
    return inlined(n) * 2; /* line: outer */
}

/* Its frame is aligned, and known by an expression only. */
__attribute__((noinline)) int aligned(int n) {
    volatile char room[n + 1];
    volatile double wide[4] __attribute__((aligned(64)));
    wide[0] = n;
    room[n] = 1;
    return outer(n) + (int)wide[0] + room[n]; /* line: aligned */
}

__attribute__((noinline)) int deep(int n) {
    volatile char room[64];
    room[n] = 1;
    return n > 0 ? deep(n - 1) + room[n] : aligned(n) + room[n];
}

int main(int argc, char **argv) {
    (void)argv;
    tell("global_lock", &global_lock);
    tell("hidden_lock", &hidden_lock);
    tell("queues", &queues[3].ends[1].lock);
    tell("first_queue", &queues[0].guard);
    tell("queues_end", &queues[8]);
    tell("grid", &grid[1][2].lock);
    tell("field", &field[16000].lock);
    tell("either", &either.locks[1]);
    tell("own_lock", &own_lock);
    tell("heap", malloc(64)); /* line: heap */
    tell("main", (void *)(uintptr_t)main);
    int result = deep(argc + 3); /* line: main */
    tell_maps();
    return result == 0;
}
