/* The disposition that a program sets for a signal is the one that it reads afterwards. */
#include "check.h"

extern __sighandler_t bsd_signal(int, __sighandler_t);
extern __sighandler_t sysv_signal(int, __sighandler_t);
extern __sighandler_t ssignal(int, __sighandler_t);

static void one(int signal) { (void)signal; }
static void two(int signal) { (void)signal; }
static void three(int signal, siginfo_t *info, void *context) { (void)signal, (void)info, (void)context; }

static const char *name_of(void *handler)
{
    return handler == (void *)SIG_DFL   ? "SIG_DFL"
           : handler == (void *)SIG_IGN ? "SIG_IGN"
           : handler == (void *)SIG_ERR ? "SIG_ERR"
           : handler == (void *)SIG_HOLD ? "SIG_HOLD"
           : handler == (void *)one     ? "one"
           : handler == (void *)two     ? "two"
           : handler == (void *)three   ? "three"
                                        : "unknown";
}

static void show(const char *row, const struct sigaction *action)
{
    unsigned long mask;
    memcpy(&mask, &action->sa_mask, sizeof mask);
    line(row, "%s flags %#x mask %#lx restorer %d", name_of((void *)action->sa_handler), (unsigned)action->sa_flags,
         mask, action->sa_restorer != NULL);
}

static void ask(const char *row, int signal)
{
    struct sigaction action;
    memset(&action, 0xff, sizeof action);
    if (sigaction(signal, NULL, &action) == -1)
        line(row, "-1 %s", errno_name(errno));
    else
        show(row, &action);
}

static void swap(const char *row, int signal, void *handler, int flags, unsigned long mask)
{
    struct sigaction new = { .sa_flags = flags }, old;
    new.sa_handler = (__sighandler_t)handler;
    memcpy(&new.sa_mask, &mask, sizeof mask);
    memset(&old, 0xff, sizeof old);
    if (sigaction(signal, &new, &old) == -1)
        line(row, "-1 %s", errno_name(errno));
    else
        show(row, &old);
}

static void by_sigaction(int signal)
{
    line("---- signal", "%d", signal);
    ask("at first", signal);
    swap("one, no flags", signal, one, 0, 0);
    swap("three with SA_SIGINFO", signal, three, SA_SIGINFO, 0x8000);
    swap("one with everything", signal, one, (int)(SA_RESETHAND | SA_NODEFER | SA_RESTART | SA_ONSTACK), 0xffff);
    swap("two with SA_NOCLDSTOP|SA_NOCLDWAIT", signal, two, SA_NOCLDSTOP | SA_NOCLDWAIT, 1);
    swap("SIG_IGN with SA_RESTART", signal, SIG_IGN, SA_RESTART, 6);
    ask("ignored", signal);
    swap("SIG_DFL with SA_SIGINFO", signal, SIG_DFL, SA_SIGINFO, 7);
    ask("default", signal);
    swap("SIG_DFL with SA_ONSTACK|SA_RESETHAND", signal, SIG_DFL, (int)(SA_ONSTACK | SA_RESETHAND), 0);
    swap("two", signal, two, SA_SIGINFO | SA_RESTART, 0);
    ask("asked", signal);
    ask("asked again", signal);
    /* Old and new in the same memory. */
    struct sigaction same = { .sa_handler = one };
    sigaction(signal, &same, &same);
    show("same memory", &same);
    sigaction(signal, &same, NULL);
    ask("put back", signal);
    swap("default", signal, SIG_DFL, 0, 0);
}

static void refused(void)
{
    int signals[] = { 0, -1, 32, 33, 65, 1000, SIGKILL, SIGSTOP };
    for (unsigned i = 0; i < COUNT(signals); i++) {
        swap("refused", signals[i], one, 0, 0);
        swap("refused SIG_DFL", signals[i], SIG_DFL, 0, 0);
        ask("asked", signals[i]);
        errno = 0;
        line("signal()", "%s %s", name_of((void *)signal(signals[i], one)), errno_name(errno));
    }
    errno = 0;
    line("signal(SIG_ERR)", "%s %s", name_of((void *)signal(SIGUSR1, SIG_ERR)), errno_name(errno));
}

static void legacy(int s)
{
    line("---- legacy", "%d", s);
    line("signal", "%s", name_of((void *)signal(s, one)));
    ask("after signal", s);
    line("signal again", "%s", name_of((void *)signal(s, two)));
    line("ssignal", "%s", name_of((void *)ssignal(s, one)));
    line("bsd_signal", "%s", name_of((void *)bsd_signal(s, two)));
    ask("after bsd_signal", s);
    line("sysv_signal", "%s", name_of((void *)sysv_signal(s, one)));
    ask("after sysv_signal", s);
    ROW("siginterrupt 1", siginterrupt(s, 1));
    ask("after siginterrupt 1", s);
    line("signal", "%s", name_of((void *)signal(s, two)));
    ask("after signal, interrupting", s);
    ROW("siginterrupt 0", siginterrupt(s, 0));
    ask("after siginterrupt 0", s);
    line("signal", "%s", name_of((void *)signal(s, one)));
    ask("after signal, restarting", s);
    line("sigset", "%s", name_of((void *)sigset(s, two)));
    ask("after sigset", s);
    line("sigset SIG_HOLD", "%s", name_of((void *)sigset(s, SIG_HOLD)));
    sigset_t now;
    sigprocmask(SIG_SETMASK, NULL, &now);
    line("blocked", "%d", sigismember(&now, s));
    line("sigset SIG_HOLD again", "%s", name_of((void *)sigset(s, SIG_HOLD)));
    line("sigset one", "%s", name_of((void *)sigset(s, one)));
    sigprocmask(SIG_SETMASK, NULL, &now);
    line("blocked", "%d", sigismember(&now, s));
    line("sigset SIG_IGN", "%s", name_of((void *)sigset(s, SIG_IGN)));
    ask("after sigset SIG_IGN", s);
    line("signal", "%s", name_of((void *)signal(s, two)));
    ROW("sigignore", sigignore(s));
    ask("after sigignore", s);
    line("signal SIG_DFL", "%s", name_of((void *)signal(s, SIG_DFL)));
    ROW("siginterrupt of 0", siginterrupt(0, 1));
    ROW("sigignore of 0", sigignore(0));
}

