/* Twenty threads, one after another, each of which waits at the same place; and main, which joins them. */
#include <poll.h>
#include <pthread.h>
#include <stddef.h>

static void *wait_once(void *unused)
{
    poll(NULL, 0, 1);
    return unused;
}

int main(void)
{
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, wait_once, NULL) != 0 || pthread_join(thread, NULL) != 0)
            return 1;
    }
    return 7;
}
