/* Mutexes that a plan can tell apart, and what was decided for each: the sixteen bits at `__elision`, as the preload library
 * writes them; 0 without it. Takes the path of a library to load when all others are decided. */
#include "row.h"
#include <dlfcn.h>

pthread_mutex_t by_address[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };

static void decided(const char *name, const pthread_mutex_t *m)
{
    unsigned short mark;
    memcpy(&mark, (const char *)m + 22, sizeof mark);
    line(name, "%u", mark & 15);
}

#define FUNCTION __attribute__((noinline, noipa))

static volatile int not_inlined;

FUNCTION pthread_mutex_t *create(void)
{
    pthread_mutex_t *m = malloc(sizeof *m);
    MUST(pthread_mutex_init(m, NULL));
    not_inlined++;
    return m;
}

/* In between. */
FUNCTION pthread_mutex_t *create_through(void)
{
    pthread_mutex_t *m = create();
    not_inlined++;
    return m;
}

FUNCTION pthread_mutex_t *open_cache(void)
{
    pthread_mutex_t *m = create_through();
    not_inlined++;
    return m;
}

FUNCTION pthread_mutex_t *open_log(void)
{
    pthread_mutex_t *m = create_through();
    not_inlined++;
    return m;
}

/* With a frame of a size that only the running program knows, which is unwound by the frame-base register. */
FUNCTION pthread_mutex_t *open_deep(int size)
{
    volatile char room[size];
    room[0] = 1;
    pthread_mutex_t *m = create_through();
    not_inlined += room[0];
    return m;
}

FUNCTION void use_first(pthread_mutex_t *m)
{
    MUST(pthread_mutex_lock(m));
    MUST(pthread_mutex_unlock(m));
    not_inlined++;
}

FUNCTION void use_in_vain(pthread_mutex_t *m)
{
    MUST(pthread_mutex_trylock(m));
    MUST(pthread_mutex_unlock(m));
    not_inlined++;
}

int main(int argc, char **argv)
{
    static pthread_mutex_t used, tried, robust;
    pthread_mutexattr_t attr;
    for (int i = 0; i < 2; i++)
        use_in_vain(&by_address[i]);
    decided("variable", &by_address[1]);
    decided("its neighbour", &by_address[0]);
    decided("cache", open_cache());
    decided("log", open_log());
    decided("deep", open_deep(argc * 100));
    decided("by itself", create());
    use_first(&used);
    decided("used", &used);
    use_in_vain(&tried);
    decided("used elsewhere first", &tried);
    pthread_mutex_t *m = create();
    use_first(m);
    decided("initialised before its use", m);
    memset(&used, 0, sizeof used);
    use_in_vain(&used);
    decided("made anew", &used);
    MUST(pthread_mutexattr_init(&attr));
    MUST(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
    MUST(pthread_mutex_init(&robust, &attr));
    use_first(&robust);
    decided("robust", &robust);
    MUST(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_STALLED));
    MUST(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT));
    MUST(pthread_mutex_init(&robust, &attr));
    use_first(&robust);
    decided("inheriting", &robust);
    MUST(pthread_mutex_destroy(&robust));
    decided("destroyed", &robust);
    for (int i = 0; i < 2 && argc > 1; i++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        if (library == NULL)
            exit(98);
        pthread_mutex_t *(*ours)(void) = (pthread_mutex_t * (*)(void)) dlsym(library, "library_mutex");
        use_in_vain(ours());
        decided("a library's", ours());
        m = ((pthread_mutex_t * (*)(void)) dlsym(library, "library_create"))();
        decided("created by a library", m);
        free(m);
        dlclose(library);
    }
    return 0;
}
