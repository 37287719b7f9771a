/* Spin locks, private and shared. */
#include "row.h"

static int lock_then_unlock(void *s)
{
    int result = pthread_spin_lock((pthread_spinlock_t *)s);
    return result != 0 ? result : pthread_spin_unlock((pthread_spinlock_t *)s);
}

static int trylock(void *s) { return pthread_spin_trylock((pthread_spinlock_t *)s); }
static int unlock(void *s) { return pthread_spin_unlock((pthread_spinlock_t *)s); }

struct counter {
    pthread_spinlock_t s;
    long count;
};

static void *add(void *p)
{
    struct counter *c = p;
    for (int i = 0; i < 500; i++) {
        if (i % 4 != 0)
            MUST(pthread_spin_lock(&c->s));
        else
            while (pthread_spin_trylock(&c->s) == EBUSY)
                sched_yield();
        c->count++;
        MUST(pthread_spin_unlock(&c->s));
    }
    return NULL;
}

int main(void)
{
    for (int shared = PTHREAD_PROCESS_PRIVATE; shared <= PTHREAD_PROCESS_SHARED; shared++) {
        struct counter *c = shared_page();
        ROW("init", pthread_spin_init(&c->s, shared));
        ROW("lock", pthread_spin_lock(&c->s));
        ROW("trylock own", pthread_spin_trylock(&c->s));
        row_elsewhere("trylock another's", trylock, (void *)&c->s);
        struct job waiter;
        start(&waiter, lock_then_unlock, (void *)&c->s);
        pause_ms(5);
        ROW("unlock", pthread_spin_unlock(&c->s));
        row_job("the waiter", &waiter);
        ROW("trylock free", pthread_spin_trylock(&c->s));
        row_elsewhere("unlocked by another", unlock, (void *)&c->s);
        ROW("lock", pthread_spin_lock(&c->s));
        IN_CHILD("a child", {
            ROW("trylock in the child", pthread_spin_trylock(&c->s));
            ROW("init in the child", pthread_spin_init(&c->s, shared));
            ROW("lock in the child", pthread_spin_lock(&c->s));
        });
        ROW("init while locked", pthread_spin_init(&c->s, shared));
        crowd(4, add, c);
        line("counted", "%ld", c->count);
        ROW("destroy", pthread_spin_destroy(&c->s));
        if (shared) {
            c->count = 0;
            MUST(pthread_spin_init(&c->s, shared));
            fflush(stdout);
            pid_t child = (pid_t)MUST_SYS(fork());
            add(c);
            if (child == 0)
                _exit(0);
            row_child("an adding child", child);
            line("counted by two processes", "%ld", c->count);
        }
    }
    return 0;
}
