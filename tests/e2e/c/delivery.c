/* How handlers are called: arguments, mask, stack, one shot, and what waits for signals without any. */
#include "check.h"
#include <pthread.h>
#include <sys/signalfd.h>
#include <ucontext.h>

static int calls, depth, deepest;
static siginfo_t last;
static unsigned long mask_inside, mask_outside;
static int on_stack;
static char alternate[65536];

static unsigned long mask_now(void)
{
    sigset_t set;
    unsigned long word;
    sigprocmask(SIG_SETMASK, NULL, &set);
    memcpy(&word, &set, sizeof word);
    return word;
}

static void handler(int signal, siginfo_t *info, void *context)
{
    calls++;
    if (++depth > deepest)
        deepest = depth;
    last = *info;
    mask_inside = mask_now();
    memcpy(&mask_outside, &((ucontext_t *)context)->uc_sigmask, sizeof mask_outside);
    on_stack = (char *)&signal > alternate && (char *)&signal < alternate + sizeof alternate;
    if (calls < 3 && info->si_code == SI_USER)
        raise(signal);
    depth--;
}

static void plain(int signal)
{
    calls += signal == SIGUSR1 ? 1 : 1000;
}

static void set(int signal, int flags, unsigned long mask)
{
    struct sigaction action = { .sa_flags = flags };
    if (flags & SA_SIGINFO)
        action.sa_sigaction = handler;
    else
        action.sa_handler = plain;
    memcpy(&action.sa_mask, &mask, sizeof mask);
    MUST(sigaction(signal, &action, NULL));
    calls = depth = deepest = 0;
}

static void rows(const char *row)
{
    line(row, "calls %d deepest %d inside %#lx outside %#lx on alternate stack %d", calls, deepest, mask_inside,
         mask_outside, on_stack);
}

static void masks(void)
{
    set(SIGUSR1, SA_SIGINFO, 0);
    kill(getpid(), SIGUSR1);
    rows("no flags");
    set(SIGUSR1, SA_SIGINFO, 0xf00);
    kill(getpid(), SIGUSR1);
    rows("with a mask");
    set(SIGUSR1, SA_SIGINFO | SA_NODEFER, 0);
    kill(getpid(), SIGUSR1);
    rows("SA_NODEFER");
    stack_t stack = { .ss_sp = alternate, .ss_size = sizeof alternate };
    MUST(sigaltstack(&stack, NULL));
    set(SIGUSR1, SA_SIGINFO | SA_ONSTACK, 0);
    kill(getpid(), SIGUSR1);
    rows("SA_ONSTACK");
    set(SIGUSR1, SA_SIGINFO, 0);
    kill(getpid(), SIGUSR1);
    rows("an alternate stack, not asked for");
    stack.ss_flags = SS_DISABLE;
    MUST(sigaltstack(&stack, NULL));
    line("the mask outside is restored", "%#lx", mask_now());
    errno = 12345;
    kill(getpid(), SIGUSR1);
    line("errno survives", "%d", errno);
}

static void arguments(void)
{
    set(SIGUSR1, 0, 0);
    kill(getpid(), SIGUSR1);
    line("one argument", "%d", calls);
    set(SIGRTMIN + 1, SA_SIGINFO, 0);
    sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ .sival_int = 4711 });
    line("queued", "signal %d code %d value %d from self %d", last.si_signo - SIGRTMIN, last.si_code,
         last.si_value.sival_int, last.si_pid == getpid());
    /* Real-time signals keep their order and none is lost. */
    sigset_t block;
    sigemptyset(&block);
    sigaddset(&block, SIGRTMIN + 1);
    sigprocmask(SIG_BLOCK, &block, NULL);
    for (int i = 0; i < 20; i++)
        sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ .sival_int = i });
    calls = 0;
    sigprocmask(SIG_UNBLOCK, &block, NULL);
    line("twenty queued", "calls %d last %d", calls, last.si_value.sival_int);
}

static void one_shot(void)
{
    struct sigaction now;
    set(SIGUSR1, (int)SA_RESETHAND, 0);
    kill(getpid(), SIGUSR1);
    MUST(sigaction(SIGUSR1, NULL, &now));
    line("one shot", "calls %d then %s flags %#x", calls, now.sa_handler == SIG_DFL ? "SIG_DFL" : "a handler",
         (unsigned)now.sa_flags);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        set(SIGUSR1, (int)SA_RESETHAND, 0);
        raise(SIGUSR1);
        raise(SIGUSR1);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    line("the second shot kills", "%d", WIFSIGNALED(status) ? WTERMSIG(status) : -1);
}

static void faults(void);
static sigjmp_buf back;
static siginfo_t fault;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    fault = *info;
    siglongjmp(back, 1);
}

