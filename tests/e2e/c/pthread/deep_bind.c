/* Shares mutexes and a condition with a plugin, the first argument. The second says how to load it: "deep" with RTLD_DEEPBIND,
   "apart" in a namespace of its own, "deep in a wait" while a thread waits for the condition. */
#define _GNU_SOURCE
#include "row.h"
#include "shared_with_plugin.h"
#include <dlfcn.h>

static struct shared s = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};
static const struct side *plugin;

static void *this_takes_turns(void *me)
{
    take_turns(&s, me != NULL, 200);
    return me;
}

static void *plugin_takes_turns(void *me)
{
    plugin->take_turns(&s, 1, 200);
    return me;
}

static void *this_counts(void *unused)
{
    count(&s, 3000);
    return unused;
}

static void *plugin_counts(void *unused)
{
    plugin->count(&s, 3000);
    return unused;
}

static void *waits_for_seven(void *unused)
{
    MUST(pthread_mutex_lock(&s.mutex));
    s.turn = 6;
    while (s.turn != 7)
        MUST(pthread_cond_wait(&s.condition, &s.mutex));
    MUST(pthread_mutex_unlock(&s.mutex));
    return unused;
}

static void both(void *(*one)(void *), void *(*two)(void *))
{
    pthread_t first, second;
    MUST(pthread_create(&first, NULL, one, NULL));
    MUST(pthread_create(&second, NULL, two, &s));
    MUST(pthread_join(first, NULL));
    MUST(pthread_join(second, NULL));
}

static void load(const char *path, const char *how)
{
    int is_apart = strcmp(how, "apart") == 0;
    void *handle = is_apart ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW) : dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
    if (handle == NULL) {
        printf("%s\n", dlerror());
        exit(1);
    }
    plugin = ((const struct side *(*)(void))dlsym(handle, "plugin_side"))();
}

static void initialise(int type)
{
    pthread_mutexattr_t attributes;
    MUST(pthread_mutexattr_init(&attributes));
    MUST(pthread_mutexattr_settype(&attributes, type));
    MUST(pthread_mutex_init(&s.other, &attributes));
}

int main(int argc, char **argv)
{
    (void)argc;
    both(this_takes_turns, this_takes_turns);
    both(this_counts, this_counts);
    printf("before: turns %ld, counter %ld\n", s.turns, s.counter);
    pthread_t waiter;
    if (strcmp(argv[2], "deep in a wait") == 0) {
        MUST(pthread_create(&waiter, NULL, waits_for_seven, NULL));
        /* The thread has released the mutex, so it waits. */
        for (int waits = 0; !waits; usleep(1000)) {
            MUST(pthread_mutex_lock(&s.mutex));
            waits = s.turn == 6;
            MUST(pthread_mutex_unlock(&s.mutex));
        }
        load(argv[1], argv[2]);
        plugin->set(&s, 7);
        MUST(pthread_join(waiter, NULL));
        set(&s, 0);
    } else
        load(argv[1], argv[2]);
    both(this_takes_turns, plugin_takes_turns);
    both(this_counts, plugin_counts);
    printf("with the plugin: turns %ld, counter %ld\n", s.turns, s.counter);
    for (int type = 0; type < 3; type++) {
        initialise((int[]){PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}[type]);
        both(this_counts, plugin_counts);
        lock(&s.other);
        plugin->unlock(&s.other);
        plugin->lock(&s.other);
        unlock(&s.other);
        printf("type %d: counter %ld, %s\n", type, s.counter, is_free(&s.other) && plugin->is_free(&s.other) ? "free" : "held");
        MUST(pthread_mutex_destroy(&s.other));
    }
    printf("mutex %s\n", is_free(&s.mutex) && plugin->is_free(&s.mutex) ? "free" : "held");
    MUST(pthread_mutex_destroy(&s.mutex));
    MUST(pthread_cond_destroy(&s.condition));
    return 0;
}
