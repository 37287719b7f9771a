/* Semaphores, barriers, conditions and words in shared memory, between this process and another one that runs the same
 * program without the library, with it, or as a child of fork. The first argument is the other's descriptor of the memory. */
#include "table.h"

enum { ROUNDS = 400 };

struct board {
    sem_t there, back;
    pthread_barrier_t barrier;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int turn, word, in_order;
};

static void pass_by_semaphore(struct board *b, int side)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (side == 0)
            MUST_SYS(sem_post(&b->there));
        MUST_SYS(sem_wait(side == 0 ? &b->back : &b->there));
        if (side == 1)
            MUST_SYS(sem_post(&b->back));
    }
}

static void meet(struct board *b)
{
    for (int i = 0; i < ROUNDS; i++)
        if (pthread_barrier_wait(&b->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            b->in_order++;
}

static void pass_by_condition(struct board *b, int side)
{
    for (int i = 0; i < ROUNDS; i++) {
        MUST(pthread_mutex_lock(&b->mutex));
        while (b->turn % 2 != side)
            MUST(pthread_cond_wait(&b->changed, &b->mutex));
        b->turn++;
        MUST(pthread_cond_signal(&b->changed));
        MUST(pthread_mutex_unlock(&b->mutex));
    }
}

static void pass_by_word(struct board *b, int side)
{
    for (int i = 0; i < ROUNDS; i++) {
        int now;
        while ((now = __atomic_load_n(&b->word, __ATOMIC_SEQ_CST)) % 2 != side)
            syscall(SYS_futex, &b->word, FUTEX_WAIT, now, NULL, NULL, 0);
        __atomic_add_fetch(&b->word, 1, __ATOMIC_SEQ_CST);
        MUST_SYS(syscall(SYS_futex, &b->word, FUTEX_WAKE, 1, NULL, NULL, 0));
    }
}

static void take_side(struct board *b, int side)
{
    pass_by_semaphore(b, side);
    meet(b);
    pass_by_condition(b, side);
    pass_by_word(b, side);
}

static struct board *map(int fd)
{
    void *at = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST_SYS(at == MAP_FAILED ? -1 : 0);
    return (struct board *)at;
}

static int new_board(void)
{
    pthread_barrierattr_t barrier;
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    int fd = (int)MUST_SYS(memfd_create("board", 0));
    MUST_SYS(ftruncate(fd, sizeof(struct board)));
    struct board *b = map(fd);
    MUST_SYS(sem_init(&b->there, 1, 0));
    MUST_SYS(sem_init(&b->back, 1, 0));
    MUST(pthread_barrierattr_init(&barrier));
    MUST(pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED));
    MUST(pthread_barrier_init(&b->barrier, &barrier, 2));
    MUST(pthread_mutexattr_init(&mutex));
    MUST(pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED));
    MUST(pthread_mutex_init(&b->mutex, &mutex));
    MUST(pthread_condattr_init(&condition));
    MUST(pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED));
    MUST(pthread_cond_init(&b->changed, &condition));
    return fd;
}

enum other { FORKED, WITH_LIBRARY, WITHOUT_LIBRARY };

static void with(const char *row, enum other other)
{
    int fd = new_board();
    struct board *b = map(fd);
    fflush(stdout);
    pid_t child = (pid_t)MUST_SYS(fork());
    if (child == 0) {
        char number[16];
        if (other == FORKED) {
            take_side(b, 1);
            _exit(0);
        }
        snprintf(number, sizeof number, "%d", fd);
        if (other == WITHOUT_LIBRARY)
            unsetenv("LD_PRELOAD");
        execl("/proc/self/exe", "shared", number, NULL);
        _exit(98);
    }
    take_side(b, 0);
    row_child(row, child);
    line(row, "barrier %d, turns %d, word %d", b->in_order, b->turn, b->word);
    close(fd);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        take_side(map(atoi(argv[1])), 1);
        return 0;
    }
    with("child of fork", FORKED);
    with("another program, as this one", WITH_LIBRARY);
    with("another program, without the library", WITHOUT_LIBRARY);
    return 0;
}
