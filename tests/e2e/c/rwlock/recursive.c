/* Readers that acquire for reading what they hold already, while writers wait. The default kind permits that, and so no writer that
 * waits may keep such a reader out. */
#include "expect.h"

static const int permitting[] = { PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP };

/* ---- One thread. ---- */

/* Each call acquires once more, and its release leaves the lock held. */
static void reader_reads_again(int kind)
{
    pthread_rwlock_t lock = lock_of_kind(kind), *l = &lock;
    struct job writers[2];
    struct timespec until = in_ms(CLOCK_REALTIME, 60000), past = { 1, 0 };
    line("a reader reads again", "kind %d", kind);
    EXPECT(0, pthread_rwlock_rdlock(l));
    start_asleep(&writers[0], wr_unlock, l);
    start_asleep(&writers[1], clock_wr_unlock, l);
    for (int i = 0; i < 2; i++) {
        EXPECT(0, pthread_rwlock_rdlock(l));
        EXPECT(0, pthread_rwlock_tryrdlock(l));
        EXPECT(0, pthread_rwlock_timedrdlock(l, &until));
        EXPECT(0, pthread_rwlock_clockrdlock(l, CLOCK_REALTIME, &until));
        EXPECT(0, pthread_rwlock_timedrdlock(l, &past));
        EXPECT(EBUSY, elsewhere(trywr, l));
        for (int n = 0; n < 5; n++)
            EXPECT(0, pthread_rwlock_unlock(l));
    }
    EXPECT(0, pthread_rwlock_unlock(l));
    EXPECT(0, answer_of(&writers[0]));
    EXPECT(0, answer_of(&writers[1]));
    EXPECT(0, elsewhere(trywr_unlock, l));
}

static void deep_recursion(int kind)
{
    enum { DEPTH = 10000 };
    pthread_rwlock_t lock = lock_of_kind(kind), *l = &lock;
    struct job writer;
    line("deep", "kind %d", kind);
    for (int i = 0; i < DEPTH / 2; i++)
        MUST(pthread_rwlock_rdlock(l));
    start_asleep(&writer, wr_unlock, l);
    for (int i = 0; i < DEPTH / 2; i++)
        MUST(pthread_rwlock_rdlock(l));
    for (int i = 1; i < DEPTH; i++)
        MUST(pthread_rwlock_unlock(l));
    EXPECT(EBUSY, elsewhere(trywr, l));
    EXPECT(0, pthread_rwlock_unlock(l));
    EXPECT(0, answer_of(&writer));
    EXPECT(0, elsewhere(trywr_unlock, l));
}

/* The kind that excludes recursion keeps all readers out while a writer waits, as glibc does. */
static void recursion_is_excluded(void)
{
    pthread_rwlock_t lock = lock_of_kind(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP), *l = &lock;
    struct job writer, reader;
    line("recursion", "excluded");
    EXPECT(0, pthread_rwlock_rdlock(l));
    EXPECT(0, pthread_rwlock_rdlock(l));
    EXPECT(0, elsewhere(rd_unlock, l));
    EXPECT(0, pthread_rwlock_unlock(l));
    start_asleep(&writer, wr_unlock, l);
    EXPECT(EBUSY, elsewhere(tryrd, l));
    EXPECT(EBUSY, pthread_rwlock_tryrdlock(l));
    EXPECT_TIMEOUT(CLOCK_MONOTONIC, 3, pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &until));
    start_asleep(&reader, rd_unlock, l);
    EXPECT(0, pthread_rwlock_unlock(l));
    EXPECT(0, answer_of(&writer));
    EXPECT(0, answer_of(&reader));
    /* A writer that gave up keeps no reader out. */
    EXPECT(0, pthread_rwlock_rdlock(l));
    struct timespec soon = in_ms(CLOCK_REALTIME, 3);
    EXPECT(ETIMEDOUT, pthread_rwlock_timedwrlock(l, &soon));
    EXPECT(0, pthread_rwlock_rdlock(l));
    EXPECT(0, elsewhere(tryrd_unlock, l));
    EXPECT(0, pthread_rwlock_unlock(l));
    EXPECT(0, pthread_rwlock_unlock(l));
    EXPECT(0, elsewhere(trywr_unlock, l));
}

