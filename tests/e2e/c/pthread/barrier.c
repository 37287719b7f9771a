/* Barriers: no thread passes before all have arrived, and one thread of each round is the serial thread. */
#include "row.h"

enum { THREADS = 5, ROUNDS = 300 };

static pthread_barrier_t barrier;
static int arrived[ROUNDS], serial[ROUNDS], early, others;

static void *rounds(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        __atomic_add_fetch(&arrived[i], 1, __ATOMIC_SEQ_CST);
        errno = UNTOUCHED;
        int result = pthread_barrier_wait(&barrier);
        if (__atomic_load_n(&arrived[i], __ATOMIC_SEQ_CST) != THREADS)
            __atomic_add_fetch(&early, 1, __ATOMIC_SEQ_CST);
        if (result == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_add_fetch(&serial[i], 1, __ATOMIC_SEQ_CST);
        else if (result != 0 || errno != UNTOUCHED)
            __atomic_add_fetch(&others, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static void all(const char *row)
{
    int once = 0;
    crowd(THREADS, rounds, NULL);
    for (int i = 0; i < ROUNDS; i++)
        once += serial[i] == 1;
    line(row, "%d rounds with one serial thread, %d early, %d other answers", once, early, others);
    memset(arrived, 0, sizeof arrived);
    memset(serial, 0, sizeof serial);
}

int main(void)
{
    ROW("init for none", pthread_barrier_init(&barrier, NULL, 0));
    ROW("init for one", pthread_barrier_init(&barrier, NULL, 1));
    for (int i = 0; i < 3; i++)
        line("alone", "%s", pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD ? "serial" : "not");
    ROW("destroy", pthread_barrier_destroy(&barrier));
    ROW("init for five", pthread_barrier_init(&barrier, NULL, THREADS));
    all("five");
    ROW("destroy", pthread_barrier_destroy(&barrier));
    ROW("init again", pthread_barrier_init(&barrier, NULL, THREADS));
    all("five again");

    pthread_barrierattr_t attr;
    pthread_barrier_t *shared = shared_page();
    MUST(pthread_barrierattr_init(&attr));
    MUST(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    ROW("init shared", pthread_barrier_init(shared, &attr, 2));
    fflush(stdout);
    int serials = 0, status = 0;
    pid_t child = (pid_t)MUST_SYS(fork());
    for (int i = 0; i < 50; i++)
        serials += pthread_barrier_wait(shared) == PTHREAD_BARRIER_SERIAL_THREAD;
    if (child == 0)
        _exit(serials);
    MUST_SYS(waitpid(child, &status, 0));
    line("serial in both processes", "%d", serials + WEXITSTATUS(status));
    ROW("destroy shared", pthread_barrier_destroy(shared));
    return 0;
}
