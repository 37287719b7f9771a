/* C11 threads, which use the same locks through other functions. */
#include "row.h"
#include <threads.h>

static mtx_t mutex, timed, recursive;
static cnd_t condition;
static once_flag once = ONCE_FLAG_INIT;
static tss_t key;
static int onces, turn, destroyed;
static long count;

static const char *thrd_name(int result)
{
    return result == thrd_success ? "success" : result == thrd_busy ? "busy" : result == thrd_timedout ? "timedout"
         : result == thrd_nomem   ? "nomem"   : "error";
}

#define ROW_C11(row, call) line((row), "%s", thrd_name(call))

static void run_once(void) { onces++; }

/* Thread-specific storage whose destructor takes a lock. */
static void destroy(void *unused)
{
    (void)unused;
    mtx_lock(&mutex);
    destroyed++;
    mtx_unlock(&mutex);
}

static int add(void *unused)
{
    (void)unused;
    call_once(&once, run_once);
    tss_set(key, &count);
    for (int i = 0; i < 3000; i++) {
        mtx_lock(&mutex);
        count++;
        mtx_unlock(&mutex);
        mtx_lock(&recursive);
        mtx_lock(&recursive);
        mtx_unlock(&recursive);
        mtx_unlock(&recursive);
    }
    return 7;
}

static int try_all(void *unused)
{
    (void)unused;
    struct timespec until;
    timespec_get(&until, TIME_UTC);
    until.tv_nsec = (until.tv_nsec + 10000000) % 1000000000;
    until.tv_sec += until.tv_nsec < 10000000;
    ROW_C11("trylock plain", mtx_trylock(&mutex));
    ROW_C11("trylock timed", mtx_trylock(&timed));
    ROW_C11("trylock recursive", mtx_trylock(&recursive));
    ROW_C11("timedlock", mtx_timedlock(&timed, &until));
    return 0;
}

static int take_turns(void *odd)
{
    mtx_lock(&mutex);
    for (int i = 0; i < 200; i++) {
        while (turn % 2 != (odd != NULL))
            cnd_wait(&condition, &mutex);
        turn++;
        if (i % 2)
            cnd_signal(&condition);
        else
            cnd_broadcast(&condition);
    }
    mtx_unlock(&mutex);
    thrd_exit(9);
}

static int run_all(int (*run)(void *), int threads)
{
    thrd_t all[8];
    int sum = 0, result;
    for (int i = 0; i < threads; i++)
        thrd_create(&all[i], run, i % 2 ? &count : NULL);
    for (int i = 0; i < threads; i++) {
        thrd_join(all[i], &result);
        sum += result;
    }
    return sum;
}

int main(void)
{
    ROW_C11("init plain", mtx_init(&mutex, mtx_plain));
    ROW_C11("init timed", mtx_init(&timed, mtx_timed));
    ROW_C11("init recursive", mtx_init(&recursive, mtx_timed | mtx_recursive));
    ROW_C11("init condition", cnd_init(&condition));
    ROW_C11("create key", tss_create(&key, destroy));
    ROW_C11("lock", mtx_lock(&mutex));
    ROW_C11("lock", mtx_lock(&timed));
    ROW_C11("lock", mtx_lock(&recursive));
    ROW_C11("trylock own plain", mtx_trylock(&mutex));
    ROW_C11("trylock own recursive", mtx_trylock(&recursive));
    line("elsewhere", "%d", run_all(try_all, 1));
    struct timespec until;
    timespec_get(&until, TIME_UTC);
    ROW_C11("timedwait", cnd_timedwait(&condition, &mutex, &until));
    ROW_C11("unlock", mtx_unlock(&recursive));
    ROW_C11("unlock", mtx_unlock(&recursive));
    ROW_C11("unlock", mtx_unlock(&timed));
    ROW_C11("unlock", mtx_unlock(&mutex));
    line("adders", "%d", run_all(add, 4));
    line("counted", "%ld", count);
    line("once", "%d", onces);
    line("destructors", "%d", destroyed);
    line("taking turns", "%d", run_all(take_turns, 2));
    line("turns", "%d", turn);
    mtx_destroy(&mutex);
    mtx_destroy(&timed);
    mtx_destroy(&recursive);
    cnd_destroy(&condition);
    return 0;
}
