/* Takes the functions that its arguments name from a handle of libc, and uses a mutex. An argument may name a version: NAME@VERSION. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int main(int argc, char **argv)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    for (int i = 1; i < argc; i++) {
        char *name = strsep(&argv[i], "@");
        if ((argv[i] == NULL ? dlsym(libc, name) : dlvsym(libc, name, argv[i])) == NULL)
            return 1;
    }
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return 7;
}
