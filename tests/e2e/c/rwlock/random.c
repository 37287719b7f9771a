/* Random programs: threads that read, write, try, give up, upgrade and downgrade, with several locks. While a thread writes it is
 * alone; what it has written is whole; all writes are counted; at the end every lock is free.
 *
 * The arguments are the seed, the number of threads, and the steps of each. */
#include "expect.h"

enum { LOCKS = 4, MAILBOXES = 8, HELD = 6 };

/* A lock and what it protects. */
struct place {
    pthread_rwlock_t lock;
    int kind;
    long first, second, writes;
    int readers, writers;
};

/* A lock that a thread holds. */
struct hand {
    struct place *place;
    int writes;
};

struct worker {
    uint64_t random;
    int steps, held;
    struct hand hands[HELD];
    long writes[LOCKS], timeouts;
    pthread_t thread;
};

static struct place places[LOCKS];
/* Locks held for reading, left for another thread to release. */
static struct place *mailboxes[MAILBOXES];
static int left;

/* ---- Acquired and released. ---- */

static void check(const struct place *place)
{
    HOLDS(place->first + place->second == 0);
}

static void entered(struct worker *me, struct place *place, int writes)
{
    if (writes) {
        HOLDS(__atomic_add_fetch(&place->writers, 1, __ATOMIC_SEQ_CST) == 1);
        HOLDS(__atomic_load_n(&place->readers, __ATOMIC_SEQ_CST) == 0);
        check(place);
        place->first++;
        if (random_below(&me->random, 8) == 0)
            sched_yield();
        place->second--;
        me->writes[place - places]++;
    } else {
        __atomic_add_fetch(&place->readers, 1, __ATOMIC_SEQ_CST);
        HOLDS(__atomic_load_n(&place->writers, __ATOMIC_SEQ_CST) == 0);
        check(place);
    }
    HOLDS(me->held < HELD);
    me->hands[me->held++] = (struct hand){ place, writes };
}

static void leave(struct place *place, int writes)
{
    check(place);
    __atomic_sub_fetch(writes ? &place->writers : &place->readers, 1, __ATOMIC_SEQ_CST);
    MUST(pthread_rwlock_unlock(&place->lock));
}

static struct place *drop(struct worker *me, int at)
{
    struct place *place = me->hands[at].place;
    me->hands[at] = me->hands[--me->held];
    return place;
}

static void release(struct worker *me, int at)
{
    int writes = me->hands[at].writes;
    leave(drop(me, at), writes);
}

/* ---- The steps. ---- */

static int holds(const struct worker *me, const struct place *place, int writes)
{
    for (int i = 0; i < me->held; i++)
        if (me->hands[i].place == place && me->hands[i].writes == writes)
            return 1;
    return 0;
}

/* A wait without an end cannot deadlock: the place is behind all that the thread holds, or it reads it already and may
 * read it again. */
static int may_wait(const struct worker *me, const struct place *place, int writes)
{
    if (!writes && holds(me, place, 0))
        return place->kind != PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
    for (int i = 0; i < me->held; i++)
        if (me->hands[i].place >= place)
            return 0;
    return 1;
}

static int acquire_timed(struct worker *me, pthread_rwlock_t *l, int writes)
{
    clockid_t clock = random_below(&me->random, 2) ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    struct timespec until = in_ms(clock, 0);
    until.tv_nsec += random_below(&me->random, 300000);
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    int result = writes ? pthread_rwlock_clockwrlock(l, clock, &until) : pthread_rwlock_clockrdlock(l, clock, &until);
    HOLDS(result == 0 || result == ETIMEDOUT || result == EDEADLK);
    if (result == ETIMEDOUT)
        HOLDS(is_past(clock, &until));
    return result;
}

static void acquire(struct worker *me)
{
    if (me->held == HELD)
        return;
    struct place *place = &places[random_below(&me->random, LOCKS)];
    int writes = random_below(&me->random, 3) == 0, result;
    pthread_rwlock_t *l = &place->lock;
    int is_own = holds(me, place, 1);
    switch (random_below(&me->random, 4)) {
    case 0:
        result = writes ? trywr(l) : tryrd(l);
        HOLDS(result == 0 || result == EBUSY);
        break;
    case 1:
        result = acquire_timed(me, l, writes);
        me->timeouts += result == ETIMEDOUT;
        HOLDS((result == EDEADLK) == is_own);
        break;
    default:
        if (!is_own && !may_wait(me, place, writes))
            return;
        result = writes ? wr(l) : rd(l);
        HOLDS(result == (is_own ? EDEADLK : 0));
    }
    if (result == 0)
        entered(me, place, writes);
}

