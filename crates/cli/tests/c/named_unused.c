/* A mutex that the program names and uses only with an argument, and one that it always uses. */
#include <pthread.h>

static pthread_mutex_t used = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t unused = PTHREAD_MUTEX_INITIALIZER;

int main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&used);
        pthread_mutex_unlock(&used);
    }
    if (argc > 1) {
        pthread_mutex_lock(&unused);
        pthread_mutex_unlock(&unused);
    }
    return 0;
}
