/* Thousands of threads: at once with one lock and with many, and in waves of short lives. What a thread has for its locks is given
 * back when it ends.
 *
 * The argument is the number of threads that live at once. */
#include "expect.h"

enum { LOCKS = 100, ROUNDS = 4 };

struct place {
    pthread_rwlock_t lock;
    long first, second;
};

static struct place one, many[LOCKS];
static pthread_barrier_t all_there, all_hold;
static int count = 2000, ends;

static void write_to(struct place *place)
{
    MUST(wr(&place->lock));
    HOLDS(place->first + place->second == 0);
    place->first++;
    sched_yield();
    place->second--;
    MUST(unlock(&place->lock));
}

static void read_from(struct place *place)
{
    MUST(rd(&place->lock));
    HOLDS(place->first + place->second == 0);
    MUST(unlock(&place->lock));
}

/* So many threads with small stacks, to their end. */
static void crowd_of(int wanted, void *(*run)(void *))
{
    pthread_t *threads = (pthread_t *)calloc((size_t)wanted, sizeof *threads);
    for (int i = 0; i < wanted; i++)
        start_small(&threads[i], run, (void *)(intptr_t)i);
    for (int i = 0; i < wanted; i++)
        MUST(pthread_join(threads[i], NULL));
    free(threads);
}

/* ---- All at once. ---- */

/* Each holds the lock for reading at the same time; then one in twenty writes. */
static void *read_together(void *number)
{
    long me = (intptr_t)number;
    pthread_barrier_wait(&all_there);
    MUST(rd(&one.lock));
    MUST(rd(&many[me % LOCKS].lock));
    pthread_barrier_wait(&all_hold);
    HOLDS(one.first + one.second == 0);
    MUST(unlock(&one.lock));
    MUST(unlock(&many[me % LOCKS].lock));
    for (int i = 0; i < ROUNDS; i++) {
        struct place *place = i % 2 ? &one : &many[(me + i) % LOCKS];
        if (me % 20 == 0)
            write_to(place);
        else
            read_from(place);
    }
    return NULL;
}

static void row_writes(const char *row, long wanted)
{
    long writes = one.first;
    HOLDS(one.first + one.second == 0);
    for (int i = 0; i < LOCKS; i++) {
        HOLDS(many[i].first + many[i].second == 0);
        writes += many[i].first;
        MUST(trywr_unlock(&many[i].lock));
        many[i].first = many[i].second = 0;
    }
    one.first = one.second = 0;
    EXPECT(0, trywr_unlock(&one.lock));
    line(row, "counted");
    SAME(wanted, writes);
}

static void at_once(void)
{
    MUST(pthread_barrier_init(&all_there, NULL, (unsigned)count));
    MUST(pthread_barrier_init(&all_hold, NULL, (unsigned)count));
    crowd_of(count, read_together);
    row_writes("all at once", (long)((count + 19) / 20) * ROUNDS);
}

/* All wait for a lock that is held, readers and writers; it is released when the last of them is on its way. */
static int on_their_way;

static void *wait_for_it(void *number)
{
    long me = (intptr_t)number;
    __atomic_add_fetch(&on_their_way, 1, __ATOMIC_SEQ_CST);
    if (me % 10 == 0)
        write_to(&one);
    else
        read_from(&one);
    return NULL;
}

static void *wait_until_all_wait(void *unused)
{
    (void)unused;
    await_value(&on_their_way, count / 4);
    pause_ms(10);
    MUST(unlock(&one.lock));
    return NULL;
}

/* The thread that writes is the one that releases: it creates all the others in between. */
static void all_wait(int (*acquire)(void *))
{
    pthread_t releaser;
    int is_read = acquire == rd;
    on_their_way = 0;
    MUST(acquire(&one.lock));
    if (is_read)
        start_small(&releaser, wait_until_all_wait, NULL);
    int wanted = count / 4;
    pthread_t *threads = (pthread_t *)calloc((size_t)wanted, sizeof *threads);
    for (int i = 0; i < wanted; i++)
        start_small(&threads[i], wait_for_it, (void *)(intptr_t)i);
    if (is_read)
        MUST(pthread_join(releaser, NULL));
    else
        wait_until_all_wait(NULL);
    for (int i = 0; i < wanted; i++)
        MUST(pthread_join(threads[i], NULL));
    free(threads);
    row_writes(is_read ? "all behind a reader" : "all behind a writer", (wanted + 9) / 10);
}

/* ---- One after the other. ---- */

static void *live_briefly(void *number)
{
    long me = (intptr_t)number;
    MUST(rd(&one.lock));
    for (int i = 0; i < 3; i++)
        read_from(&many[(me * 7 + i) % LOCKS]);
    MUST(unlock(&one.lock));
    if (me % 10 == 0)
        write_to(&one);
    __atomic_add_fetch(&ends, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* The size of the process, in pages. */
static long size(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    HOLDS(file != NULL && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    return pages;
}

/* The process does not grow by what each thread had: after some waves it is as large as before. */
static void in_waves(void)
{
    enum { WAVES = 40, THREADS = 50, GROWTH = 2000 };
    long before = 0;
    ends = 0;
    for (int i = 0; i < WAVES; i++) {
        if (i == 10)
            before = size();
        crowd_of(THREADS, live_briefly);
    }
    long growth = size() - before;
    if (growth > GROWTH)
        fprintf(stderr, "%ld pages more than before %d threads\n", growth, (WAVES - 10) * THREADS);
    SAME(1, growth <= GROWTH);
    SAME(WAVES * THREADS, ends);
    row_writes("waves", WAVES * THREADS / 10);
}

static void *live_alone(void *p)
{
    return live_briefly(p);
}

static void detached(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    MUST(pthread_attr_init(&attr));
    MUST(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
    ends = 0;
    for (int i = 0; i < 300; i++)
        MUST(pthread_create(&thread, &attr, live_alone, (void *)(intptr_t)i));
    await_value(&ends, 300);
    row_writes("detached", 30);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        count = atoi(argv[1]);
    one.lock = lock_of_kind(PTHREAD_RWLOCK_DEFAULT_NP);
    for (int i = 0; i < LOCKS; i++)
        many[i].lock = lock_of_kind(i % 3);
    at_once();
    all_wait(wr);
    all_wait(rd);
    in_waves();
    detached();
    return 0;
}
