/* The names that glibc has for the same functions: a lock that is taken by one and released by another. */
#include "row.h"
#include <threads.h>

/* Only old programs refer to these names, by symbol version. */
#define OLD(name)                              \
    extern __typeof__(pthread_##name) old_##name; \
    __asm__(".symver old_" #name ",__pthread_" #name "@GLIBC_2.2.5")

OLD(mutex_init);
OLD(mutex_destroy);
OLD(mutex_lock);
OLD(mutex_trylock);
OLD(mutex_unlock);
OLD(rwlock_init);
OLD(rwlock_destroy);
OLD(rwlock_rdlock);
OLD(rwlock_tryrdlock);
OLD(rwlock_wrlock);
OLD(rwlock_trywrlock);
OLD(rwlock_unlock);

static int trylock(void *m) { return pthread_mutex_trylock(m); }
static int alias_trylock(void *m) { return old_mutex_trylock(m); }
static int c11_trylock(void *m) { return mtx_trylock(m); }
static int trywrlock(void *l) { return pthread_rwlock_trywrlock(l); }

static void views(pthread_mutex_t *m)
{
    row_elsewhere("trylock", trylock, m);
    row_elsewhere("__trylock", alias_trylock, m);
    row_elsewhere("mtx_trylock", c11_trylock, m);
}

/* A mutex, by three sets of names. */
static void mutexes(void)
{
    static int (*const locks[])(pthread_mutex_t *) = { pthread_mutex_lock, old_mutex_lock,
                                                       old_mutex_trylock };
    static int (*const unlocks[])(pthread_mutex_t *) = { pthread_mutex_unlock, old_mutex_unlock };
    pthread_mutex_t m;
    ROW("init", old_mutex_init(&m, NULL));
    for (size_t i = 0; i < COUNT(locks) * COUNT(unlocks); i++) {
        ROW("lock", locks[i % COUNT(locks)](&m));
        views(&m);
        ROW("unlock", unlocks[i / COUNT(locks)](&m));
    }
    ROW("mtx_lock", mtx_lock((mtx_t *)&m));
    views(&m);
    ROW("unlock", pthread_mutex_unlock(&m));
    ROW("lock", pthread_mutex_lock(&m));
    views(&m);
    ROW("mtx_unlock", mtx_unlock((mtx_t *)&m));
    ROW("destroy", old_mutex_destroy(&m));
    ROW("lock destroyed", old_mutex_lock(&m));
    mtx_t c11;
    ROW("mtx_init", mtx_init(&c11, mtx_plain));
    ROW("lock", pthread_mutex_lock((pthread_mutex_t *)&c11));
    views((pthread_mutex_t *)&c11);
    ROW("mtx_unlock", mtx_unlock(&c11));
    mtx_destroy(&c11);
    ROW("mtx_lock destroyed", mtx_lock(&c11));
}

static void rwlocks(void)
{
    pthread_rwlock_t l;
    ROW("init", old_rwlock_init(&l, NULL));
    ROW("rdlock", old_rwlock_rdlock(&l));
    ROW("tryrdlock", old_rwlock_tryrdlock(&l));
    row_elsewhere("trywrlock", trywrlock, &l);
    ROW("unlock", old_rwlock_unlock(&l));
    ROW("unlock", pthread_rwlock_unlock(&l));
    ROW("wrlock", old_rwlock_wrlock(&l));
    row_elsewhere("trywrlock", trywrlock, &l);
    ROW("unlock", pthread_rwlock_unlock(&l));
    ROW("trywrlock", old_rwlock_trywrlock(&l));
    ROW("unlock", old_rwlock_unlock(&l));
    ROW("destroy", old_rwlock_destroy(&l));
}

/* A condition and its mutex, by both sets of names. */
static struct {
    mtx_t m;
    cnd_t c;
    int ready;
} place;

static int wait_by_posix(void *unused)
{
    (void)unused;
    MUST(pthread_mutex_lock((pthread_mutex_t *)&place.m));
    while (!place.ready)
        MUST(pthread_cond_wait((pthread_cond_t *)&place.c, (pthread_mutex_t *)&place.m));
    return mtx_unlock(&place.m);
}

static int wait_by_c11(void *unused)
{
    (void)unused;
    MUST(mtx_lock(&place.m));
    while (!place.ready)
        MUST(cnd_wait(&place.c, &place.m));
    return pthread_mutex_unlock((pthread_mutex_t *)&place.m);
}

static void conditions(void)
{
    struct job posix, c11;
    MUST(mtx_init(&place.m, mtx_plain));
    MUST(cnd_init(&place.c));
    for (int all = 0; all < 2; all++) {
        place.ready = 0;
        start(&posix, wait_by_posix, NULL);
        start(&c11, wait_by_c11, NULL);
        await_asleep(&posix);
        await_asleep(&c11);
        MUST(mtx_lock(&place.m));
        place.ready = 1;
        if (all) {
            MUST(cnd_broadcast(&place.c));
        } else {
            MUST(cnd_signal(&place.c));
            MUST(pthread_cond_signal((pthread_cond_t *)&place.c));
        }
        MUST(mtx_unlock(&place.m));
        row_job("one by POSIX", &posix);
        row_job("one by C11", &c11);
    }
    cnd_destroy(&place.c);
    mtx_destroy(&place.m);
}

int main(void)
{
    mutexes();
    rwlocks();
    conditions();
    return 0;
}
