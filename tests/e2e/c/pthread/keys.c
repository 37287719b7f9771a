/* Keys of thread-specific data: their numbers, how many there are, and what their destructors may do. */
#include "row.h"
#include <limits.h>
#include <threads.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t keys[PTHREAD_KEYS_MAX + 1];
static int count;

static void add(void)
{
    MUST(pthread_mutex_lock(&m));
    count++;
    MUST(pthread_mutex_unlock(&m));
}

static void destructor(void *value)
{
    add();
    if (value == (void *)1)
        add();
}

static void *once(void *unused)
{
    add();
    return unused;
}

static void *with_keys(void *last)
{
    add();
    for (int i = 0; i <= *(int *)last; i++)
        MUST(pthread_setspecific(keys[i], (void *)1));
    return NULL;
}

static void row_count(const char *row)
{
    line(row, "%d", count);
    count = 0;
}

static int create_c11(pthread_key_t *key)
{
    tss_t it;
    int code = tss_create(&it, destructor);
    *key = it;
    return code;
}

static int create(pthread_key_t *key)
{
    return pthread_key_create(key, destructor);
}

static void *hold_on(void *barrier)
{
    add();
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    add();
    return NULL;
}

int main(int argc, char **argv)
{
    int (*creates)(pthread_key_t *) = argc > 1 && strcmp(argv[1], "C11") == 0 ? create_c11 : create;
    pthread_barrier_t barrier;
    pthread_t thread;
    /* The first key of the process, which no program has created yet. */
    line("key 0", "%s", pthread_getspecific(0) == NULL ? "no value" : "a value");
    ROW("a value of key 0", pthread_setspecific(0, &m));
    crowd(1, once, NULL);
    row_count("a thread without keys");
    MUST(pthread_barrier_init(&barrier, NULL, 2));
    MUST(pthread_create(&thread, NULL, hold_on, &barrier));
    pthread_barrier_wait(&barrier);
    int last = 0;
    for (int i = 0; i < 20; i++) {
        ROW("create", creates(&keys[i]));
        line("number", "%u", keys[i]);
        last = i;
    }
    crowd(10, with_keys, &last);
    row_count("ten threads with twenty keys");
    int code, created = last + 1;
    while ((code = creates(&keys[created])) == 0)
        created++;
    line("keys", "%d, then %d", created, code);
    int has_value = 0, is_used[PTHREAD_KEYS_MAX] = { 0 }, distinct = 0;
    for (int i = 0; i < created; i++) {
        has_value += pthread_getspecific(keys[i]) != NULL;
        distinct += !is_used[keys[i]];
        is_used[keys[i]] = 1;
    }
    line("different numbers", "%d, with a value %d", distinct, has_value);
    ROW("one more", creates(&keys[created]));
    pthread_barrier_wait(&barrier);
    MUST(pthread_join(thread, NULL));
    row_count("a thread from before");
    last = created - 1;
    crowd(3, with_keys, &last);
    row_count("three threads with all keys");
    for (int i = 0; i < created; i++)
        MUST(pthread_key_delete(keys[i]));
    crowd(3, once, NULL);
    row_count("three threads without keys");
    ROW("create again", creates(&keys[0]));
    line("number", "%u", keys[0]);
    return 0;
}
