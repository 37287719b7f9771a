/* Shares a mutex and a condition between threads that call the functions as usual, and threads that call those which a lookup has
   found. The argument is the lookup: "handle" of libc, "held" for the same while the mutex is locked, "closing" for the same
   while a plugin is closed, "old" for its oldest version, "next" by a plugin, or "others": of functions that are no lock functions. The
   plugin is the second argument. The lookup is made while a
   thread waits for the condition, and then there are more threads of both sorts. */
#define _GNU_SOURCE
#include "row.h"
#include <dlfcn.h>
#include <stdatomic.h>

enum { ROUNDS = 1000 };
static struct functions {
    int (*lock)(pthread_mutex_t *), (*unlock)(pthread_mutex_t *);
    int (*wait)(pthread_cond_t *, pthread_mutex_t *), (*signal)(pthread_cond_t *), (*broadcast)(pthread_cond_t *);
} usual, taken;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turn;
static long turns, counter;

static void wait_for(const struct functions *f, int next)
{
    MUST(f->lock(&mutex));
    while (turn != next)
        MUST(f->wait(&condition, &mutex));
    MUST(f->unlock(&mutex));
}

static void announce(const struct functions *f, int next)
{
    MUST(f->lock(&mutex));
    turn = next;
    MUST(f->unlock(&mutex));
    MUST(f->signal(&condition));
}

static void *take_turns(void *functions)
{
    const struct functions *f = functions;
    int me = f == &taken;
    for (int i = 0; i < ROUNDS; i++) {
        MUST(f->lock(&mutex));
        while (turn != me)
            MUST(f->wait(&condition, &mutex));
        turn = !me;
        turns++;
        MUST(i & 1 ? f->signal(&condition) : f->broadcast(&condition));
        MUST(f->unlock(&mutex));
    }
    return NULL;
}

static void *count(void *functions)
{
    const struct functions *f = functions;
    for (int i = 0; i < 20 * ROUNDS; i++) {
        MUST(f->lock(&mutex));
        counter++;
        MUST(f->unlock(&mutex));
    }
    return NULL;
}

static void both(void *(*work)(void *))
{
    pthread_t one, two;
    MUST(pthread_create(&one, NULL, work, &usual));
    MUST(pthread_create(&two, NULL, work, &taken));
    MUST(pthread_join(one, NULL));
    MUST(pthread_join(two, NULL));
}

static void *waits_for_seven(void *unused)
{
    MUST(pthread_mutex_lock(&mutex));
    turn = 6;
    MUST(pthread_mutex_unlock(&mutex));
    wait_for(&usual, 7);
    return unused;
}

static void *handle;
static const char *version;

static void *by_handle(const char *name)
{
    errno = UNTOUCHED;
    void *found = version == NULL ? dlsym(handle, name) : dlvsym(handle, name, version);
    if (found == NULL || errno != UNTOUCHED)
        line(name, "%s", found == NULL ? dlerror() : "errno was touched");
    return found;
}

static void take(void *(*find)(const char *))
{
    taken.lock = (int (*)(pthread_mutex_t *))find("pthread_mutex_lock");
    taken.unlock = (int (*)(pthread_mutex_t *))find("pthread_mutex_unlock");
    taken.wait = (int (*)(pthread_cond_t *, pthread_mutex_t *))find("pthread_cond_wait");
    taken.signal = (int (*)(pthread_cond_t *))find("pthread_cond_signal");
    taken.broadcast = (int (*)(pthread_cond_t *))find("pthread_cond_broadcast");
}

/* What is not found is said as without a hook, and what was said before is forgotten. */
static void fail(void)
{
    dlsym(handle, "pthread_mutex_such");
    line("no such function", "%s", strstr(dlerror(), "undefined symbol: pthread_mutex_such") ? "said" : "not said");
    line("again", "%s", dlerror() ? "said" : "not said");
    dlvsym(handle, "pthread_cond_wait", "GLIBC_0");
    line("no such version", "%s", dlerror() ? "said" : "not said");
    dlsym(RTLD_DEFAULT, "pthread_mutex_such");
    line("by default", "%s", dlerror() ? "said" : "not said");
    dlsym(handle, "pthread_mutex_lock");
    line("found", "%s", dlerror() ? "said" : "not said");
}

