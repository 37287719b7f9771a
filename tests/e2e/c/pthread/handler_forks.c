/* A signal handler forks while the thread is in a call on a lock: the child returns into the call, and ends normally. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN = 100 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static volatile sig_atomic_t is_child, forks, is_held;

static void timer(long us, long again)
{
    struct itimerval value = { { 0, again }, { 0, us } };
    setitimer(ITIMER_REAL, &value, NULL);
}

/* The child has a timer of its own: on a busy machine the signal may come before the call that it shall interrupt. */
static void fork_here(int number)
{
    (void)number;
    int before = errno;
    if (!is_child) {
        if (fork() == 0) {
            is_child = 1;
            timer(100000, 100000);
        } else
            forks++;
    }
    errno = before;
}

/* The number of children that did not end normally. */
static int failed(void)
{
    int count = 0, status;
    timer(0, 0);
    /* The signal came after the call. */
    if (is_child)
        _exit(0);
    for (int left = forks; left > 0;) {
        if (wait(&status) < 0)
            continue;
        left--;
        count += status != 0;
    }
    forks = 0;
    return count;
}

static void *hold(void *unused)
{
    pthread_mutex_lock(&mutex);
    is_held = 1;
    while (forks == 0)
        usleep(1000);
    usleep(50000);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void)
{
    struct sigaction action = { .sa_handler = fork_here };
    sigaction(SIGALRM, &action, NULL);
    sem_init(&semaphore, 0, 0);

    timer(2000, 2000);
    for (int since = 0; forks < CHILDREN;) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_rdlock(&lock);
        pthread_rwlock_unlock(&lock);
        if (is_child && ++since > 200)
            _exit(0);
    }
    printf("locks: %d children failed\n", failed());

    timer(100000, 100000);
    int result = sem_wait(&semaphore);
    if (is_child)
        _exit(!(result == -1 && errno == EINTR));
    printf("semaphore: %d, %d children failed\n", result, failed());

    pthread_t holder;
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    pthread_create(&holder, NULL, hold, NULL);
    while (!is_held)
        usleep(1000);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    timer(50000, 0);
    /* The child cannot get the mutex, which a thread of its parent holds. The parent gets it, sooner or later. */
    do {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        result = pthread_mutex_timedlock(&mutex, &until);
    } while (!is_child && result == ETIMEDOUT);
    if (is_child)
        _exit(result != ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
    pthread_join(holder, NULL);
    printf("mutex: %d, %d children failed\n", result, failed());
    return 0;
}
