/* Waits, measured: two threads that hand over to and fro, one that waits periodically beside others that compute, and waits that
 * find at once what they wait for.
 *
 *   waits condition|semaphore|barrier MS      prints hand-overs a second
 *   waits periodic MS                         prints millions of rounds a second of a computing thread on each CPU, beside a
 *                                             thread that waits for a millisecond again and again
 *   waits read|epoll|free MS                  prints nanoseconds of a read of a byte that is there (and its write), of an
 *                                             epoll_wait of a set that is ready, of a sem_wait and its post
 *   waits read|epoll|free times N             makes N such calls and prints 0: for a counter of instructions
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

/* ---- To and fro: a side hands over and waits until it is its turn again. ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static int turn, last;
static long last_round = -1;
static sem_t semaphores[2];
static pthread_barrier_t barrier;

static void by_condition(int side) {
    pthread_mutex_lock(&mutex);
    turn = 1 - side;
    pthread_cond_signal(&changed[1 - side]);
    while (turn != side)
        pthread_cond_wait(&changed[side], &mutex);
    pthread_mutex_unlock(&mutex);
}

static void by_semaphore(int side) {
    sem_post(&semaphores[1 - side]);
    sem_wait(&semaphores[side]);
}

/* One thread meets the other. */
static void by_barrier(int side) {
    (void)side;
    pthread_barrier_wait(&barrier);
}

static void (*hand_over)(int);

static void *answer(void *nothing) {
    if (hand_over == by_condition) {
        pthread_mutex_lock(&mutex);
        while (turn != 1)
            pthread_cond_wait(&changed[1], &mutex);
        pthread_mutex_unlock(&mutex);
    } else if (hand_over == by_semaphore)
        sem_wait(&semaphores[1]);
    if (hand_over == by_barrier) {
        /* Both sides make the same number of rounds, whenever this one learns of it. */
        long end;
        for (long i = 0; (end = __atomic_load_n(&last_round, __ATOMIC_ACQUIRE)) < 0 || i < end; i++)
            hand_over(1);
        return nothing;
    }
    while (!__atomic_load_n(&last, __ATOMIC_ACQUIRE))
        hand_over(1);
    /* The other side's last one. */
    if (hand_over == by_condition) {
        pthread_mutex_lock(&mutex);
        turn = 0;
        pthread_cond_signal(&changed[0]);
        pthread_mutex_unlock(&mutex);
    } else if (hand_over == by_semaphore)
        sem_post(&semaphores[0]);
    return nothing;
}

static double to_and_fro(double seconds) {
    pthread_t thread;
    long count = 0;
    double end;
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphores[0], 0, 0);
    sem_init(&semaphores[1], 0, 0);
    pthread_create(&thread, NULL, answer, NULL);
    for (int i = 0; i < 200; i++)
        hand_over(0);
    double begin = now_s();
    do {
        for (int i = 0; i < 16; i++, count++)
            hand_over(0);
        end = now_s();
    } while (end - begin < seconds);
    __atomic_store_n(&last_round, 200 + count + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&last, 1, __ATOMIC_RELEASE);
    hand_over(0);
    pthread_join(thread, NULL);
    /* A round of a barrier is one hand-over, the others are there and back. */
    return count * (hand_over == by_barrier ? 1 : 2) / (end - begin);
}

/* ---- A periodic waiter beside computing threads. ---- */

static int stop;

static void *compute(void *rounds) {
    volatile long *count = rounds;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        for (int i = 0; i < 1000; i++)
            ++*count;
    return NULL;
}

static void *tick(void *nothing) {
    int event = eventfd(0, 0);
    struct pollfd fd = {event, POLLIN, 0};
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        poll(&fd, 1, 1);
    return nothing;
}

static double periodic(double seconds) {
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    int count = CPU_COUNT(&cpus);
    pthread_t ticker, *threads = calloc(count, sizeof *threads);
    struct {
        _Alignas(128) long rounds;
    } *counts = aligned_alloc(128, count * 128);
    memset(counts, 0, count * 128);
    pthread_create(&ticker, NULL, tick, NULL);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, compute, &counts[i].rounds);
    double begin = now_s(), all = 0;
    usleep(seconds * 1e6);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    double took = now_s() - begin;
    pthread_join(ticker, NULL);
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        all += counts[i].rounds;
    }
    return all / took / 1e6;
}

/* ---- Waits that are over at once. ---- */

static int ends[2], set;

static void read_ready(void) {
    char byte;
    if (write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1)
        exit(1);
}

static void epoll_ready(void) {
    struct epoll_event e;
    if (epoll_wait(set, &e, 1, -1) != 1)
        exit(1);
}

static void take_free(void) {
    sem_post(&semaphores[0]);
    sem_wait(&semaphores[0]);
}

static int by_size(const void *a, const void *b) {
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

/* The median of batches, which a loss of the CPU in some of them leaves alone. */
static double ready(void (*call)(void), double seconds, long times) {
    enum { BATCH = 200, MOST = 100000 };
    static double batches[MOST];
    int n = 0, event = eventfd(1, 0);
    struct epoll_event e = {.events = EPOLLIN};
    if (pipe(ends))
        exit(1);
    set = epoll_create1(0);
    epoll_ctl(set, EPOLL_CTL_ADD, event, &e);
    sem_init(&semaphores[0], 0, 0);
    for (long i = 0; i < times; i++)
        call();
    if (times)
        return 0;
    for (double begin = now_s(); now_s() - begin < seconds && n < MOST; n++) {
        double before = now_s();
        for (int i = 0; i < BATCH; i++)
            call();
        batches[n] = (now_s() - before) * 1e9 / BATCH;
    }
    qsort(batches, n, sizeof batches[0], by_size);
    return batches[n / 2];
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    long times = argc > 3 && !strcmp(argv[2], "times") ? atol(argv[3]) : 0;
    double seconds = argc > 2 ? atof(argv[2]) / 1e3 : 0.4;
    if (!strcmp(what, "condition"))
        hand_over = by_condition;
    if (!strcmp(what, "semaphore"))
        hand_over = by_semaphore;
    if (!strcmp(what, "barrier"))
        hand_over = by_barrier;
    if (hand_over)
        printf("%f\n", to_and_fro(seconds));
    else if (!strcmp(what, "periodic"))
        printf("%f\n", periodic(seconds));
    else if (!strcmp(what, "read"))
        printf("%f\n", ready(read_ready, seconds, times));
    else if (!strcmp(what, "epoll"))
        printf("%f\n", ready(epoll_ready, seconds, times));
    else if (!strcmp(what, "free"))
        printf("%f\n", ready(take_free, seconds, times));
    else {
        fprintf(stderr, "usage: waits condition|semaphore|barrier|periodic|read|epoll|free [MS | times N]\n");
        return 2;
    }
}