static void *gives_the_turn(void *unused)
{
    MUST(usual.lock(&mutex));
    turn = 8;
    MUST(usual.broadcast(&condition));
    MUST(usual.unlock(&mutex));
    return unused;
}

/* As Python's ctypes does: it looks a function up when it is first called, here the wait for the condition, with the mutex locked. */
static void take_while_held(const char *plugin)
{
    MUST(plugin != NULL && dlopen(plugin, RTLD_NOW | RTLD_LOCAL) == NULL);
    pthread_t giver;
    MUST(usual.lock(&mutex));
    take(by_handle);
    MUST(pthread_create(&giver, NULL, gives_the_turn, NULL));
    while (turn != 8)
        MUST(taken.wait(&condition, &mutex));
    MUST(taken.unlock(&mutex));
    MUST(pthread_join(giver, NULL));
    line("of libc", "%d", dlsym(handle, "pthread_mutex_lock") == dlsym(RTLD_DEFAULT, "pthread_mutex_lock"));
}

static atomic_int is_over;

static void *opens_and_closes(void *plugin)
{
    while (!is_over) {
        void *opened = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
        MUST(opened == NULL || dlclose(opened));
    }
    return NULL;
}

static void take_while_a_plugin_is_closed(char *plugin)
{
    pthread_t closers[2];
    for (int i = 0; i < 2; i++)
        MUST(pthread_create(&closers[i], NULL, opens_and_closes, plugin));
    for (int i = 0; i < ROUNDS / 4; i++)
        take(by_handle);
    is_over = 1;
    for (int i = 0; i < 2; i++)
        MUST(pthread_join(closers[i], NULL));
}

static void take_others(void)
{
    static const char *const names[] = {"malloc", "pthread_self", "pthread_create", "pthread_mutexattr_init",
                                        "pthread_mutex_getprioceiling", "pthread_rwlock_rdlock", "sem_wait", "semop", "dlsym"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        by_handle(names[i]);
    void *program = dlopen(NULL, RTLD_NOW);
    line("of the program", "%d", dlsym(program, "pthread_mutex_lock") == dlsym(RTLD_DEFAULT, "pthread_mutex_lock"));
    line("next to the program", "%d", dlsym(RTLD_NEXT, "pthread_cond_wait") == dlsym(RTLD_DEFAULT, "pthread_cond_wait"));
    taken = usual;
}

int main(int argc, char **argv)
{
    alarm(60);
    usual = (struct functions){pthread_mutex_lock, pthread_mutex_unlock, pthread_cond_wait, pthread_cond_signal, pthread_cond_broadcast};
    handle = dlopen("libc.so.6", RTLD_NOW);
    pthread_t waiter;
    MUST(pthread_create(&waiter, NULL, waits_for_seven, NULL));
    for (int is_waiting = 0; !is_waiting; sched_yield()) {
        MUST(pthread_mutex_lock(&mutex));
        is_waiting = turn == 6;
        MUST(pthread_mutex_unlock(&mutex));
    }
    if (strcmp(argv[1], "others") == 0)
        take_others();
    else if (strcmp(argv[1], "held") == 0)
        take_while_held(argv[2]);
    else if (strcmp(argv[1], "closing") == 0)
        take_while_a_plugin_is_closed(argv[2]);
    else if (strcmp(argv[1], "next") == 0) {
        void *plugin = argc > 2 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
        take((void *(*)(const char *))dlsym(plugin, "plugin_next"));
    } else {
        /* The first version of conditions; mutexes have one. */
        version = strcmp(argv[1], "old") == 0 ? "GLIBC_2.2.5" : NULL;
        take(by_handle);
        fail();
        if (version != NULL) {
            /* A condition of that version is another object: it begins with a pointer. */
            struct functions old = taken;
            taken.wait = usual.wait, taken.signal = usual.signal, taken.broadcast = usual.broadcast;
            static pthread_cond_t first = PTHREAD_COND_INITIALIZER;
            line("signal of the first version", "%s", name_of(old.signal(&first)));
        }
    }
    announce(&taken, 7);
    MUST(pthread_join(waiter, NULL));
    turn = 0;
    both(take_turns);
    both(count);
    line("turns", "%ld", turns);
    line("counter", "%ld", counter);
    MUST(pthread_mutex_destroy(&mutex));
    MUST(pthread_cond_destroy(&condition));
    return 0;
}
