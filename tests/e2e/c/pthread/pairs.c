/* One thread that holds a lock, and meanwhile takes and releases another one as often as it is told; prints their addresses. */
#include "row.h"

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;

int main(int argc, char **argv)
{
    long pairs = argc > 1 ? atol(argv[1]) : 1;

    MUST(pthread_mutex_lock(&outer));
    for (long i = 0; i < pairs; i++) {
        MUST(pthread_mutex_lock(&inner));
        MUST(pthread_mutex_unlock(&inner));
    }
    MUST(pthread_mutex_unlock(&outer));
    printf("%p %p\n", (void *)&outer, (void *)&inner);
    return 0;
}