/* A writer that gives up lets the readers in that waited behind it. */
static void writer_gives_up(int kind)
{
    pthread_rwlock_t lock = lock_of_kind(kind), *l = &lock;
    struct holder reader;
    struct job behind[2];
    struct timespec soon;
    line("a writer gives up", "kind %d", kind);
    start_holder(&reader, rd, l);
    for (int i = 0; i < 3; i++) {
        soon = in_ms(CLOCK_REALTIME, 3);
        EXPECT(ETIMEDOUT, pthread_rwlock_timedwrlock(l, &soon));
        start(&behind[0], rd_unlock, l);
        start(&behind[1], timed_rd_unlock, l);
        EXPECT(0, answer_of(&behind[0]));
        EXPECT(0, answer_of(&behind[1]));
    }
    EXPECT(0, end_holder(&reader));
    EXPECT(0, trywr_unlock(l));
}

/* ---- Two locks, two threads, crosswise. ---- */

struct crossing {
    pthread_rwlock_t locks[2];
    pthread_barrier_t both_hold, writers_wait;
};

struct side {
    struct crossing *crossing;
    int first;
};

static int cross(void *p)
{
    struct side *side = (struct side *)p;
    struct crossing *c = side->crossing;
    pthread_rwlock_t *first = &c->locks[side->first], *second = &c->locks[!side->first];
    MUST(pthread_rwlock_rdlock(first));
    pthread_barrier_wait(&c->both_hold);
    pthread_barrier_wait(&c->writers_wait);
    MUST(pthread_rwlock_rdlock(second));
    MUST(pthread_rwlock_rdlock(first));
    MUST(pthread_rwlock_unlock(first));
    MUST(pthread_rwlock_unlock(second));
    return pthread_rwlock_unlock(first);
}

/* A holds 0 and reads 1, B holds 1 and reads 0, and a writer waits for each. */
static void locks_are_read_crosswise(int kind)
{
    struct crossing c;
    struct job readers[2], writers[2];
    struct side sides[2] = { { &c, 0 }, { &c, 1 } };
    line("crosswise", "kind %d", kind);
    MUST(pthread_barrier_init(&c.both_hold, NULL, 3));
    MUST(pthread_barrier_init(&c.writers_wait, NULL, 3));
    for (int i = 0; i < 2; i++)
        c.locks[i] = lock_of_kind(kind);
    for (int i = 0; i < 2; i++)
        start(&readers[i], cross, &sides[i]);
    pthread_barrier_wait(&c.both_hold);
    for (int i = 0; i < 2; i++)
        start_asleep(&writers[i], wr_unlock, &c.locks[i]);
    pthread_barrier_wait(&c.writers_wait);
    for (int i = 0; i < 2; i++)
        EXPECT(0, answer_of(&readers[i]));
    for (int i = 0; i < 2; i++)
        EXPECT(0, answer_of(&writers[i]));
    for (int i = 0; i < 2; i++)
        EXPECT(0, trywr_unlock(&c.locks[i]));
}

/* ---- Many locks, released in any order, and by other threads. ---- */

enum { MANY = 50 };
static pthread_rwlock_t many[MANY];

