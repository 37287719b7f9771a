/* Locks in a sandbox that knows only the system calls that locks, output and memory need. First argument: each thread has
 * locked before it is shut in ("known") and finds new locks and callers inside, or its first lock is inside ("new"). Second:
 * any other call fails ("fails"), or the thread that makes one is killed ("kills"). Third: how it is shut in. */
#include "row.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

enum { THREADS = 3, TIMES = 3000 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, before = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static long count;
static int inside, entered, done;

static void enter(unsigned others, const char *how)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_futex), ALLOW(SYS_write), ALLOW(SYS_exit_group), ALLOW(SYS_mmap), ALLOW(SYS_madvise),
        BPF_STMT(BPF_RET | BPF_K, others),
    };
    struct sock_fprog program = { COUNT(filter), filter };
    MUST_SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (strcmp(how, "prctl") == 0)
        MUST_SYS(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    else
        MUST_SYS(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program));
}

static void *use(void *is_known)
{
    if (is_known != NULL) {
        MUST(pthread_mutex_lock(&before));
        MUST(pthread_mutex_unlock(&before));
    }
    __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&entered, __ATOMIC_SEQ_CST))
        __asm__ volatile("pause");
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&m);
        count++;
        pthread_mutex_unlock(&m);
        pthread_rwlock_rdlock(&rw);
        pthread_rwlock_unlock(&rw);
    }
    pthread_mutex_lock(&m);
    done++;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&m);
    for (;;)
        __asm__ volatile("pause");
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    if (argc < 4)
        return 98;
    int known = strcmp(argv[1], "known") == 0, kills = strcmp(argv[2], "kills") == 0;
    MUST(pthread_mutex_lock(&before));
    MUST(pthread_mutex_unlock(&before));
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, use, known ? &before : NULL));
    await_value(&inside, THREADS);
    line("enters", "the sandbox");
    enter(kills ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM, argv[3]);
    __atomic_store_n(&entered, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&m);
    while (done < THREADS)
        pthread_cond_wait(&condition, &m);
    pthread_mutex_unlock(&m);
    char text[64];
    int length = snprintf(text, sizeof text, "counted: %ld\n", count);
    _exit(write(1, text, (size_t)length) == length ? 0 : 1);
}
