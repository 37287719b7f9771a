// A program that is metered while its recording is served. For each line on standard input:
//
//     rounds N   N times a thread waits for a mutex, a read-write lock and a spin lock that another thread holds;
//                then "done" is written to standard error
//     fork N     N children, one after another, do one round each; then "done"
//     threads N  N threads, one after another, lock and unlock a mutex; then "done"
//     hold       a thread waits for a mutex that another one holds until the next line; "done" when it waits
//     storm      rounds until the next line
//
// It ends with code 7 at the end of its input. Who waits for whom is the same in each round: the holder waits until the waiter
// sleeps, or for the spin lock until it is about to spin.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin_lock;

// Which lock is held in this moment; 0: none.
static atomic_int held;
static atomic_int is_storm;
// Whether the mutex is held until the next line.
static atomic_int is_hold;
// The thread that is about to spin.
static atomic_int at_spin;

__attribute__((noinline)) static void hold_mutex(void) {
    pthread_mutex_lock(&shared_lock);
    held = 1;
    // glibc: 2 means that a thread sleeps.
    while (*(volatile int *)&shared_lock.__data.__lock != 2) sched_yield();
    pthread_mutex_unlock(&shared_lock);
}

__attribute__((noinline)) static void hold_table(void) {
    pthread_rwlock_wrlock(&table_lock);
    held = 2;
    // glibc: a reader that waits is counted.
    while (*(volatile unsigned *)&table_lock.__data.__readers >> 3 == 0) sched_yield();
    pthread_rwlock_unlock(&table_lock);
}

__attribute__((noinline)) static void hold_spin(void) {
    pthread_spin_lock(&spin_lock);
    held = 3;
    while (!at_spin) sched_yield();
    // Long enough for a trylock that fails; the time is not asserted.
    usleep(2000);
    pthread_spin_unlock(&spin_lock);
}

__attribute__((noinline)) static void want_mutex(void) {
    pthread_mutex_lock(&shared_lock);
    pthread_mutex_unlock(&shared_lock);
}

__attribute__((noinline)) static void want_table(void) {
    pthread_rwlock_rdlock(&table_lock);
    pthread_rwlock_unlock(&table_lock);
}

__attribute__((noinline)) static void want_spin(void) {
    at_spin = 1;
    pthread_spin_lock(&spin_lock);
    at_spin = 0;
    pthread_spin_unlock(&spin_lock);
}

static void await(int lock) {
    while (held != lock) sched_yield();
}

static void *holder(void *rounds) {
    for (long left = (long)rounds; left > 0; left--) {
        hold_mutex();
        await(0);
        hold_table();
        await(0);
        hold_spin();
        await(0);
    }
    return NULL;
}

static void run_rounds(long rounds) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, holder, (void *)rounds)) exit(1);
    for (; rounds > 0; rounds--) {
        await(1), want_mutex(), held = 0;
        await(2), want_table(), held = 0;
        await(3), want_spin(), held = 0;
    }
    pthread_join(thread, NULL);
}

__attribute__((noinline)) static void *hold_until_next_line(void *nothing) {
    pthread_mutex_lock(&shared_lock);
    held = 1;
    while (is_hold) usleep(1000);
    pthread_mutex_unlock(&shared_lock);
    asm volatile("");
    return nothing;
}

static void *storm(void *nothing) {
    while (is_storm) run_rounds(1);
    return nothing;
}

static void *lock_once(void *nothing) {
    want_mutex();
    return nothing;
}

int main(void) {
    char line[64];
    pthread_t thread, waiter;
    pthread_spin_init(&spin_lock, PTHREAD_PROCESS_PRIVATE);
    while (fgets(line, sizeof line, stdin)) {
        if (is_storm) {
            is_storm = 0;
            pthread_join(thread, NULL);
        }
        if (is_hold) {
            is_hold = 0;
            pthread_join(thread, NULL);
            pthread_join(waiter, NULL);
        }
        long n = 0;
        if (sscanf(line, "rounds %ld", &n) == 1) {
            run_rounds(n);
        } else if (sscanf(line, "fork %ld", &n) == 1) {
            for (; n > 0; n--) {
                pid_t child = fork();
                if (child == 0) {
                    run_rounds(1);
                    _exit(0);
                }
                waitpid(child, NULL, 0);
            }
        } else if (sscanf(line, "threads %ld", &n) == 1) {
            for (; n > 0; n--) {
                if (pthread_create(&thread, NULL, lock_once, NULL)) exit(1);
                pthread_join(thread, NULL);
            }
        } else if (strncmp(line, "hold", 4) == 0) {
            is_hold = 1, held = 0;
            if (pthread_create(&thread, NULL, hold_until_next_line, NULL)) exit(1);
            await(1);
            if (pthread_create(&waiter, NULL, lock_once, NULL)) exit(1);
            while (*(volatile int *)&shared_lock.__data.__lock != 2) sched_yield();
        } else if (strncmp(line, "storm", 5) == 0) {
            is_storm = 1;
            if (pthread_create(&thread, NULL, storm, NULL)) exit(1);
        }
        fputs("done\n", stderr);
    }
    return 7;
}
