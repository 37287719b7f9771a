/* One thread that takes two locks in turn, ten thousand times; prints their addresses. */
#include "row.h"

static pthread_mutex_t locks[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };

int main(void)
{
    for (int i = 0; i < 20000; i++) {
        MUST(pthread_mutex_lock(&locks[i % 2]));
        MUST(pthread_mutex_unlock(&locks[i % 2]));
    }
    printf("%p %p\n", (void *)&locks[0], (void *)&locks[1]);
    return 0;
}
