/* Children of vfork(2) that lock while they share their parent's memory. */
#include "row.h"

static pthread_mutex_t parents[20], children[20];

int main(void)
{
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        MUST(pthread_mutex_lock(&parents[i]));
        MUST(pthread_mutex_unlock(&parents[i]));
        pid_t child = vfork();
        if (child == 0) {
            pthread_mutex_lock(&children[i]);
            pthread_mutex_unlock(&children[i]);
            _exit(3);
        }
        int status = 0;
        waitpid(child, &status, 0);
        line("child", "%d", WEXITSTATUS(status));
    }
    return 0;
}
