/* Programs that allow themselves one sort of wait and nothing else. First argument: how the filter is installed; second:
 * what happens to any other call. */
#include "table.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

enum { ROUNDS = 40 };

static void enter(int number, const char *how, unsigned others)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW((unsigned)number), ALLOW(SYS_write), ALLOW(SYS_exit_group), ALLOW(SYS_exit),
        BPF_STMT(BPF_RET | BPF_K, others),
    };
    struct sock_fprog program = { COUNT(filter), filter };
    MUST_SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (strcmp(how, "prctl") == 0) {
        MUST_SYS(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    } else if (strcmp(how, "syscall") == 0) {
        MUST_SYS(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
    } else {
        /* Past every hook. */
        long answer;
        __asm__ volatile("syscall" : "=a"(answer) : "a"(SYS_seccomp), "D"(SECCOMP_SET_MODE_FILTER), "S"(0), "d"(&program)
                         : "rcx", "r11", "memory");
        MUST_SYS(answer < 0 ? -1 : 0);
    }
}

static const struct {
    const char *name;
    int number;
} alone[] = {
    { "poll", SYS_poll }, { "ppoll", SYS_ppoll }, { "select", SYS_pselect6 }, { "pselect", SYS_pselect6 },
    { "epoll_wait", SYS_epoll_wait }, { "epoll_pwait", SYS_epoll_pwait }, { "epoll_pwait2", SYS_epoll_pwait2 },
    { "read of a pipe", SYS_read }, { "read of an eventfd", SYS_read }, { "readv", SYS_readv }, { "recv", SYS_recvfrom },
    { "recvmsg", SYS_recvmsg }, { "recvmmsg", SYS_recvmmsg }, { "sem_wait", SYS_futex }, { "pthread_cond_wait", SYS_futex },
    { "FUTEX_WAIT", SYS_futex },
};

/* What the child shares with this process, which ends its waits. */
struct board {
    struct place place;
    int entered, left;
};

static void share_between_processes(struct place *p)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    MUST_SYS(sem_init(&p->semaphore, 1, 0));
    MUST(pthread_mutexattr_init(&mutex));
    MUST(pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED));
    MUST(pthread_mutex_init(&p->mutex, &mutex));
    MUST(pthread_condattr_init(&condition));
    MUST(pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED));
    MUST(pthread_cond_init(&p->condition, &condition));
}

static void run(const struct wait *wait, int number, const char *how, unsigned others)
{
    struct board *board = (struct board *)shared_page();
    pid_t child;
    open_place(&board->place, wait->object);
    share_between_processes(&board->place);
    fflush(stdout);
    child = (pid_t)MUST_SYS(fork());
    if (child == 0) {
        int good = 0;
        /* Some waits are known to the library before the filter, some are new in it. */
        for (int i = 0; i < ROUNDS; i++) {
            if (i == ROUNDS / 2)
                enter(number, how, others);
            __atomic_store_n(&board->entered, i + 1, __ATOMIC_SEQ_CST);
            good += wait->call(&board->place) >= 0;
            /* No byte is read after poll: what is ready stays ready. */
            board->place.word = 0;
            __atomic_store_n(&board->left, i + 1, __ATOMIC_SEQ_CST);
        }
        _exit(good);
    }
    for (int i = 0; i < ROUNDS; i++) {
        int status;
        while (__atomic_load_n(&board->entered, __ATOMIC_SEQ_CST) <= i && waitpid(child, &status, WNOHANG | WNOWAIT) == 0)
            sched_yield();
        burn_us(moments_us[i % (int)COUNT(moments_us)]);
        end_wait(&board->place);
        while (__atomic_load_n(&board->left, __ATOMIC_SEQ_CST) <= i) {
            siginfo_t info = { 0 };
            if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child)
                break;
            sched_yield();
        }
    }
    row_child(wait->name, child);
    shut_place(&board->place);
    munmap(board, 4096);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "prctl";
    unsigned others = argc > 2 && strcmp(argv[2], "fails") == 0 ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS;
    signal(SIGPIPE, SIG_IGN);
    for (unsigned n = 0; n < COUNT(alone); n++)
        for (unsigned i = 0; i < COUNT(waits); i++)
            if (strcmp(waits[i].name, alone[n].name) == 0)
                run(&waits[i], alone[n].number, how, others);
    return 0;
}
