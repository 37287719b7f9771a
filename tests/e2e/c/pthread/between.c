/* Code that bypasses the hooks appears while a thread has released its mutex, but is not yet in libc's wait for a process-shared
   condition. Then the condition is signalled: by a function of this program, or by libc's (the argument is "bypassing"). A
   breakpoint at libc's function stops the thread there until that has happened, or for a while: the call may wait for the
   thread. */
#define _GNU_SOURCE
#include "libcs_own.h"
#include "row.h"
#include <ucontext.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition;
static int is_ready, is_stopped, is_done;
static unsigned char *code, first;

/* Without effect where a breakpoint is another instruction: then the thread is not stopped. */
static void set_code(unsigned char instruction)
{
    unsigned char *page = (unsigned char *)((uintptr_t)code & ~(uintptr_t)4095);
    MUST_SYS(mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC));
    __atomic_store_n(code, instruction, __ATOMIC_SEQ_CST);
    MUST_SYS(mprotect(page, 8192, PROT_READ | PROT_EXEC));
}

static void stop(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    __atomic_store_n(&is_stopped, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 60 && !__atomic_load_n(&is_done, __ATOMIC_SEQ_CST); i++)
        usleep(1000);
    set_code(first);
#ifdef __x86_64__
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]--;
#endif
}

static void *waits(void *unused)
{
    MUST(pthread_mutex_lock(&mutex));
    while (!is_ready)
        MUST(pthread_cond_wait(&condition, &mutex));
    MUST(pthread_mutex_unlock(&mutex));
    return unused;
}

int main(int argc, char **argv)
{
    int (*lock)(pthread_mutex_t *) = pthread_mutex_lock, (*unlock)(pthread_mutex_t *) = pthread_mutex_unlock;
    int (*signals)(pthread_cond_t *) = pthread_cond_signal;
    if (argc > 1 && strcmp(argv[1], "bypassing") == 0) {
        lock = (int (*)(pthread_mutex_t *))libcs_own("pthread_mutex_lock");
        unlock = (int (*)(pthread_mutex_t *))libcs_own("pthread_mutex_unlock");
        signals = (int (*)(pthread_cond_t *))libcs_own("pthread_cond_signal");
    }
    pthread_condattr_t attributes;
    MUST(pthread_condattr_init(&attributes));
    MUST(pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED));
    MUST(pthread_cond_init(&condition, &attributes));
    /* A first use of each function, so that the linker need not find it later. */
    MUST(pthread_mutex_lock(&mutex));
    MUST(pthread_mutex_unlock(&mutex));
    struct sigaction action = {.sa_sigaction = stop, .sa_flags = SA_SIGINFO};
    MUST_SYS(sigaction(SIGTRAP, &action, NULL));
    code = libcs_own("pthread_cond_wait");
    first = *code;
#ifdef __x86_64__
    set_code(0xcc);
#else
    is_stopped = 1;
#endif
    pthread_t waiter;
    MUST(pthread_create(&waiter, NULL, waits, NULL));
    await_value(&is_stopped, 1);
    if (dlopen("libm.so.6", RTLD_NOW | RTLD_DEEPBIND) == NULL)
        return 1;
    MUST(lock(&mutex));
    is_ready = 1;
    MUST(unlock(&mutex));
    MUST(signals(&condition));
    __atomic_store_n(&is_done, 1, __ATOMIC_SEQ_CST);
    alarm(20);
    MUST(pthread_join(waiter, NULL));
    printf("woken\n");
    return 0;
}
