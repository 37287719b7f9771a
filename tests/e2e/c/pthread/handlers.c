/* Signal handlers that lock, wherever they interrupt; jumps out of them; stacks other than a thread's own. */
#include "row.h"
#include <setjmp.h>
#include <sys/time.h>
#include <ucontext.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, of_handler = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw_of_handler = PTHREAD_RWLOCK_INITIALIZER;
static sem_t posted;
/* Volatile: the compiler knows that raise calls nothing here. */
static volatile long count, handled, refused;

/* Only one thread takes the signal, and no other thread takes these locks: each is free. */
static void handler(int signal)
{
    int error = errno;
    (void)signal;
    handled = handled + 1;
    refused += pthread_mutex_trylock(&of_handler) != 0 || pthread_mutex_unlock(&of_handler) != 0;
    refused += pthread_rwlock_rdlock(&rw_of_handler) != 0 || pthread_rwlock_unlock(&rw_of_handler) != 0;
    sem_post(&posted);
    errno = error;
}

static void *add(void *unused)
{
    for (long i = 0; i < 5000 || (unused != NULL && handled < 100); i++) {
        MUST(pthread_mutex_lock(&m));
        count = count + (i < 5000);
        MUST(pthread_mutex_unlock(&m));
    }
    return NULL;
}

static void storm(void)
{
    struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
    struct sigaction action = { .sa_handler = handler };
    pthread_t threads[2];
    sigset_t all, before;
    long taken = 0;
    sem_init(&posted, 0, 0);
    sigfillset(&all);
    MUST(pthread_sigmask(SIG_BLOCK, &all, &before));
    for (int i = 0; i < 2; i++)
        MUST(pthread_create(&threads[i], NULL, add, NULL));
    MUST(pthread_sigmask(SIG_SETMASK, &before, NULL));
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    add(&m);
    setitimer(ITIMER_REAL, &never, NULL);
    for (int i = 0; i < 2; i++)
        MUST(pthread_join(threads[i], NULL));
    while (sem_trywait(&posted) == 0)
        taken++;
    line("counted", "%ld", count);
    line("locks refused to the handler", "%ld", refused);
    line("a semaphore for each signal", "%s", taken == handled ? "yes" : "no");
}

/* ---- Jumps. ---- */

static sigjmp_buf back;

static void jump(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

static pthread_t sleeper;
static int tid;

static void *wake_by_signal(void *unused)
{
    await_asleep_tid(&tid);
    MUST(pthread_kill(sleeper, SIGUSR1));
    return unused;
}

/* Out of a wait in the middle of the kernel's part. */
static void out_of_waits(void)
{
    static volatile int i;
    struct sigaction action = { .sa_handler = jump };
    sigaction(SIGUSR1, &action, NULL);
    sleeper = pthread_self();
    for (i = 0; i < 6; i++) {
        pthread_t thread;
        sem_t never;
        pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
        MUST(pthread_mutex_lock(&held));
        sem_init(&never, 0, 0);
        tid = 0;
        MUST(pthread_create(&thread, NULL, wake_by_signal, NULL));
        if (sigsetjmp(back, 1) == 0) {
            __atomic_store_n(&tid, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
            if (i % 2)
                sem_wait(&never);
            else
                pthread_mutex_lock(&held);
            line("not interrupted", "?");
        }
        MUST(pthread_join(thread, NULL));
        ROW("lock after a jump", pthread_mutex_lock(&m));
        ROW("unlock after a jump", pthread_mutex_unlock(&m));
    }
}

/* ---- Stacks. ---- */

static ucontext_t outside, inside;

static void on_a_stack(void)
{
    MUST(pthread_mutex_lock(&m));
    count = count + 1;
    MUST(pthread_mutex_unlock(&m));
    swapcontext(&inside, &outside);
}

/* A stack of `size` whose end is the end of what may be touched. */
static void coroutine(size_t size)
{
    char *place = mmap(NULL, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST_SYS(place == MAP_FAILED ? -1 : 0);
    MUST_SYS(mprotect(place + 4096, size, PROT_READ | PROT_WRITE));
    MUST_SYS(getcontext(&inside));
    inside.uc_stack.ss_sp = place + 4096;
    inside.uc_stack.ss_size = size;
    inside.uc_link = NULL;
    makecontext(&inside, on_a_stack, 0);
    swapcontext(&outside, &inside);
    munmap(place, size + 8192);
}

static void handler_elsewhere(int signal)
{
    (void)signal;
    MUST(pthread_mutex_lock(&of_handler));
    handled = handled + 1;
    MUST(pthread_mutex_unlock(&of_handler));
}

static void alternative_stack(void)
{
    size_t size = (size_t)sysconf(_SC_SIGSTKSZ);
    stack_t stack = { .ss_sp = malloc(size), .ss_size = size };
    struct sigaction action = { .sa_handler = handler_elsewhere, .sa_flags = SA_ONSTACK };
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR2, &action, NULL);
    handled = 0;
    for (int i = 0; i < 100; i++)
        raise(SIGUSR2);
    line("locks on the signal stack", "%ld", handled);
}

static void *on_stacks(void *unused)
{
    count = 0;
    for (int i = 0; i < 100; i++)
        coroutine(i % 2 ? 16384 : 65536);
    line("locks of coroutines", "%ld", count);
    alternative_stack();
    return unused;
}

int main(void)
{
    storm();
    out_of_waits();
    on_stacks(NULL);
    crowd(1, on_stacks, NULL);
    return 0;
}
