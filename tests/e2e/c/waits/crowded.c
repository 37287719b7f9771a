/* More to do than CPUs: pairs of threads, each of which works, hands over and waits for the other's answer. Prints hand-overs
 * a second. Arguments: pairs for each CPU, microseconds of work, milliseconds. */
#include "table.h"

static int started, stop;
static long total;

struct pair {
    int there[2], back[2];
    long done;
};

static double work_us;

/* Counts its own time on the CPU, as work does: a thread that is preempted has not done more. */
static void work(void)
{
    static int loops_per_us = 200;
    for (volatile long i = 0; i < (long)(work_us * loops_per_us); i++)
        ;
}

static void *answer(void *argument)
{
    struct pair *pair = (struct pair *)argument;
    char byte;
    while (read(pair->there[0], &byte, 1) == 1) {
        work();
        MUST_SYS(write(pair->back[1], &byte, 1));
    }
    return NULL;
}

static void *ask(void *argument)
{
    struct pair *pair = (struct pair *)argument;
    char byte = 'x';
    await_value(&started, 1);
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
        work();
        MUST_SYS(write(pair->there[1], &byte, 1));
        MUST_SYS(read(pair->back[0], &byte, 1));
        pair->done += 2;
    }
    close(pair->there[1]);
    __atomic_add_fetch(&total, pair->done, __ATOMIC_SEQ_CST);
    return NULL;
}

int main(int argc, char **argv)
{
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    int count = (argc > 1 ? atoi(argv[1]) : 4) * CPU_COUNT(&cpus);
    work_us = argc > 2 ? atof(argv[2]) : 5;
    long ms = argc > 3 ? atol(argv[3]) : 200;
    struct pair *pairs = (struct pair *)calloc((size_t)count, sizeof *pairs);
    pthread_t *threads = (pthread_t *)calloc((size_t)count * 2, sizeof *threads);
    for (int i = 0; i < count; i++) {
        MUST_SYS(pipe(pairs[i].there));
        MUST_SYS(pipe(pairs[i].back));
        MUST(pthread_create(&threads[2 * i], NULL, answer, &pairs[i]));
        MUST(pthread_create(&threads[2 * i + 1], NULL, ask, &pairs[i]));
    }
    double before = now_us();
    __atomic_store_n(&started, 1, __ATOMIC_SEQ_CST);
    pause_ms(ms);
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 2 * count; i++)
        MUST(pthread_join(threads[i], NULL));
    printf("%.0f\n", (double)total / ((now_us() - before) / 1e6));
    return 0;
}
