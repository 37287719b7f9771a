/* Robust mutexes: the state of a lock after the death of its owner. */
#include "row.h"

static int lock(void *m) { return pthread_mutex_lock(m); }

static void init(pthread_mutex_t *m, int kind, int shared, int protocol)
{
    pthread_mutexattr_t attr;
    MUST(pthread_mutexattr_init(&attr));
    MUST(pthread_mutexattr_settype(&attr, kind));
    MUST(pthread_mutexattr_setpshared(&attr, shared));
    MUST(pthread_mutexattr_setprotocol(&attr, protocol));
    MUST(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
    MUST(pthread_mutex_init(m, &attr));
}

/* The three ways to ask for it. */
static int ask(pthread_mutex_t *m, int how)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 60000);
    return how == 0 ? pthread_mutex_lock(m)
         : how == 1 ? pthread_mutex_trylock(m)
         : how == 2 ? pthread_mutex_timedlock(m, &until)
                    : pthread_mutex_clocklock(m, CLOCK_REALTIME, &until);
}

static void left_behind(int kind, int protocol)
{
    for (int how = 0; how < 4; how++) {
        pthread_mutex_t m;
        init(&m, kind, PTHREAD_PROCESS_PRIVATE, protocol);
        row_elsewhere("a thread locks it and ends", lock, &m);
        ROW("the next", ask(&m, how));
        ROW("consistent", pthread_mutex_consistent(&m));
        ROW("consistent again", pthread_mutex_consistent(&m));
        if (kind != PTHREAD_MUTEX_NORMAL) {
            ROW("the owner asks again", ask(&m, how));
            if (kind == PTHREAD_MUTEX_RECURSIVE)
                ROW("unlock once", pthread_mutex_unlock(&m));
        }
        ROW("unlock", pthread_mutex_unlock(&m));
        ROW("lock", ask(&m, how));
        ROW("unlock", pthread_mutex_unlock(&m));
        row_elsewhere("again a thread locks it and ends", lock, &m);
        ROW("the next", ask(&m, how));
        ROW("unlock without consistent", pthread_mutex_unlock(&m));
        ROW("for good", ask(&m, how));
        /* A trylock that fails with ENOTRECOVERABLE leaves glibc's lock word taken: no thread may wait for it. */
        if (how != 1)
            row_elsewhere("elsewhere too", lock, &m);
        ROW("destroy", pthread_mutex_destroy(&m));
    }
}

/* Sleeps on it while its owner dies. */
static sem_t taken, may_die;

static void *owner(void *m)
{
    MUST(pthread_mutex_lock(m));
    sem_post(&taken);
    sem_wait(&may_die);
    return NULL;
}

static void inherited_asleep(void)
{
    pthread_mutex_t m;
    pthread_t thread;
    struct job waiter;
    init(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_PROCESS_PRIVATE, PTHREAD_PRIO_NONE);
    sem_init(&taken, 0, 0);
    sem_init(&may_die, 0, 0);
    MUST(pthread_create(&thread, NULL, owner, &m));
    sem_wait(&taken);
    start(&waiter, lock, &m);
    await_asleep(&waiter);
    sem_post(&may_die);
    row_job("a sleeper whose owner ends", &waiter);
    MUST(pthread_join(thread, NULL));
}

static void across_processes(void)
{
    pthread_mutex_t *m = shared_page();
    init(m, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PROCESS_SHARED, PTHREAD_PRIO_NONE);
    IN_CHILD("the child", ROW("lock in the child", pthread_mutex_lock(m)));
    ROW("after its exit", pthread_mutex_lock(m));
    ROW("consistent", pthread_mutex_consistent(m));
    ROW("unlock", pthread_mutex_unlock(m));
    IN_CHILD("the killed child", {
        ROW("lock in the child", pthread_mutex_lock(m));
        raise(SIGKILL);
    });
    ROW("trylock after the kill", pthread_mutex_trylock(m));
    IN_CHILD("a child beside", ROW("trylock in the child", pthread_mutex_trylock(m)));
    ROW("consistent", pthread_mutex_consistent(m));
    ROW("unlock", pthread_mutex_unlock(m));
    IN_CHILD("the child of exec", {
        ROW("lock in the child", pthread_mutex_lock(m));
        execl("/bin/true", "true", (char *)NULL);
    });
    ROW("after its exec", pthread_mutex_lock(m));
    ROW("unlock without consistent", pthread_mutex_unlock(m));
    IN_CHILD("a late child", ROW("lock in the child", pthread_mutex_lock(m)));
}

/* Many deaths in a row. */
static void often(void)
{
    pthread_mutex_t m;
    int dead = 0;
    init(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_PROCESS_PRIVATE, PTHREAD_PRIO_NONE);
    for (int i = 0; i < 200; i++) {
        struct job job;
        start(&job, lock, &m);
        MUST(pthread_join(job.thread, NULL));
        dead += pthread_mutex_lock(&m) == EOWNERDEAD;
        MUST(pthread_mutex_consistent(&m));
        MUST(pthread_mutex_unlock(&m));
    }
    line("owners found dead", "%d", dead);
}

int main(void)
{
    pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
    ROW("consistent, not robust", pthread_mutex_consistent(&plain));
    for (int protocol = PTHREAD_PRIO_NONE; protocol <= PTHREAD_PRIO_INHERIT; protocol++) {
        left_behind(PTHREAD_MUTEX_NORMAL, protocol);
        left_behind(PTHREAD_MUTEX_RECURSIVE, protocol);
        left_behind(PTHREAD_MUTEX_ERRORCHECK, protocol);
    }
    inherited_asleep();
    across_processes();
    often();
    return 0;
}
