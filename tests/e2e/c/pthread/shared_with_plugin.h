/* What a program and its plugin share, and what each of them does with it: by its own binding of libc's functions. */
#include <errno.h>
#include <pthread.h>
#include <time.h>

struct shared {
    pthread_mutex_t mutex, other;
    pthread_cond_t condition;
    int turn;
    long turns, counter;
};

struct side {
    void (*take_turns)(struct shared *, int me, int rounds);
    void (*count)(struct shared *, int rounds);
    void (*lock)(pthread_mutex_t *);
    void (*unlock)(pthread_mutex_t *);
    void (*set)(struct shared *, int turn);
    int (*is_free)(pthread_mutex_t *);
};

static void take_turns(struct shared *s, int me, int rounds)
{
    struct timespec late;
    clock_gettime(CLOCK_REALTIME, &late);
    late.tv_sec += 1000;
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&s->mutex);
        while (s->turn != me)
            i & 1 ? pthread_cond_wait(&s->condition, &s->mutex) : pthread_cond_timedwait(&s->condition, &s->mutex, &late);
        s->turn = !me;
        s->turns++;
        i & 2 ? pthread_cond_signal(&s->condition) : pthread_cond_broadcast(&s->condition);
        pthread_mutex_unlock(&s->mutex);
    }
}

/* Each third round tries, or has a deadline. */
static void acquire(pthread_mutex_t *m, int round)
{
    struct timespec late = {4000000000, 0};
    if (round % 3 == 1 && pthread_mutex_trylock(m) == 0)
        return;
    round % 3 == 2 ? pthread_mutex_timedlock(m, &late) : pthread_mutex_lock(m);
}

static void count(struct shared *s, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        acquire(&s->other, i);
        long volatile *counter = &s->counter;
        *counter += 1;
        pthread_mutex_unlock(&s->other);
    }
}

static void lock(pthread_mutex_t *m)
{
    pthread_mutex_lock(m);
}

static void unlock(pthread_mutex_t *m)
{
    pthread_mutex_unlock(m);
}

static int is_free(pthread_mutex_t *m)
{
    int code = pthread_mutex_trylock(m);
    if (code == 0)
        pthread_mutex_unlock(m);
    return code == 0;
}

static void set(struct shared *s, int turn)
{
    pthread_mutex_lock(&s->mutex);
    s->turn = turn;
    pthread_cond_broadcast(&s->condition);
    pthread_mutex_unlock(&s->mutex);
}

static const struct side this_side = {take_turns, count, lock, unlock, set, is_free};
