/* fork(2) and read-write locks: the child has the state of the locks, but of the threads only the one that forks. */
#include "expect.h"

static const int kinds[] = { PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                             PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP };

/* ---- What a child does with a free lock. ---- */

static long first, second;

static void *add(void *l)
{
    for (int i = 0; i < 400; i++)
        if (i % 4 == 0) {
            MUST(wr(l));
            first++;
            second--;
            MUST(unlock(l));
        } else {
            MUST(rd(l));
            HOLDS(first + second == 0);
            MUST(unlock(l));
        }
    return NULL;
}

/* With threads of its own: they wait, and they are woken. */
static void use(pthread_rwlock_t *l)
{
    struct job reader, writer;
    EXPECT(0, wr(l));
    start_asleep(&reader, rd_unlock, l);
    start_asleep(&writer, wr_unlock, l);
    EXPECT(EBUSY, elsewhere(tryrd, l));
    EXPECT(0, unlock(l));
    EXPECT(0, answer_of(&reader));
    EXPECT(0, answer_of(&writer));
    EXPECT(0, rd(l));
    start_asleep(&writer, clock_wr_unlock, l);
    EXPECT(EBUSY, elsewhere(trywr, l));
    EXPECT(0, unlock(l));
    EXPECT(0, answer_of(&writer));
    first = second = 0;
    crowd(3, add, l);
    SAME(300, first);
    EXPECT(0, elsewhere(trywr_unlock, l));
}

/* ---- Held by the thread that forks. ---- */

static void held_for_reading(int kind)
{
    pthread_rwlock_t lock = lock_of_kind(kind), *l = &lock;
    line("held for reading by the thread that forks", "kind %d", kind);
    use(l);
    EXPECT(0, rd(l));
    EXPECT(0, rd(l));
    IN_PROCESS({
        EXPECT(EBUSY, trywr(l));
        EXPECT(0, elsewhere(tryrd_unlock, l));
        EXPECT(0, rd(l));
        for (int i = 0; i < 3; i++) {
            EXPECT(EBUSY, elsewhere(trywr, l));
            EXPECT(0, i == 1 ? elsewhere(unlock, l) : unlock(l));
        }
        use(l);
        IN_PROCESS(use(l));
    });
    EXPECT(0, unlock(l));
    EXPECT(EBUSY, elsewhere(trywr, l));
    EXPECT(0, unlock(l));
    use(l);
}

/* glibc knows a writer by the id of its thread, which is another one in the child: there it makes the lock again. */
static void held_for_writing(int kind)
{
    pthread_rwlock_t lock = lock_of_kind(kind), *l = &lock;
    line("held for writing by the thread that forks", "kind %d", kind);
    use(l);
    EXPECT(0, wr(l));
    IN_PROCESS({
        EXPECT(EBUSY, trywr(l));
        EXPECT(EBUSY, tryrd(l));
        EXPECT(EBUSY, elsewhere(tryrd, l));
        EXPECT(ETIMEDOUT, pthread_rwlock_timedrdlock(l, &(struct timespec){ 1, 0 }));
        EXPECT(0, pthread_rwlock_init(l, NULL));
        use(l);
    });
    IN_PROCESS(EXPECT(0, unlock(l)));
    EXPECT(EDEADLK, wr(l));
    EXPECT(0, unlock(l));
    use(l);
}

/* Threads wait for what the forking thread holds. In the child they do not. */
static void others_wait(int kind)
{
    pthread_rwlock_t lock = lock_of_kind(kind), *l = &lock;
    struct job writers[3];
    line("others wait", "kind %d", kind);
    EXPECT(0, rd(l));
    for (size_t i = 0; i < COUNT(writers); i++)
        start_asleep(&writers[i], i == 1 ? clock_wr_unlock : wr_unlock, l);
    for (int i = 0; i < 2; i++)
        IN_PROCESS({
            EXPECT(EBUSY, elsewhere(trywr, l));
            if (kind != PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) {
                EXPECT(0, rd_unlock(l));
                EXPECT(0, elsewhere(tryrd_unlock, l));
                EXPECT(0, elsewhere(timed_rd_unlock, l));
            }
            EXPECT(0, pthread_rwlock_init(l, NULL));
            use(l);
        });
    EXPECT(0, unlock(l));
    for (size_t i = 0; i < COUNT(writers); i++)
        EXPECT(0, answer_of(&writers[i]));
    use(l);
}