/* A reader becomes a writer, or the other way round: it lets go in between. */
static void change_side(struct worker *me, int at)
{
    int writes = !me->hands[at].writes;
    struct place *place = me->hands[at].place;
    release(me, at);
    if (may_wait(me, place, writes) && !holds(me, place, 1) && (!writes || !holds(me, place, 0))) {
        MUST(writes ? wr(&place->lock) : rd(&place->lock));
        entered(me, place, writes);
    }
}

/* Leaves a lock that is held for reading to another thread, and releases what was there. */
static void hand_over(struct worker *me, int at)
{
    if (me->hands[at].writes)
        return;
    struct place *mine = drop(me, at);
    struct place *theirs = __atomic_exchange_n(&mailboxes[random_below(&me->random, MAILBOXES)], mine, __ATOMIC_SEQ_CST);
    if (theirs != NULL)
        leave(theirs, 0);
}

static void empty_mailboxes(void)
{
    for (int i = 0; i < MAILBOXES; i++) {
        struct place *theirs = __atomic_exchange_n(&mailboxes[i], (struct place *)NULL, __ATOMIC_SEQ_CST);
        if (theirs != NULL)
            leave(theirs, 0);
    }
}

static void *work(void *p)
{
    struct worker *me = (struct worker *)p;
    for (int i = 0; i < me->steps; i++) {
        unsigned at = me->held > 0 ? random_below(&me->random, (unsigned)me->held) : 0;
        switch (random_below(&me->random, 12)) {
        case 0: case 1: case 2: case 3: case 4:
            acquire(me);
            break;
        case 5:
            if (me->held > 0)
                change_side(me, (int)at);
            break;
        case 6:
            if (me->held > 0)
                hand_over(me, (int)at);
            break;
        case 7:
            while (me->held > 0)
                release(me, me->held - 1);
            break;
        default:
            if (me->held > 0)
                release(me, (int)at);
        }
    }
    while (me->held > 0)
        release(me, me->held - 1);
    __atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void initialise(uint64_t *random)
{
    static const int kinds[] = { PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                                 PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP };
    for (int i = 0; i < LOCKS; i++) {
        places[i].kind = kinds[random_below(random, 4) % COUNT(kinds)];
        places[i].lock = lock_of_kind(places[i].kind);
    }
}

int main(int argc, char **argv)
{
    uint64_t random = 0x9e3779b97f4a7c15u ^ (uint64_t)(argc > 1 ? atoll(argv[1]) : 1);
    int count = argc > 2 ? atoi(argv[2]) : 4, steps = argc > 3 ? atoi(argv[3]) : 2000;
    struct worker *workers = (struct worker *)calloc((size_t)count, sizeof *workers);
    initialise(&random);
    left = count;
    for (int i = 0; i < count; i++) {
        workers[i].steps = steps;
        workers[i].random = random + (uint64_t)(i + 1) * 0xbf58476d1ce4e5b9u;
        MUST(pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    /* A writer may wait for a lock that lies in a mailbox. */
    while (__atomic_load_n(&left, __ATOMIC_SEQ_CST) > 0) {
        empty_mailboxes();
        usleep(50);
    }
    for (int i = 0; i < count; i++)
        MUST(pthread_join(workers[i].thread, NULL));
    empty_mailboxes();
    for (int i = 0; i < LOCKS; i++) {
        long writes = 0;
        for (int n = 0; n < count; n++)
            writes += workers[n].writes[i];
        HOLDS(places[i].first == writes && places[i].second == -writes);
        HOLDS(places[i].readers == 0 && places[i].writers == 0);
        EXPECT(0, trywr_unlock(&places[i].lock));
        EXPECT(0, elsewhere(tryrd_unlock, &places[i].lock));
        EXPECT(0, pthread_rwlock_destroy(&places[i].lock));
    }
    free(workers);
    return 0;
}
