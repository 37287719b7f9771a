/* Two threads contend for a lock. The main thread uses it once, and then waits for their end. They end some time after it sleeps in
 * that wait: long beside the time from the start of the process to then, however busy the machine is. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_joining;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

/* Stores when the process has started, and returns whether the main thread sleeps: proc_pid_stat(5), fields 22 and 3. */
static int main_sleeps(double *started)
{
    char text[1024], state = 0;
    unsigned long long ticks = 0;
    int file = open("/proc/self/stat", O_RDONLY);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length < 0 ? 0 : length] = 0;
    const char *behind_name = strrchr(text, ')');
    if (behind_name == NULL
        || sscanf(behind_name, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &state, &ticks) != 2)
        return 0;
    *started = (double)ticks / sysconf(_SC_CLK_TCK);
    return state == 'S';
}

static void *worker(void *nothing)
{
    double end = 0, started;
    while (end == 0 || seconds() < end) {
        if (end == 0 && __atomic_load_n(&is_joining, __ATOMIC_SEQ_CST) && main_sleeps(&started))
            end = seconds() + 0.4 + 4 * (seconds() - started);
        pthread_mutex_lock(&lock);
        for (volatile int i = 0; i < 1000; i++)
            ;
        pthread_mutex_unlock(&lock);
    }
    return nothing;
}

int main(void)
{
    pthread_t workers[2];
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], NULL, worker, NULL);
    __atomic_store_n(&is_joining, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
}
