/* Maps files from their beginnings that cannot be read there, closes a library, takes a lock, and waits in poll for another thread, a
   thousand times. Ends with 7. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TURNS = 1000 };
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static int there[2], back[2];

static void await(int fd)
{
    struct pollfd asked = { fd, POLLIN, 0 };
    char byte;
    if (poll(&asked, 1, -1) != 1 || read(fd, &byte, 1) != 1)
        abort();
}

static void *answer(void *nothing)
{
    for (int turn = 0; turn < TURNS; turn++) {
        await(there[0]);
        if (write(back[1], "", 1) != 1)
            abort();
    }
    return nothing;
}

static int map_unreadable(int protection, int length)
{
    char path[] = "/tmp/odd_maps.XXXXXX";
    int file = mkstemp(path);
    if (file < 0 || unlink(path) != 0 || ftruncate(file, 4096) != 0)
        return 0;
    return mmap(NULL, 4096, protection, MAP_SHARED, file, 0) != MAP_FAILED && ftruncate(file, length) == 0;
}

int main(void)
{
    pthread_t thread;
    if (!map_unreadable(PROT_NONE, 4096) || !map_unreadable(PROT_READ, 0))
        return 2;
    void *library = dlopen("libresolv.so.2", RTLD_NOW);
    if (library == NULL || dlclose(library) != 0 || pipe(there) != 0 || pipe(back) != 0)
        return 3;
    pthread_mutex_lock(&cache_lock);
    pthread_mutex_unlock(&cache_lock);
    pthread_create(&thread, NULL, answer, NULL);
    for (int turn = 0; turn < TURNS; turn++) {
        if (write(there[1], "", 1) != 1)
            abort();
        await(back[0]);
    }
    pthread_join(thread, NULL);
    return 7;
}
