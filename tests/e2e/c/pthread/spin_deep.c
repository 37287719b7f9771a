/* Shares spin locks with a plugin, the first argument. The second says how to load it: "deep" with RTLD_DEEPBIND, "apart" in a
   namespace of its own, "handle" not at all, but libc's functions are looked up by a handle of libc. Threads use and hold the locks
   while that happens. */
#define _GNU_SOURCE
#include "row.h"
#include <dlfcn.h>

typedef int function(pthread_spinlock_t *);
static struct functions {
    function *lock, *trylock, *unlock;
} usual = { pthread_spin_lock, pthread_spin_trylock, pthread_spin_unlock }, taken;
static pthread_spinlock_t s, held;
static long counter;
static int stops;

static void once(const struct functions *f, int round)
{
    if (round % 3 != 0 || f->trylock(&s) != 0)
        MUST(f->lock(&s));
    long volatile *shared = &counter;
    *shared += 1;
    if (round % 64 == 0)
        sched_yield();
    MUST(f->unlock(&s));
}

static void *count(void *functions)
{
    for (int i = 0; i < 1000; i++)
        once(functions, i);
    return NULL;
}

static void *count_until(void *count)
{
    for (int i = 0; !__atomic_load_n(&stops, __ATOMIC_RELAXED); i++, ++*(long *)count)
        once(&usual, i);
    return NULL;
}

static int lock_then_unlock(void *functions)
{
    const struct functions *f = functions;
    int result = f->lock(&held);
    return result != 0 ? result : f->unlock(&held);
}

static function *find(void *handle, const char *prefix, const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s", prefix, name);
    return (function *)dlsym(handle, text);
}

static void load(const char *path, const char *how)
{
    int takes = strcmp(how, "handle") == 0;
    void *handle = takes ? dlopen("libc.so.6", RTLD_NOW)
        : strcmp(how, "apart") == 0 ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW)
                                    : dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
    if (handle == NULL) {
        printf("%s\n", dlerror());
        exit(1);
    }
    const char *prefix = takes ? "pthread_spin_" : "plugin_";
    taken.lock = find(handle, prefix, "lock");
    taken.trylock = find(handle, prefix, "trylock");
    taken.unlock = find(handle, prefix, "unlock");
}

static void counts(const char *what)
{
    pthread_t threads[6];
    counter = 0;
    for (int i = 0; i < 6; i++)
        MUST(pthread_create(&threads[i], NULL, count, i % 2 == 0 || taken.lock == NULL ? &usual : &taken));
    for (int i = 0; i < 6; i++)
        MUST(pthread_join(threads[i], NULL));
    line(what, "%ld", counter);
}

int main(int argc, char **argv)
{
    (void)argc;
    MUST(pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE));
    MUST(pthread_spin_init(&held, PTHREAD_PROCESS_PRIVATE));
    counts("before");
    pthread_t users[2];
    long used[2] = { 0, 0 };
    counter = 0;
    for (int i = 0; i < 2; i++)
        MUST(pthread_create(&users[i], NULL, count_until, &used[i]));
    MUST(pthread_spin_lock(&held));
    struct job waiters[4];
    for (int i = 0; i < 2; i++)
        start(&waiters[i], lock_then_unlock, &usual);
    pause_ms(20);
    load(argv[1], argv[2]);
    for (int i = 2; i < 4; i++)
        start(&waiters[i], lock_then_unlock, &taken);
    pause_ms(20);
    ROW("trylock what is held", taken.trylock(&held));
    /* It was locked by a function that is not libc's. */
    ROW("unlock", taken.unlock(&held));
    for (int i = 0; i < 4; i++)
        row_job("a waiter", &waiters[i]);
    __atomic_store_n(&stops, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        MUST(pthread_join(users[i], NULL));
    line("used meanwhile", "%s", counter == used[0] + used[1] ? "as often as counted" : "not as often as counted");
    counts("with the plugin");
    ROW("lock", usual.lock(&s));
    ROW("trylock by the plugin", taken.trylock(&s));
    ROW("unlock by the plugin", taken.unlock(&s));
    ROW("trylock by the plugin", taken.trylock(&s));
    ROW("trylock", usual.trylock(&s));
    ROW("unlock", usual.unlock(&s));
    ROW("trylock", usual.trylock(&s));
    ROW("unlock by the plugin", taken.unlock(&s));
    pthread_spinlock_t later;
    MUST(pthread_spin_init(&later, PTHREAD_PROCESS_PRIVATE));
    ROW("trylock a later lock by the plugin", taken.trylock(&later));
    ROW("unlock it", usual.unlock(&later));
    return 0;
}
