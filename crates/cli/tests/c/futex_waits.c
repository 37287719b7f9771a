/* Threads with known waits. The main thread holds a mutex, which another thread wants, and a third waits for a condition. When
   both of them sleep, the main thread goes on sleeping for 20 ms; then it releases the mutex and signals the condition. The
   waiting threads measure their own waits and print the sums in seconds. With a number as argument, this is done so many times;
   the default is 20. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t known_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t state_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t known_condition = PTHREAD_COND_INITIALIZER;
static int turn, rounds = 20;
static double mutex_waited, condition_waited;
static pthread_barrier_t start;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void sleep_ms(int ms)
{
    struct timespec time = {0, ms * 1000000L};
    nanosleep(&time, NULL);
}

/* A thread that is about to wait, and in which round. From then on it sleeps for nothing else. */
static struct about {
    atomic_int round, tid;
} locks, waits;

static void about_to_wait(struct about *about, int round)
{
    about->tid = gettid();
    about->round = round;
}

static void wait_until_it_sleeps(struct about *about, int round)
{
    char path[64], state = 0;
    while (about->round != round)
        sleep_ms(1);
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", about->tid);
    while (state != 'S') {
        FILE *file = fopen(path, "r");
        if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            abort();
        fclose(file);
        if (state != 'S')
            sleep_ms(1);
    }
}

__attribute__((noinline)) static void wait_for_mutex(int round)
{
    double before = now();
    about_to_wait(&locks, round);
    pthread_mutex_lock(&known_mutex);
    mutex_waited += now() - before;
    pthread_mutex_unlock(&known_mutex);
}

static void *locker(void *nothing)
{
    for (int i = 1; i <= rounds; i++) {
        /* The main thread has the mutex. */
        pthread_barrier_wait(&start);
        wait_for_mutex(i);
        pthread_barrier_wait(&start);
    }
    return nothing;
}

static void *waiter(void *nothing)
{
    pthread_mutex_lock(&state_mutex);
    for (int i = 1; i <= rounds; i++) {
        double before = now();
        about_to_wait(&waits, i);
        while (turn < i)
            pthread_cond_wait(&known_condition, &state_mutex);
        condition_waited += now() - before;
    }
    pthread_mutex_unlock(&state_mutex);
    return nothing;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    if (argc > 1)
        rounds = atoi(argv[1]);
    pthread_barrier_init(&start, NULL, 2);
    pthread_create(&threads[0], NULL, locker, NULL);
    pthread_create(&threads[1], NULL, waiter, NULL);
    for (int i = 1; i <= rounds; i++) {
        pthread_mutex_lock(&known_mutex);
        pthread_barrier_wait(&start);
        wait_until_it_sleeps(&locks, i);
        wait_until_it_sleeps(&waits, i);
        sleep_ms(20);
        pthread_mutex_unlock(&known_mutex);
        pthread_barrier_wait(&start);
        pthread_mutex_lock(&state_mutex);
        turn = i;
        pthread_cond_signal(&known_condition);
        pthread_mutex_unlock(&state_mutex);
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("%.6f %.6f\n", mutex_waited, condition_waited);
    return 0;
}
