/* Waits with mutexes that the thread does not own, and releases of mutexes that libc has locked, once code may bypass the
   hooks. Mutexes that were in use before are still the library's then. */
#define _GNU_SOURCE
#include "libcs_own.h"
#include "row.h"

enum { ROUNDS = 20000 };
static pthread_mutex_t mutexes[2], free_mutexes[2], raced[ROUNDS];
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static const int types[] = {PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE};
static const char *const names[] = {"errorcheck", "recursive"};

static void *waits(void *unused)
{
    for (int i = 0; i < 2; i++) {
        struct timespec past = {0, 0}, malformed = {0, -1};
        char row[64];
        pthread_mutex_t *all[] = {&mutexes[i], &free_mutexes[i]};
        for (int j = 0; j < 2; j++) {
            snprintf(row, sizeof row, "%s, %s", names[i], j == 0 ? "of another thread" : "free");
            ROW(row, pthread_cond_timedwait(&condition, all[j], &past));
            ROW(row, pthread_cond_timedwait(&condition, all[j], &malformed));
            ROW(row, pthread_cond_wait(&condition, all[j]));
            ROW(row, pthread_mutex_unlock(all[j]));
        }
    }
    return unused;
}

static int turn, counters[ROUNDS];

/* Acquires each mutex while the other thread releases it. */
static void *follows(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        for (int n = 1; __atomic_load_n(&turn, __ATOMIC_SEQ_CST) <= i; n++)
            if (n % 10000 == 0)
                sched_yield();
        MUST(pthread_mutex_lock(&raced[i]));
        counters[i]++;
        MUST(pthread_mutex_unlock(&raced[i]));
    }
    return unused;
}

static void initialise(pthread_mutex_t *mutex, int type)
{
    pthread_mutexattr_t attributes;
    MUST(pthread_mutexattr_init(&attributes));
    MUST(pthread_mutexattr_settype(&attributes, type));
    MUST(pthread_mutex_init(mutex, &attributes));
    MUST(pthread_mutex_lock(mutex));
    MUST(pthread_mutex_unlock(mutex));
}

int main(void)
{
    int (*libcs_lock)(pthread_mutex_t *) = (int (*)(pthread_mutex_t *))libcs_own("pthread_mutex_lock");
    for (int i = 0; i < 2; i++) {
        initialise(&mutexes[i], types[i]);
        initialise(&free_mutexes[i], types[i]);
        MUST(pthread_mutex_lock(&mutexes[i]));
    }
    for (int i = 0; i < ROUNDS; i++)
        initialise(&raced[i], i % 2 == 0 ? PTHREAD_MUTEX_NORMAL : types[i / 2 % 2]);
    if (dlopen("libm.so.6", RTLD_NOW | RTLD_DEEPBIND) == NULL)
        return 1;
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, waits, NULL));
    MUST(pthread_join(thread, NULL));
    for (int i = 0; i < 2; i++) {
        struct timespec past = {0, 0};
        ROW(names[i], pthread_cond_timedwait(&condition, &mutexes[i], &past));
        ROW(names[i], pthread_mutex_unlock(&mutexes[i]));
        ROW(names[i], pthread_mutex_destroy(&mutexes[i]));
        ROW(names[i], pthread_mutex_destroy(&free_mutexes[i]));
    }
    alarm(20);
    MUST(pthread_create(&thread, NULL, follows, NULL));
    for (int i = 0; i < ROUNDS; i++) {
        MUST(libcs_lock(&raced[i]));
        __atomic_store_n(&turn, i + 1, __ATOMIC_SEQ_CST);
        for (int volatile n = 0; n < i % 100; n++)
            ;
        counters[i]++;
        MUST(pthread_mutex_unlock(&raced[i]));
    }
    MUST(pthread_join(thread, NULL));
    int counter = 0;
    for (int i = 0; i < ROUNDS; i++)
        counter += counters[i];
    printf("counter %d\n", counter);
    return 0;
}
