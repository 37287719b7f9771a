// Takes a mutex's and a condition's functions by name and version, as a library does that wraps them. Two threads take
// turns: one calls the functions as usual, the other by these addresses.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turn, turns;

static int (*waits)(pthread_cond_t *, pthread_mutex_t *);
static int (*signals)(pthread_cond_t *);

static void take_turns(int me, int (*wait)(pthread_cond_t *, pthread_mutex_t *), int (*signal)(pthread_cond_t *)) {
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&mutex);
        while (turn != me) wait(&condition, &mutex);
        turn = !me;
        turns++;
        signal(&condition);
        pthread_mutex_unlock(&mutex);
    }
}

static void *other(void *nothing) {
    take_turns(1, waits, signals);
    return nothing;
}

int main(void) {
    void *handles[] = {RTLD_DEFAULT, RTLD_NEXT};
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        waits = dlvsym(handles[i], "pthread_cond_wait", "GLIBC_2.3.2");
        signals = dlvsym(handles[i], "pthread_cond_signal", "GLIBC_2.3.2");
        turn = turns = 0;
        pthread_create(&thread, NULL, other, NULL);
        take_turns(0, pthread_cond_wait, pthread_cond_signal);
        pthread_join(thread, NULL);
        printf("turns %d\n", turns);
    }
    const char *names[] = {"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_signal", "pthread_cond_broadcast",
                           "pthread_cond_init", "pthread_cond_destroy"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        Dl_info by_default, newest, oldest;
        dladdr(dlsym(RTLD_DEFAULT, names[i]), &by_default);
        dladdr(dlvsym(RTLD_DEFAULT, names[i], "GLIBC_2.3.2"), &newest);
        dladdr(dlvsym(RTLD_DEFAULT, names[i], "GLIBC_2.2.5"), &oldest);
        printf("%s: %s\n", names[i],
               !strcmp(by_default.dli_fname, newest.dli_fname) && !strcmp(newest.dli_fname, oldest.dli_fname)
                   ? "one library has all versions"
                   : "versions are in several libraries");
    }
    return 0;
}
