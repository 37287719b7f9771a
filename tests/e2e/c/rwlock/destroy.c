/* A lock is destroyed and its memory unmapped as soon as a thread has acquired it for writing behind all others: no thread that
 * has released it before touches it any more. A touch is a crash.
 *
 * The argument is the number of locks. */
#include "expect.h"

/* A page with one lock. */
struct page {
    pthread_rwlock_t lock;
    int users;
};

static int kind;

static struct page *new_page(void)
{
    struct page *page = (struct page *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST_SYS(page == MAP_FAILED ? -1 : 0);
    page->lock = lock_of_kind(kind);
    return page;
}

/* Nothing else may get the address, or a late touch would not be noticed. */
static void forbid(struct page *page, int number)
{
    MUST(pthread_rwlock_destroy(&page->lock));
    if (number % 2)
        MUST_SYS(mprotect(page, 4096, PROT_NONE));
    else
        MUST_SYS(munmap(page, 4096));
}

static void pause_some(unsigned turns)
{
    for (unsigned i = 0; i < turns; i++)
        __asm__ volatile("pause");
}

/* ---- The last user acquires for writing, and frees. ---- */

static struct page *current;
static int turn, is_over;
static int (*acquire_first)(void *);

/* Holds the lock of each round at first, and releases it while the other thread waits, is about to, or comes later. */
static void *release_each(void *unused)
{
    uint64_t random = 11;
    (void)unused;
    for (int mine = 1;; mine += 2) {
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) < mine)
            sched_yield();
        if (is_over)
            return NULL;
        struct page *page = current;
        MUST(acquire_first(&page->lock));
        __atomic_store_n(&turn, mine + 1, __ATOMIC_RELEASE);
        if (random_below(&random, 16) == 0)
            pause_ms(1);
        else
            pause_some(random_below(&random, 3000));
        MUST(unlock(&page->lock));
    }
}

static int timed_wr(void *l)
{
    struct timespec until = in_ms(CLOCK_MONOTONIC, 60000);
    return pthread_rwlock_clockwrlock((pthread_rwlock_t *)l, CLOCK_MONOTONIC, &until);
}

static int busy_wr(void *l)
{
    int result;
    while ((result = trywr(l)) == EBUSY)
        sched_yield();
    return result;
}

static void last_user_frees(const char *row, int (*first)(void *), int (*last)(void *), int rounds)
{
    pthread_t other;
    uint64_t random = 13;
    turn = is_over = 0;
    acquire_first = first;
    MUST(pthread_create(&other, NULL, release_each, NULL));
    for (int i = 0; i < rounds; i++) {
        struct page *page = current = new_page();
        __atomic_store_n(&turn, 2 * i + 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != 2 * i + 2)
            sched_yield();
        pause_some(random_below(&random, 2000));
        MUST(last(&page->lock));
        MUST(unlock(&page->lock));
        forbid(page, i);
    }
    is_over = 1;
    __atomic_store_n(&turn, 2 * rounds + 1, __ATOMIC_RELEASE);
    MUST(pthread_join(other, NULL));
    line(row, "kind %d, no touch", kind);
}

/* ---- Users are counted under the lock; the last one frees. ---- */

enum { USERS = 3 };
static pthread_barrier_t all_there, all_left;
static int rounds_left;

static void *count_down(void *number)
{
    int me = (int)(intptr_t)number;
    for (;;) {
        pthread_barrier_wait(&all_there);
        if (rounds_left == 0)
            return NULL;
        struct page *page = current;
        if (me % 2) {
            MUST(rd(&page->lock));
            HOLDS(page->users > 0);
            MUST(unlock(&page->lock));
        }
        MUST(wr(&page->lock));
        int is_last = --page->users == 0;
        MUST(unlock(&page->lock));
        if (is_last)
            forbid(page, rounds_left);
        pthread_barrier_wait(&all_left);
    }
}

static void last_of_many_frees(int rounds)
{
    pthread_t threads[USERS];
    MUST(pthread_barrier_init(&all_there, NULL, USERS + 1));
    MUST(pthread_barrier_init(&all_left, NULL, USERS + 1));
    for (int i = 0; i < USERS; i++)
        MUST(pthread_create(&threads[i], NULL, count_down, (void *)(intptr_t)i));
    for (rounds_left = rounds; rounds_left > 0; rounds_left--) {
        current = new_page();
        current->users = USERS;
        pthread_barrier_wait(&all_there);
        pthread_barrier_wait(&all_left);
    }
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < USERS; i++)
        MUST(pthread_join(threads[i], NULL));
    MUST(pthread_barrier_destroy(&all_there));
    MUST(pthread_barrier_destroy(&all_left));
    line("the last of many frees", "kind %d, no touch", kind);
}

/* ---- One address, lock after lock. ---- */

/* Each lock is another one, although it lies where the last one lay, which a reader may still be remembered for. */
static void address_is_used_again(int rounds)
{
    struct page *page = new_page();
    for (int i = 0; i < rounds; i++) {
        for (int n = 0; n < 5; n++)
            MUST(n % 2 ? elsewhere(rd_unlock, &page->lock) : rd_unlock(&page->lock));
        MUST(rd(&page->lock));
        MUST(elsewhere(trywr, &page->lock) == EBUSY ? 0 : EINVAL);
        MUST(unlock(&page->lock));
        MUST(pthread_rwlock_destroy(&page->lock));
        memset(page, i % 2 ? 0xff : 0, sizeof *page);
        page->lock = lock_of_kind(i % 3);
        MUST(elsewhere(trywr_unlock, &page->lock));
    }
    MUST_SYS(munmap(page, 4096));
    line("an address is used again", "by locks of its own");
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 300;
    for (kind = 0; kind < 3; kind++) {
        last_user_frees("a writer behind a reader", rd, wr, rounds);
        last_user_frees("a writer behind a writer", wr, wr, rounds);
        last_user_frees("a timed writer behind a reader", rd, timed_wr, rounds);
        last_user_frees("a trying writer behind a reader", rd, busy_wr, rounds);
        last_user_frees("a trying writer behind a writer", wr, busy_wr, rounds);
        last_of_many_frees(rounds);
    }
    kind = 0;
    address_is_used_again(rounds / 10 + 1);
    return 0;
}
