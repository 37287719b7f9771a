/* A program of which another build takes the place while it is metered. -DPAD moves its code, -DNAME=… renames it. */
#include <pthread.h>

static pthread_mutex_t NAME = PTHREAD_MUTEX_INITIALIZER;

#ifdef PAD
__attribute__((noinline, used)) int padding(void)
{
    return pthread_mutex_trylock(&NAME);
}
#endif

int main(void)
{
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&NAME);
        pthread_mutex_unlock(&NAME);
    }
    return 7;
}
