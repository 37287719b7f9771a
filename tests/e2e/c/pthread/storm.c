/* Threads that lock as fast as they can, each counting what it has done in a file, until the process dies in the middle of it.
 * Arguments: the file, and how to die. The file: the address of the lock, then a counter for each thread. */
#include "row.h"
#include <sys/resource.h>

enum { THREADS = 3, ENOUGH = 20000 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static uint64_t *page;

/* The counter is behind the unlock: what it says is done. */
static void *lock_on(void *counter)
{
    for (;;) {
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
        __atomic_add_fetch((uint64_t *)counter, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static uint64_t done(void)
{
    uint64_t sum = 0;
    for (int i = 1; i <= THREADS; i++)
        sum += __atomic_load_n(&page[i], __ATOMIC_SEQ_CST);
    return sum;
}

static void die(const char *how)
{
    static volatile int *nowhere;
    if (strcmp(how, "_exit") == 0)
        _exit(0);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "crash") == 0)
        *nowhere = 1;
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "exec") == 0)
        execl("/bin/true", "true", (char *)NULL);
}

int main(int argc, char **argv)
{
    const struct rlimit none = { 0, 0 };
    pthread_t thread;
    if (argc < 3)
        return 98;
    setrlimit(RLIMIT_CORE, &none);
    int fd = (int)MUST_SYS(open(argv[1], O_RDWR | O_CREAT, 0600));
    MUST_SYS(ftruncate(fd, 4096));
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST_SYS(page == MAP_FAILED ? -1 : 0);
    page[0] = (uint64_t)(uintptr_t)&m;
    for (int i = 1; i <= THREADS; i++)
        MUST(pthread_create(&thread, NULL, lock_on, &page[i]));
    while (done() < ENOUGH)
        sched_yield();
    /* With the lock in hand, and the others asleep before it or not yet there: one more call than is counted. */
    if (argc > 3)
        MUST(pthread_mutex_lock(&m));
    die(argv[2]);
    return 97;
}