struct kernel_action {
    void *handler;
    unsigned long flags;
    void *restorer;
    unsigned long mask;
};

static void by_number(int s)
{
    struct sigaction model;
    struct kernel_action new = { 0 }, old = { 0 };
    line("---- by number", "%d", s);
    signal(s, one);
    sigaction(s, NULL, &model);
    ROW("ask", syscall(SYS_rt_sigaction, s, NULL, &old, 8L));
    line("is", "%s flags %#lx mask %#lx", name_of(old.handler), old.flags, old.mask);
    new = old;
    new.handler = (void *)three;
    new.flags |= SA_SIGINFO;
    new.mask = 0xff00;
    ROW("set", syscall(SYS_rt_sigaction, s, &new, &old, 8L));
    line("was", "%s flags %#lx mask %#lx", name_of(old.handler), old.flags, old.mask);
    ask("libc sees", s);
    raise(s);
    ROW("wrong size", syscall(SYS_rt_sigaction, s, NULL, &old, 4L));
    ROW("wrong signal", syscall(SYS_rt_sigaction, 99, NULL, &old, 8L));
    ROW("SIGKILL", syscall(SYS_rt_sigaction, SIGKILL, &new, &old, 8L));
    new.handler = NULL;
    ROW("set SIG_DFL", syscall(SYS_rt_sigaction, s, &new, &old, 8L));
    line("was", "%s flags %#lx mask %#lx", name_of(old.handler), old.flags, old.mask);
    ask("libc sees", s);
}

/* The kernel needs no restorer for these two. */
static void by_number_without_restorer(int s)
{
    void *handlers[] = { (void *)SIG_DFL, (void *)SIG_IGN };
    for (int i = 0; i < 2; i++) {
        struct kernel_action new = { .handler = handlers[i] }, old = { 0 };
        int status = 0;
        line("---- without a restorer", "%d", s);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            ROW("set", syscall(SYS_rt_sigaction, s, &new, NULL, 8L));
            ROW("ask", syscall(SYS_rt_sigaction, s, NULL, &old, 8L));
            line("is", "%s flags %#lx restorer %d", name_of(old.handler), old.flags, old.restorer != NULL);
            ask("libc sees", s);
            fflush(stdout);
            kill(getpid(), s);
            _exit(7);
        }
        waitpid(child, &status, 0);
        line("ended", "signal %d code %d", WTERMSIG(status), WEXITSTATUS(status));
    }
}

static void inherited(void)
{
    /* Changes that vfork's child makes to the table affect only that child. */
    signal(SIGUSR1, one);
    signal(SIGSEGV, two);
    fflush(stdout);
    pid_t child = vfork();
    if (child == 0) {
        signal(SIGUSR1, SIG_DFL);
        signal(SIGSEGV, SIG_DFL);
        signal(SIGUSR2, SIG_IGN);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
    ask("SIGUSR1 after vfork", SIGUSR1);
    ask("SIGSEGV after vfork", SIGSEGV);
    ask("SIGUSR2 after vfork", SIGUSR2);
    IN_CHILD(ask("SIGUSR1 in a child", SIGUSR1); ask("SIGSEGV in a child", SIGSEGV); signal(SIGSEGV, SIG_DFL);
             signal(SIGUSR1, two); ask("SIGUSR1 changed in a child", SIGUSR1));
    ask("SIGUSR1 afterwards", SIGUSR1);
    ask("SIGSEGV afterwards", SIGSEGV);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "again") == 0) {
        ask("SIGUSR1 after exec", SIGUSR1);
        ask("SIGUSR2 after exec", SIGUSR2);
        ask("SIGSEGV after exec", SIGSEGV);
        return 0;
    }
    int signals[] = { SIGUSR1, SIGCHLD, SIGSEGV, SIGBUS, SIGFPE, SIGRTMIN, 64 };
    for (unsigned i = 0; i < COUNT(signals); i++)
        by_sigaction(signals[i]);
    refused();
    legacy(SIGUSR1);
    legacy(SIGSEGV);
    by_number(SIGUSR1);
    by_number(SIGSEGV);
    by_number_without_restorer(SIGUSR1);
    by_number_without_restorer(SIGSEGV);
    by_number_without_restorer(SIGBUS);
    inherited();
    signal(SIGUSR1, one);
    signal(SIGUSR2, SIG_IGN);
    execl("/proc/self/exe", argv[0], "again", (char *)NULL);
    return 1;
}
