/* One thread that holds a lock, and meanwhile takes and releases another one as often as it is told. Then it takes the first one
 * once more as often as it is told. It prints the addresses of both. */
#include "row.h"

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;

int main(int argc, char **argv)
{
    long pairs = argc > 1 ? atol(argv[1]) : 1, more = argc > 2 ? atol(argv[2]) : 0;

    MUST(pthread_mutex_lock(&outer));
    for (long i = 0; i < pairs; i++) {
        MUST(pthread_mutex_lock(&inner));
        MUST(pthread_mutex_unlock(&inner));
    }
    MUST(pthread_mutex_unlock(&outer));
    for (long i = 0; i < more; i++) {
        MUST(pthread_mutex_lock(&outer));
        MUST(pthread_mutex_unlock(&outer));
    }
    printf("%p %p\n", (void *)&outer, (void *)&inner);
    return 0;
}
