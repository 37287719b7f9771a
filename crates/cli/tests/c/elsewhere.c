/* Its lock costs no time. The argument says what does: "sleep", "compute" or "condition". */
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t quiet = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static const char *how;

static void *worker(void *nothing)
{
    struct timespec until;
    pthread_mutex_lock(&quiet);
    if (strcmp(how, "condition") == 0) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        while (pthread_cond_timedwait(&never, &quiet, &until) == 0)
            ;
    }
    pthread_mutex_unlock(&quiet);
    if (strcmp(how, "sleep") == 0)
        usleep(500000);
    if (strcmp(how, "compute") == 0)
        for (volatile long n = 0; n < 200000000; n++)
            ;
    return nothing;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    how = argc > 1 ? argv[1] : "sleep";
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
