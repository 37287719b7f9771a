/* Loads and unloads the plugin that is its argument, also while others lock. */
#include "row.h"
#include <dlfcn.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int stop;

static void *busy(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
        MUST(pthread_mutex_lock(&m));
        MUST(pthread_mutex_unlock(&m));
        sched_yield();
    }
    return unused;
}

static long load_and_work(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    long (*work)(void) = plugin == NULL ? NULL : (long (*)(void))dlsym(plugin, "plugin_work");
    long result = work == NULL ? -1 : work();
    if (plugin != NULL)
        dlclose(plugin);
    return result;
}

int main(int argc, char **argv)
{
    int (*lock)(pthread_mutex_t *) = (int (*)(pthread_mutex_t *))dlsym(RTLD_DEFAULT, "pthread_mutex_lock");
    pthread_t thread;
    long sum = 0;
    if (argc < 2)
        return 98;
    for (int i = 0; i < 50; i++)
        sum += load_and_work(argv[1]);
    line("fifty times", "%ld", sum);
    MUST(pthread_create(&thread, NULL, busy, NULL));
    sum = 0;
    for (int i = 0; i < 50; i++)
        sum += load_and_work(argv[1]);
    line("fifty times beside a busy thread", "%ld", sum);
    stop = 1;
    MUST(pthread_join(thread, NULL));
    IN_CHILD("in a child", line("in the child", "%ld", load_and_work(argv[1])));
    /* Reached by name, and locked one way and unlocked the other. */
    ROW("lock by its looked-up name", lock(&m));
    ROW("unlock", pthread_mutex_unlock(&m));
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    int (*libcs)(pthread_mutex_t *) = (int (*)(pthread_mutex_t *))dlsym(libc, "pthread_mutex_unlock");
    ROW("lock", pthread_mutex_lock(&m));
    ROW("unlock of libc itself", libcs(&m));
    ROW("lock again", pthread_mutex_lock(&m));
    ROW("unlock again", pthread_mutex_unlock(&m));
    return 0;
}