static void shuffle(int *order, uint64_t *seed)
{
    for (int i = 0; i < MANY; i++)
        order[i] = i;
    for (int i = MANY - 1; i > 0; i--) {
        int other = (int)random_below(seed, (unsigned)i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

static int read_all(void *unused)
{
    (void)unused;
    for (int i = 0; i < MANY; i++)
        MUST(pthread_rwlock_rdlock(&many[i]));
    return 0;
}

static int release_all(void *seed)
{
    int order[MANY];
    shuffle(order, (uint64_t *)seed);
    for (int i = 0; i < MANY; i++)
        MUST(pthread_rwlock_unlock(&many[order[i]]));
    return 0;
}

static int count_held(void *unused)
{
    int held = 0;
    (void)unused;
    for (int i = 0; i < MANY; i++)
        held += trywr_unlock(&many[i]) == EBUSY;
    return held;
}

/* A third of the locks is held twice, while a writer waits for every fifth. */
static void nested(int kind, int (*const release)(uint64_t *))
{
    uint64_t seed = 77;
    struct job writers[MANY / 5];
    for (int i = 0; i < MANY; i++)
        many[i] = lock_of_kind(kind);
    for (int round = 0; round < 3; round++) {
        read_all(NULL);
        SAME(MANY, elsewhere(count_held, NULL));
        for (int i = 0; i < MANY / 5; i++)
            start_asleep(&writers[i], wr_unlock, &many[5 * i]);
        for (int i = 0; i < MANY; i += 3)
            MUST(pthread_rwlock_rdlock(&many[i]));
        for (int i = MANY - 1; i >= 0; i--)
            if (i % 3 == 0)
                MUST(pthread_rwlock_unlock(&many[i]));
        EXPECT(0, release(&seed));
        for (int i = 0; i < MANY / 5; i++)
            MUST(answer_of(&writers[i]));
        SAME(0, count_held(NULL));
    }
}

static int release_here(uint64_t *seed) { return release_all(seed); }
static int release_elsewhere(uint64_t *seed) { return elsewhere(release_all, seed); }

/* The caller holds the lock, and reads it again while a writer waits. */
static int read_again(void *l)
{
    struct job writer;
    start_asleep(&writer, wr_unlock, l);
    MUST(pthread_rwlock_rdlock(l));
    MUST(pthread_rwlock_unlock(l));
    MUST(pthread_rwlock_unlock(l));
    return answer_of(&writer);
}

/* Threads that released more than they have acquired, and the other way round, are readers like others. */
static int release_then_read_again(void *l)
{
    release_all(&(uint64_t){ 5 });
    MUST(pthread_rwlock_rdlock(l));
    return read_again(l);
}

/* What the thread releases is not what it has acquired. */
static int read_then_release_then_read_again(void *l)
{
    MUST(pthread_rwlock_rdlock(l));
    release_all(&(uint64_t){ 6 });
    return read_again(l);
}

static int read_all_then_read_again(void *l)
{
    for (int i = 0; i < 2; i++) {
        read_all(NULL);
        MUST(elsewhere(i == 0 ? release_then_read_again : read_then_release_then_read_again, l));
    }
    MUST(pthread_rwlock_rdlock(l));
    return read_again(l);
}

static void locks_are_released_by_others(int kind)
{
    pthread_rwlock_t lock = lock_of_kind(kind);
    for (int i = 0; i < MANY; i++)
        many[i] = lock_of_kind(kind);
    for (int round = 0; round < 3; round++)
        EXPECT(0, elsewhere(read_all_then_read_again, &lock));
    SAME(0, count_held(NULL));
    EXPECT(0, trywr_unlock(&lock));
}

/* ---- A reader that waits for another one. ---- */

/* It holds nothing, so only the preference of the default kind lets it in while a writer waits. */
static void reader_waits_for_a_new_reader(int kind)
{
    pthread_rwlock_t lock = lock_of_kind(kind), *l = &lock;
    struct job writer, readers[3];
    line("a reader waits for a new one", "kind %d", kind);
    EXPECT(0, pthread_rwlock_rdlock(l));
    start_asleep(&writer, wr_unlock, l);
    for (int i = 0; i < 3; i++)
        start(&readers[i], i == 1 ? timed_rd_unlock : rd_unlock, l);
    for (int i = 0; i < 3; i++)
        EXPECT(0, answer_of(&readers[i]));
    EXPECT(0, pthread_rwlock_unlock(l));
    EXPECT(0, answer_of(&writer));
}

static void each_way(int kind)
{
    reader_reads_again(kind);
    deep_recursion(kind);
    writer_gives_up(kind);
    locks_are_read_crosswise(kind);
    nested(kind, release_here);
    nested(kind, release_elsewhere);
}

/* The argument chooses what glibc's preference of readers permits beyond that. */
int main(int argc, char **argv)
{
    const char *chosen = argc > 1 ? argv[1] : "";
    void (*run)(int) = strcmp(chosen, "others release") == 0 ? locks_are_released_by_others
                       : strcmp(chosen, "new readers") == 0  ? reader_waits_for_a_new_reader
                                                             : each_way;
    /* A deadlock ends the program. */
    alarm(120);
    for (size_t i = 0; i < COUNT(permitting); i++)
        run(permitting[i]);
    if (run == each_way) {
        writer_gives_up(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
        recursion_is_excluded();
    }
    return 0;
}