/* ---- Held by other threads: in the child for ever, until it is made again. ---- */

static void held_by_others(int kind)
{
    pthread_rwlock_t locks[3];
    struct holder holders[3];
    line("held by other threads", "kind %d", kind);
    for (int i = 0; i < 3; i++)
        locks[i] = lock_of_kind(kind);
    use(&locks[0]);
    use(&locks[1]);
    start_holder(&holders[0], rd, &locks[0]);
    start_holder(&holders[1], wr, &locks[1]);
    start_holder(&holders[2], rd, &locks[2]);
    IN_PROCESS({
        struct timespec soon = in_ms(CLOCK_REALTIME, 3);
        EXPECT(EBUSY, trywr(&locks[0]));
        EXPECT(0, tryrd_unlock(&locks[0]));
        EXPECT(EBUSY, elsewhere(trywr, &locks[0]));
        EXPECT(ETIMEDOUT, pthread_rwlock_timedwrlock(&locks[0], &soon));
        EXPECT(EBUSY, trywr(&locks[1]));
        EXPECT(EBUSY, tryrd(&locks[1]));
        EXPECT(ETIMEDOUT, pthread_rwlock_timedrdlock(&locks[1], &soon));
        /* A reader that is gone is released by any thread. */
        EXPECT(0, unlock(&locks[2]));
        use(&locks[2]);
        IN_PROCESS({
            EXPECT(EBUSY, trywr(&locks[0]));
            EXPECT(EBUSY, tryrd(&locks[1]));
        });
        for (int i = 0; i < 2; i++) {
            EXPECT(0, pthread_rwlock_init(&locks[i], NULL));
            use(&locks[i]);
        }
    });
    for (int i = 0; i < 3; i++) {
        EXPECT(EBUSY, trywr(&locks[i]));
        EXPECT(0, end_holder(&holders[i]));
        use(&locks[i]);
    }
}

/* ---- The usual way: handlers that take the locks, and give them back on both sides. ---- */

static pthread_rwlock_t handled[2] = { PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER };
static int over;

static void before(void)
{
    MUST(rd(&handled[0]));
    MUST(wr(&handled[1]));
}

static void in_parent(void)
{
    MUST(unlock(&handled[1]));
    MUST(unlock(&handled[0]));
}

/* A writer makes its lock again, since glibc asks for the id of the thread that has locked it. */
static void in_child(void)
{
    MUST(pthread_rwlock_init(&handled[1], NULL));
    MUST(unlock(&handled[0]));
}

static void *quarrel(void *unused)
{
    (void)unused;
    for (unsigned i = 0; !__atomic_load_n(&over, __ATOMIC_SEQ_CST); i++) {
        pthread_rwlock_t *l = &handled[i % 2];
        MUST(i % 8 == 1 ? wr(l) : rd(l));
        MUST(unlock(l));
        if (i % 64 == 0)
            pause_ms(1);
    }
    return NULL;
}

/* In the child the first lock may stay read by threads that are not there. The threads never write to it: a writer that waits
 * would get it in the child. */
static void handlers(void)
{
    pthread_t threads[3];
    int failed = 0;
    MUST(pthread_atfork(before, in_parent, in_child));
    for (size_t i = 0; i < COUNT(threads); i++)
        MUST(pthread_create(&threads[i], NULL, quarrel, NULL));
    for (int i = 0; i < 40; i++) {
        fflush(stdout);
        pid_t child = (pid_t)MUST_SYS(fork());
        if (child == 0) {
            MUST(rd_unlock(&handled[0]));
            MUST(elsewhere(rd_unlock, &handled[0]));
            MUST(wr_unlock(&handled[1]));
            MUST(elsewhere(rd_unlock, &handled[1]));
            crowd(2, add, &handled[1]);
            _exit(0);
        }
        failed += status_of(child) != 0;
    }
    __atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
    for (size_t i = 0; i < COUNT(threads); i++)
        MUST(pthread_join(threads[i], NULL));
    SAME(0, failed);
    for (size_t i = 0; i < COUNT(handled); i++)
        use(&handled[i]);
}

int main(void)
{
    for (size_t i = 0; i < COUNT(kinds); i++) {
        held_for_reading(kinds[i]);
        held_for_writing(kinds[i]);
        others_wait(kinds[i]);
        held_by_others(kinds[i]);
    }
    handlers();
    return 0;
}