static void skip_load(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    fault = *info;
    /* mov (%rax),%al is two bytes. */
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static void faults(void)
{
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction action = { .sa_flags = SA_SIGINFO }, now;
    action.sa_sigaction = on_fault;
    MUST(sigaction(SIGSEGV, &action, NULL));
    MUST(sigaction(SIGFPE, &action, NULL));
    MUST(sigaction(SIGILL, &action, NULL));
    for (int i = 0; i < 3; i++)
        if (sigsetjmp(back, 1) == 0)
            *(volatile char *)page = 1;
        else
            line("write to read-only memory", "code %d at it %d", fault.si_code, fault.si_addr == page);
    if (sigsetjmp(back, 1) == 0)
        *(volatile char *)8 = 1;
    else
        line("write to nowhere", "code %d address %p", fault.si_code, fault.si_addr);
    if (sigsetjmp(back, 1) == 0) {
        volatile int zero = 0;
        line("division", "%d", 1 / zero);
    } else
        line("division", "code %d", fault.si_code);
    if (sigsetjmp(back, 1) == 0)
        __asm__ volatile("ud2");
    else
        line("illegal instruction", "code %d", fault.si_code);
    if (sigsetjmp(back, 1) == 0)
        kill(getpid(), SIGSEGV);
    else
        line("SIGSEGV from kill", "code %d from self %d", fault.si_code, fault.si_pid == getpid());
    action.sa_sigaction = skip_load;
    action.sa_flags = (int)(SA_SIGINFO | SA_RESETHAND);
    MUST(sigaction(SIGSEGV, &action, NULL));
    __asm__ volatile("mov $8, %%eax; .byte 0x8a, 0x00" ::: "rax", "memory");
    line("a handler that steps over", "code %d", fault.si_code);
    MUST(sigaction(SIGSEGV, NULL, &now));
    line("one shot", "%s flags %#x", now.sa_handler == SIG_DFL ? "SIG_DFL" : "a handler", (unsigned)now.sa_flags);
    /* Our own reads of bad pointers must go on working. */
    int id = new_set(1);
    ROW("bad pointer after the shot", semop(id, (void *)16, 1));
    MUST(sigaction(SIGSEGV, &action, NULL));
    ROW("bad pointer with a one-shot handler", semop(id, (void *)16, 1));
    fault.si_code = 0;
    __asm__ volatile("mov $8, %%eax; .byte 0x8a, 0x00" ::: "rax", "memory");
    line("which still has its shot", "code %d", fault.si_code);
    remove_set(id);
}

static void without_handler(void)
{
    sigset_t set_;
    siginfo_t info;
    struct timespec zero = { 0, 0 };
    int number;
    sigemptyset(&set_);
    sigaddset(&set_, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set_, NULL);
    kill(getpid(), SIGUSR2);
    ROW("sigwait", sigwait(&set_, &number));
    line("waited for", "%d", number == SIGUSR2);
    kill(getpid(), SIGUSR2);
    ROW("sigtimedwait", sigtimedwait(&set_, &info, &zero) == SIGUSR2);
    ROW("sigtimedwait, none", sigtimedwait(&set_, &info, &zero));
    int fd = signalfd(-1, &set_, SFD_NONBLOCK);
    struct signalfd_siginfo read_;
    kill(getpid(), SIGUSR2);
    ROW("signalfd", read(fd, &read_, sizeof read_) == sizeof read_ && read_.ssi_signo == SIGUSR2);
    close(fd);
    set(SIGUSR2, SA_SIGINFO, 0);
    kill(getpid(), SIGUSR2);
    sigset_t none;
    sigemptyset(&none);
    ROW("sigsuspend", sigsuspend(&none));
    line("ran", "%d", calls > 0);
    ROW("ppoll times out", ppoll(NULL, 0, &zero, &none));
}

static void restarting(void)
{
    int ends[2];
    char byte;
    MUST(pipe(ends));
    set(SIGALRM, 0, 0);
    signal_when_asleep(SIGALRM);
    ROW("read, interrupted", read(ends[0], &byte, 1));
    set(SIGALRM, SA_RESTART, 0);
    fflush(stdout);
    pid_t reader = getpid(), child = fork();
    if (child == 0) {
        await_asleep(reader);
        kill(reader, SIGALRM);
        /* The signal has woken it, so it sleeps again only after the handler. */
        await_asleep(reader);
        MUST(write(ends[1], "x", 1));
        _exit(0);
    }
    ROW("read, restarted", read(ends[0], &byte, 1));
    line("the handler ran", "%d", calls > 0);
    waitpid(child, NULL, 0);
}

static void *raiser(void *main)
{
    for (int i = 0; i < 200; i++)
        pthread_kill(*(pthread_t *)main, SIGUSR1);
    return NULL;
}

static void from_threads(void)
{
    pthread_t me = pthread_self(), threads[3];
    set(SIGUSR1, SA_RESTART, 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, raiser, &me);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    line("signals from threads arrived", "%d", calls > 0 && calls <= 600);
}

int main(void)
{
    masks();
    arguments();
    one_shot();
    faults();
    without_handler();
    restarting();
    from_threads();
    return 0;
}
