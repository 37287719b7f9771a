/* What a program and its plugin do with the read-write lock that they share: by its own binding of libc's functions. */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

struct shared {
    pthread_rwlock_t lock;
    long volatile one, two, torn;
};

struct side {
    void (*count)(struct shared *, int rounds);
    void (*read)(pthread_rwlock_t *);
    void (*write)(pthread_rwlock_t *);
    void (*unlock)(pthread_rwlock_t *);
};

/* Half of the rounds write. A third tries first, a third has a deadline. */
static void count(struct shared *s, int rounds)
{
    const struct timespec late = {4000000000, 0};
    for (int i = 0; i < rounds; i++) {
        int is_writing = i & 1;
        if (i % 3 == 0)
            is_writing ? pthread_rwlock_timedwrlock(&s->lock, &late) : pthread_rwlock_timedrdlock(&s->lock, &late);
        else if (i % 3 == 1 || (is_writing ? pthread_rwlock_trywrlock : pthread_rwlock_tryrdlock)(&s->lock) != 0)
            (is_writing ? pthread_rwlock_wrlock : pthread_rwlock_rdlock)(&s->lock);
        if (is_writing) {
            s->one++;
            s->two++;
        } else if (s->one != s->two)
            s->torn = 1;
        pthread_rwlock_unlock(&s->lock);
    }
}

static void read_lock(pthread_rwlock_t *l)
{
    pthread_rwlock_rdlock(l);
}

static void write_lock(pthread_rwlock_t *l)
{
    pthread_rwlock_wrlock(l);
}

static void unlock(pthread_rwlock_t *l)
{
    pthread_rwlock_unlock(l);
}

static const struct side this_side = {count, read_lock, write_lock, unlock};
