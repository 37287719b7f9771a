/* The program has a function of its own for waits. It finds libc's by a handle at the first wait, with the mutex locked. */
#define _GNU_SOURCE
#include "row.h"
#include <dlfcn.h>

static int (*libcs)(pthread_cond_t *, pthread_mutex_t *);
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turn, waits;

int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    if (libcs == NULL)
        libcs = (int (*)(pthread_cond_t *, pthread_mutex_t *))dlsym(dlopen("libc.so.6", RTLD_NOW), "pthread_cond_wait");
    waits++;
    return libcs(c, m);
}

static void *gives_the_turn(void *unused)
{
    MUST(pthread_mutex_lock(&mutex));
    turn = 1;
    MUST(pthread_cond_broadcast(&condition));
    MUST(pthread_mutex_unlock(&mutex));
    return unused;
}

int main(void)
{
    alarm(60);
    pthread_t giver;
    MUST(pthread_mutex_lock(&mutex));
    MUST(pthread_create(&giver, NULL, gives_the_turn, NULL));
    while (turn == 0)
        MUST(pthread_cond_wait(&condition, &mutex));
    MUST(pthread_mutex_unlock(&mutex));
    MUST(pthread_join(giver, NULL));
    line("waits", "%s", waits > 0 ? "through the program's function" : "not seen");
    return 0;
}
