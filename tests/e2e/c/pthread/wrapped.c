/* Prints how many calls reached a library that is preloaded with the program and wraps the lock functions. */
#define _GNU_SOURCE
#include "row.h"
#include <dlfcn.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;

static void *signals(void *unused)
{
    MUST(pthread_mutex_lock(&m));
    ready = 1;
    MUST(pthread_cond_signal(&c));
    MUST(pthread_mutex_unlock(&m));
    return unused;
}

int main(void)
{
    int *calls = dlsym(RTLD_DEFAULT, "wrapped_calls");
    for (int i = 0; i < 10; i++) {
        MUST(pthread_mutex_lock(&m));
        MUST(pthread_mutex_unlock(&m));
    }
    printf("locks: %d\n", *calls);
    struct timespec past = {1, 0};
    MUST(pthread_mutex_lock(&m));
    int code = pthread_cond_timedwait(&c, &m, &past);
    printf("wait: %s, calls: %d\n", name_of(code), *calls);
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, signals, NULL));
    while (!ready)
        MUST(pthread_cond_wait(&c, &m));
    MUST(pthread_mutex_unlock(&m));
    MUST(pthread_join(thread, NULL));
    printf("signal: %d\n", *calls);
    return 0;
}
