/* A planted policy: before a read sleeps it polls for 60 us, whether another thread needs the CPU or not. A gate must
 * detect the loss of throughput that this causes in a program with more runnable threads than CPUs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

ssize_t read(int fd, void *bytes, size_t size)
{
    static ssize_t (*next)(int, void *, size_t);
    struct pollfd one = { fd, POLLIN, 0 };
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "read");
    for (double until = now_us() + 60; poll(&one, 1, 0) == 0 && now_us() < until;)
        __asm__ volatile("pause");
    return next(fd, bytes, size);
}
