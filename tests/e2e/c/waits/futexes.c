/* futex(2) through libc's syscall(), which is how Rust's std and parking_lot sleep: which threads are woken, how many are counted, moves
 * to another word, bits, one page mapped twice. Wherever a count matters, every waiter sleeps for certain. */
#include "table.h"

enum { WAITERS = 4 };

static int *word, *other;
static int returned[WAITERS];
static long answers[WAITERS];
static int errors[WAITERS];

struct waiter {
    int number, operation;
    int *word;
    unsigned bits;
    long limit_ms;
    pthread_t thread;
    pid_t tid;
};

static void *sleep_on(void *argument)
{
    struct waiter *w = (struct waiter *)argument;
    struct timespec until = in_ms(CLOCK_MONOTONIC, w->limit_ms), span = { w->limit_ms / 1000, w->limit_ms % 1000 * 1000000 };
    int is_bitset = (w->operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    __atomic_store_n(&w->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
    errno = 0;
    answers[w->number] = syscall(SYS_futex, w->word, w->operation, 0, is_bitset ? &until : &span, NULL, w->bits);
    errors[w->number] = errno;
    __atomic_store_n(&returned[w->number], 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static struct waiter waiters[WAITERS];

static void begin(int operation, const unsigned *bits, long limit_ms)
{
    *word = *other = 0;
    for (int i = 0; i < WAITERS; i++) {
        returned[i] = 0;
        waiters[i] = (struct waiter){ i, operation, word, bits ? bits[i] : 0, limit_ms, 0, 0 };
        MUST(pthread_create(&waiters[i].thread, NULL, sleep_on, &waiters[i]));
        await_blocked(&waiters[i].tid);
    }
}

static void finish(const char *row)
{
    char text[128] = "";
    for (int i = 0; i < WAITERS; i++) {
        MUST(pthread_join(waiters[i].thread, NULL));
        snprintf(text + strlen(text), 32, " %ld %s", answers[i], answers[i] == -1 ? name_of(errors[i]) : "-");
    }
    line(row, "%s", text);
}

/* Waits until `total` have returned, and shows that no other does. */
static void row_returned(const char *row, long woken, int total)
{
    for (int all = -1; all < total; pause_ms(2)) {
        all = 0;
        for (int i = 0; i < WAITERS; i++)
            all += __atomic_load_n(&returned[i], __ATOMIC_SEQ_CST);
    }
    line(row, "%ld; returned %d %d %d %d", woken, returned[0], returned[1], returned[2], returned[3]);
}

static long call(int *at, int operation, long value, long value2, int *to, unsigned value3)
{
    return syscall(SYS_futex, at, operation, value, value2, to, value3);
}

static void counts(int flag)
{
    begin(FUTEX_WAIT | flag, NULL, FAR_MS);
    row_returned("wake 0", call(word, FUTEX_WAKE | flag, 0, 0, NULL, 0), 1);
    row_returned("wake 1", call(word, FUTEX_WAKE | flag, 1, 0, NULL, 0), 2);
    row_returned("wake 2", call(word, FUTEX_WAKE | flag, 2, 0, NULL, 0), 4);
    row_returned("wake all", call(word, FUTEX_WAKE | flag, INT_MAX, 0, NULL, 0), 4);
    row_returned("wake nobody", call(word, FUTEX_WAKE | flag, 1, 0, NULL, 0), 4);
    finish("answers");

    begin(FUTEX_WAIT | flag, NULL, FAR_MS);
    row_returned("requeue, another value", call(word, FUTEX_CMP_REQUEUE | flag, 1, 2, other, 9), 0);
    row_returned("wake 1, requeue 2", call(word, FUTEX_CMP_REQUEUE | flag, 1, 2, other, 0), 1);
    row_returned("wake at the second word", call(other, FUTEX_WAKE | flag, 1, 0, NULL, 0), 2);
    row_returned("wake at the first", call(word, FUTEX_WAKE | flag, INT_MAX, 0, NULL, 0), 3);
    row_returned("wake the rest", call(other, FUTEX_WAKE | flag, INT_MAX, 0, NULL, 0), 4);
    finish("answers");

    const unsigned bits[WAITERS] = { 1, 2, 3, ~0u };
    begin(FUTEX_WAIT_BITSET | flag, bits, FAR_MS);
    row_returned("wake bit 3", call(word, FUTEX_WAKE_BITSET | flag, INT_MAX, 0, NULL, 8), 1);
    row_returned("wake bit 1", call(word, FUTEX_WAKE_BITSET | flag, INT_MAX, 0, NULL, 2), 3);
    row_returned("wake", call(word, FUTEX_WAKE | flag, INT_MAX, 0, NULL, 0), 4);
    finish("answers");

    begin(FUTEX_WAIT | flag, NULL, FAR_MS);
    row_returned("wake op", call(word, FUTEX_WAKE_OP | flag, 1, 1, other, FUTEX_OP(FUTEX_OP_SET, 7, FUTEX_OP_CMP_EQ, 0)), 1);
    line("the second word", "%d", *other);
    row_returned("wake", call(word, FUTEX_WAKE | flag, INT_MAX, 0, NULL, 0), 4);
    finish("answers");

    /* A value that changes without a wake-up is not seen by threads that sleep. */
    begin(FUTEX_WAIT | flag, NULL, FAR_MS);
    *word = 5;
    row_returned("changed, not woken", 0, 0);
    row_returned("woken", call(word, FUTEX_WAKE | flag, INT_MAX, 0, NULL, 0), 4);
    finish("answers");
}

/* Threads that pass a word on, each waiting with another limit. */
static int turns, unexpected;

static void *take_turns(void *argument)
{
    int own = (int)(intptr_t)argument;
    for (int i = own; i < 3000; i += 2) {
        int now;
        while ((now = __atomic_load_n(word, __ATOMIC_SEQ_CST)) != i) {
            struct timespec limit = { 0, 1000000 };
            errno = 0;
            long answer = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, now, i % 3 ? NULL : &limit, NULL, 0);
            if (answer != 0 && errno != EAGAIN && errno != ETIMEDOUT && errno != EINTR)
                __atomic_add_fetch(&unexpected, 1, __ATOMIC_SEQ_CST);
        }
        turns++;
        __atomic_store_n(word, i + 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    return NULL;
}

static void mapped_twice(void)
{
    int fd = (int)MUST_SYS(memfd_create("words", 0));
    MUST_SYS(ftruncate(fd, 4096));
    int *again, *first = word;
    word = (int *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    again = (int *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    begin(FUTEX_WAIT, NULL, FAR_MS);
    row_returned("wake, private, at the other address", call(again, FUTEX_WAKE_PRIVATE, INT_MAX, 0, NULL, 0), 0);
    row_returned("wake at the other address", call(again, FUTEX_WAKE, INT_MAX, 0, NULL, 0), 4);
    finish("answers");
    word = first;
}

int main(void)
{
    word = (int *)shared_page();
    other = word + 64;
    counts(0);
    counts(FUTEX_PRIVATE_FLAG);
    mapped_twice();
    *word = 0;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        MUST(pthread_create(&threads[i], NULL, take_turns, (void *)(intptr_t)i));
    for (int i = 0; i < 2; i++)
        MUST(pthread_join(threads[i], NULL));
    line("turns", "%d, unexpected %d", turns, unexpected);
    return 0;
}
