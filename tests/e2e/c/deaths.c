/* Death by signals: the exit status must be the same as without the preload. */
#include "check.h"
#include <sys/resource.h>

static volatile char *nowhere = (char *)8;

static void on_nothing(int signal) { (void)signal; }

static int overflow(int depth)
{
    volatile char frame[4096];
    frame[0] = (char)depth;
    return overflow(depth + 1) + frame[0];
}

static void misaligned(void)
{
    /* A mapping of a file that is shorter: SIGBUS. */
    char name[] = "/tmp/unspin-e2e-XXXXXX";
    int fd = (int)MUST(mkstemp(name));
    unlink(name);
    volatile char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    (void)map[0];
}

#define DIES(row, ...)                                                                 \
    do {                                                                               \
        fflush(stdout);                                                                \
        pid_t child_ = (pid_t)MUST(fork());                                            \
        if (child_ == 0) {                                                             \
            setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });                          \
            __VA_ARGS__;                                                               \
            _exit(0);                                                                  \
        }                                                                              \
        int status_;                                                                   \
        MUST(waitpid(child_, &status_, 0));                                            \
        if (WIFSIGNALED(status_))                                                      \
            line(row, "signal %d", WTERMSIG(status_));                                 \
        else                                                                           \
            line(row, "status %d", WEXITSTATUS(status_));                              \
    } while (0)

int main(void)
{
    DIES("a bad load", (void)*nowhere);
    DIES("a bad load, SIGSEGV ignored", signal(SIGSEGV, SIG_IGN); (void)*nowhere);
    DIES("a bad load, SIGSEGV blocked", sigset_t s; sigfillset(&s); sigprocmask(SIG_SETMASK, &s, NULL);
         (void)*nowhere);
    DIES("a bad load, default again", signal(SIGSEGV, on_nothing); signal(SIGSEGV, SIG_DFL); (void)*nowhere);
    DIES("a bad load after a bad pointer", int id = new_set(1); semop(id, (void *)8, 1); remove_set(id);
         (void)*nowhere);
    DIES("SIGSEGV from kill", kill(getpid(), SIGSEGV); pause());
    DIES("SIGSEGV from raise", raise(SIGSEGV));
    DIES("SIGSEGV from kill, ignored", signal(SIGSEGV, SIG_IGN); kill(getpid(), SIGSEGV));
    DIES("SIGSEGV from kill, handled", signal(SIGSEGV, on_nothing); kill(getpid(), SIGSEGV));
    DIES("SIGBUS from kill", kill(getpid(), SIGBUS); pause());
    DIES("SIGBUS from a short file", misaligned());
    DIES("stack overflow", overflow(0));
    DIES("stack overflow, handler on the same stack", signal(SIGSEGV, on_nothing); overflow(0));
    DIES("not canonical", (void)*(volatile char *)0x8000000000000000);
    DIES("a jump to nowhere", ((void (*)(void))(long)8)());
    DIES("abort", abort());
    DIES("abort, handled", signal(SIGABRT, on_nothing); abort());
    DIES("SIGTERM", raise(SIGTERM));
    DIES("SIGALRM", alarm(1); pause());
    DIES("division", volatile int zero = 0; zero = 1 / zero);
    DIES("trap", __asm__ volatile("int3"));
    DIES("one shot, twice", struct sigaction a = { .sa_handler = on_nothing, .sa_flags = (int)SA_RESETHAND };
         sigaction(SIGSEGV, &a, NULL); raise(SIGSEGV); raise(SIGSEGV));
    DIES("while asleep in semop", int id = new_set(1); alarm(1); SEMOP(id, OP(0, -1, 0)));
    DIES("a handler that faults", signal(SIGUSR1, (void (*)(int))(long)8); raise(SIGUSR1));
    DIES("a handler that is no address", signal(SIGUSR1, (void (*)(int))0x4000000000000000); raise(SIGUSR1));
    DIES("a child of its own, by exec", execl("/bin/sh", "sh", "-c", "kill -SEGV $$", (char *)NULL));
    DIES("SIG_IGN is kept by exec", signal(SIGTERM, SIG_IGN);
         execl("/bin/sh", "sh", "-c", "kill -TERM $$; exit 7", (char *)NULL));
    return 0;
}
