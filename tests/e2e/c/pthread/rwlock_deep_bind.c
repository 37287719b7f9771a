/* Shares read-write locks with a plugin, the first argument. The second says how to load it: "deep" with RTLD_DEEPBIND, or "apart" in a
   namespace of its own. */
#define _GNU_SOURCE
#include "row.h"
#include "rwlock_with_plugin.h"
#include <dlfcn.h>

static struct shared s = {PTHREAD_RWLOCK_INITIALIZER, 0, 0, 0};
static pthread_rwlock_t read_next = PTHREAD_RWLOCK_INITIALIZER, written_next = PTHREAD_RWLOCK_INITIALIZER;
static const struct side *plugin;

static void *this_counts(void *unused)
{
    this_side.count(&s, 3000);
    return unused;
}

static void *plugin_counts(void *unused)
{
    plugin->count(&s, 3000);
    return unused;
}

static void all(void *(*one)(void *), void *(*two)(void *))
{
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT(threads); i++)
        MUST(pthread_create(&threads[i], NULL, i % 2 == 0 ? one : two, NULL));
    for (size_t i = 0; i < COUNT(threads); i++)
        MUST(pthread_join(threads[i], NULL));
}

static int stop;

/* Reads before, during and after the hand-over. */
static void *busy_reader(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
        MUST(pthread_rwlock_rdlock(&s.lock));
        if (s.one != s.two)
            s.torn = 1;
        MUST(pthread_rwlock_unlock(&s.lock));
    }
    return unused;
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

/* Acquired on one side and released on the other. */
static void crosswise(const char *name, pthread_rwlock_t *l)
{
    line("lock", "%s", name);
    this_side.write(l);
    plugin->unlock(l);
    plugin->write(l);
    this_side.unlock(l);
    this_side.read(l);
    plugin->unlock(l);
    plugin->read(l);
    this_side.unlock(l);
    ROW("trywrlock", pthread_rwlock_trywrlock(l));
    ROW("rdlock own", pthread_rwlock_rdlock(l));
    ROW("unlock", pthread_rwlock_unlock(l));
    ROW("destroy", pthread_rwlock_destroy(l));
}

int main(int argc, char **argv)
{
    pthread_t readers[2];
    (void)argc;
    all(this_counts, this_counts);
    line("before", "%ld, torn %ld", s.one, s.torn);
    for (size_t i = 0; i < COUNT(readers); i++)
        MUST(pthread_create(&readers[i], NULL, busy_reader, NULL));
    ROW("tryrdlock", pthread_rwlock_tryrdlock(&read_next));
    ROW("unlock", pthread_rwlock_unlock(&read_next));
    ROW("wrlock", pthread_rwlock_wrlock(&written_next));
    load(argv[1], argv[2]);
    ROW("wrlock own", pthread_rwlock_wrlock(&written_next));
    ROW("unlock after the plugin is loaded", pthread_rwlock_unlock(&written_next));
    /* No thread has the lock from before. */
    ROW("wrlock", pthread_rwlock_wrlock(&s.lock));
    ROW("unlock", pthread_rwlock_unlock(&s.lock));
    all(this_counts, plugin_counts);
    stop = 1;
    for (size_t i = 0; i < COUNT(readers); i++)
        MUST(pthread_join(readers[i], NULL));
    line("with the plugin", "%ld, torn %ld", s.one, s.torn);
    ROW("rdlock", pthread_rwlock_rdlock(&read_next));
    ROW("rdlock again", pthread_rwlock_rdlock(&read_next));
    ROW("unlock", pthread_rwlock_unlock(&read_next));
    ROW("unlock", pthread_rwlock_unlock(&read_next));
    crosswise("read next", &read_next);
    crosswise("written next", &written_next);
    for (int kind = 0; kind < 3; kind++) {
        pthread_rwlockattr_t attributes;
        MUST(pthread_rwlockattr_init(&attributes));
        MUST(pthread_rwlockattr_setkind_np(&attributes, kind));
        MUST(pthread_rwlock_init(&s.lock, &attributes));
        all(this_counts, plugin_counts);
        line("initialised after that", "kind %d, %ld, torn %ld", kind, s.one, s.torn);
        MUST(pthread_rwlock_destroy(&s.lock));
    }
    return 0;
}
