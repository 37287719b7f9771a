/* With -DOTHER a library, otherwise a program that is linked with it. Both have static locks and initialising functions of
   the same names. */
#include <pthread.h>
#include <stdlib.h>

#ifdef OTHER
#define RUN other_run
#else
#define RUN main
int other_run(void);
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static long counter;

int RUN(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&shared_lock);
    counter++;
    pthread_mutex_unlock(&shared_lock);
    pthread_mutex_unlock(&lock);
#ifdef OTHER
    return (int)counter - 1;
#else
    return other_run();
#endif
}
