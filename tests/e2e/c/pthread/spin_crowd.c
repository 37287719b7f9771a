/* More threads than CPUs at spin locks: one lock for all, many locks, owners that give up their CPU, attempts that do not
   wait, threads that a signal interrupts, and thousands of threads. The argument is "small" for as much as libc's lock gets
   through in a short time, or "large". */
#include "row.h"

enum { LOCKS = 200 };
static struct counter {
    pthread_spinlock_t s;
    long count;
} counters[LOCKS];

static void *add(void *rounds)
{
    struct counter *c = &counters[0];
    for (long i = 0; i < (long)rounds; i++) {
        if (i % 8 != 5)
            MUST(pthread_spin_lock(&c->s));
        else
            while (pthread_spin_trylock(&c->s) == EBUSY)
                sched_yield();
        c->count++;
        if (i % 32 == 0)
            sched_yield();
        MUST(pthread_spin_unlock(&c->s));
    }
    return NULL;
}

static void *add_everywhere(void *rounds)
{
    for (long i = 0; i < (long)rounds; i++) {
        struct counter *c = &counters[i % LOCKS];
        MUST(pthread_spin_lock(&c->s));
        c->count++;
        MUST(pthread_spin_unlock(&c->s));
    }
    return NULL;
}

/* The owner sleeps. */
static void *add_asleep(void *rounds)
{
    struct counter *c = &counters[0];
    for (long i = 0; i < (long)rounds; i++) {
        MUST(pthread_spin_lock(&c->s));
        c->count++;
        pause_ms(1);
        MUST(pthread_spin_unlock(&c->s));
    }
    return NULL;
}

static void initialise(void)
{
    for (int i = 0; i < LOCKS; i++) {
        MUST(pthread_spin_init(&counters[i].s, PTHREAD_PROCESS_PRIVATE));
        counters[i].count = 0;
    }
}

static void show(const char *what)
{
    long sum = 0, is_free = 0;
    for (int i = 0; i < LOCKS; i++) {
        sum += counters[i].count;
        is_free += pthread_spin_trylock(&counters[i].s) == 0;
        MUST(pthread_spin_destroy(&counters[i].s));
    }
    line(what, "counted %ld, free %ld", sum, is_free);
}

static void ignore(int number) { (void)number; }

static void with_signals(int count)
{
    struct sigaction action = { .sa_handler = ignore };
    MUST_SYS(sigaction(SIGUSR1, &action, NULL));
    pthread_t threads[8];
    for (int i = 0; i < count; i++)
        MUST(pthread_create(&threads[i], NULL, add_asleep, (void *)3L));
    for (int n = 0; n < 10; n++) {
        for (int i = 0; i < count; i++)
            MUST(pthread_kill(threads[i], SIGUSR1));
        pause_ms(1);
    }
    for (int i = 0; i < count; i++)
        MUST(pthread_join(threads[i], NULL));
}

static void thousands(int count)
{
    enum { THREADS = 2000 };
    static pthread_t threads[THREADS];
    pthread_attr_t attributes;
    MUST(pthread_attr_init(&attributes));
    MUST(pthread_attr_setstacksize(&attributes, 64 << 10));
    MUST(pthread_spin_lock(&counters[0].s));
    int made = 0;
    while (made < count && pthread_create(&threads[made], &attributes, add_everywhere, (void *)1L) == 0)
        made++;
    MUST(pthread_spin_unlock(&counters[0].s));
    for (int i = 0; i < made; i++)
        MUST(pthread_join(threads[i], NULL));
    /* A machine may permit fewer. */
    counters[0].count += count - made;
}

int main(int argc, char **argv)
{
    int is_large = argc > 1 && strcmp(argv[1], "large") == 0;
    initialise();
    crowd(is_large ? 64 : 8, add, (void *)(is_large ? 2000L : 40L));
    show("one lock");
    initialise();
    crowd(is_large ? 64 : 8, add_everywhere, (void *)(is_large ? 5000L : 500L));
    show("many locks");
    initialise();
    crowd(is_large ? 16 : 3, add_asleep, (void *)(is_large ? 20L : 3L));
    show("owners that sleep");
    initialise();
    with_signals(is_large ? 8 : 3);
    show("with signals");
    initialise();
    thousands(is_large ? 2000 : 50);
    show("many threads");
    return 0;
}
