/* Barriers: exactly one serial thread each time, used again at once, destroyed right after the wait, shared by processes. */
#include "table.h"

static pthread_barrier_t barrier;
static int serial, answers, present, early;
static unsigned parties, rounds;

static void *take_part(void *nothing)
{
    for (unsigned i = 1; i <= rounds; i++) {
        __atomic_add_fetch(&present, 1, __ATOMIC_SEQ_CST);
        int answer = pthread_barrier_wait(&barrier);
        __atomic_add_fetch(answer == PTHREAD_BARRIER_SERIAL_THREAD ? &serial : &answers, 1, __ATOMIC_SEQ_CST);
        if (answer != 0 && answer != PTHREAD_BARRIER_SERIAL_THREAD)
            line("an answer", "%s", name_of(answer));
        /* All of this round have come. */
        if ((unsigned)__atomic_load_n(&present, __ATOMIC_SEQ_CST) < i * parties)
            __atomic_add_fetch(&early, 1, __ATOMIC_SEQ_CST);
    }
    return nothing;
}

static void again_and_again(unsigned threads, unsigned times)
{
    char row[32];
    serial = answers = present = early = 0;
    parties = threads;
    rounds = times;
    MUST(pthread_barrier_init(&barrier, NULL, threads));
    crowd((int)threads, take_part, NULL);
    ROW("destroy", pthread_barrier_destroy(&barrier));
    snprintf(row, sizeof row, "%u threads", threads);
    line(row, "serial %d, others %d, too early %d", serial, answers, early);
}

/* The serial thread destroys the barrier and unmaps its memory while the others are on their way out. */
static void *destroy_at_once(void *argument)
{
    pthread_barrier_t *b = (pthread_barrier_t *)argument;
    if (pthread_barrier_wait(b) == PTHREAD_BARRIER_SERIAL_THREAD) {
        MUST(pthread_barrier_destroy(b));
        MUST_SYS(munmap(b, 4096));
        __atomic_add_fetch(&serial, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static void destroyed(unsigned threads)
{
    serial = 0;
    for (int i = 0; i < 300; i++) {
        pthread_barrier_t *b = (pthread_barrier_t *)shared_page();
        MUST(pthread_barrier_init(b, NULL, threads));
        crowd((int)threads, destroy_at_once, b);
    }
    line("destroyed by the serial thread", "%d of 300", serial);
}

static void between_processes(void)
{
    struct place_of_all {
        pthread_barrier_t barrier;
        int serial;
    } *all = (struct place_of_all *)shared_page();
    pthread_barrierattr_t attribute;
    pid_t children[3];
    MUST(pthread_barrierattr_init(&attribute));
    MUST(pthread_barrierattr_setpshared(&attribute, PTHREAD_PROCESS_SHARED));
    MUST(pthread_barrier_init(&all->barrier, &attribute, 3));
    for (int i = 0; i < 3; i++) {
        children[i] = (pid_t)MUST_SYS(fork());
        if (children[i] == 0) {
            for (int n = 0; n < 300; n++)
                if (pthread_barrier_wait(&all->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
                    __atomic_add_fetch(&all->serial, 1, __ATOMIC_SEQ_CST);
            _exit(0);
        }
    }
    for (int i = 0; i < 3; i++)
        row_child("a process", children[i]);
    line("processes", "serial %d", all->serial);
}

int main(void)
{
    again_and_again(1, 100);
    again_and_again(2, 1000);
    again_and_again(3, 1000);
    again_and_again(8, 200);
    destroyed(2);
    destroyed(4);
    between_processes();
    return 0;
}
