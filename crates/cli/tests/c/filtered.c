/* Installs a seccomp filter that permits everything, and then takes its first lock and waits for a pipe. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

static pthread_mutex_t lock_after_filter = PTHREAD_MUTEX_INITIALIZER;

int main(void)
{
    struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
    struct sock_fprog filter = { 1, allow };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        return 1;
    pthread_mutex_lock(&lock_after_filter);
    pthread_mutex_unlock(&lock_after_filter);
    int ends[2];
    if (pipe(ends) != 0)
        return 1;
    struct pollfd one = { .fd = ends[0], .events = POLLIN };
    poll(&one, 1, 1);
    return 7;
}
