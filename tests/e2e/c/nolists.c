/* What opening /proc/sysvipc answers a program whose calls are refused: because there is no arena to be had; or, with the
   arena's file as argument, since it cut that short itself. */
#define _GNU_SOURCE
#include "check.h"

static const char *path = "/proc/sysvipc/sem";

static void tell(const char *row, int opened)
{
    line(row, "%s", opened ? "opened" : errno_name(errno));
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        MUST(semget(IPC_PRIVATE, 1, 0600));
        line("before", "%d", fopen(path, "r") != NULL);
        MUST(truncate(argv[1], 0));
    }
    int lowest = dup(0);
    close(lowest);
    tell("open", open(path, O_RDONLY) >= 0);
    tell("open64", open64(path, O_RDONLY | O_CLOEXEC) >= 0);
    tell("openat", openat(AT_FDCWD, path, O_RDONLY) >= 0);
    tell("by number", syscall(SYS_openat, AT_FDCWD, path, O_RDONLY) >= 0);
    tell("fopen", fopen(path, "r") != NULL);
    tell("freopen", freopen(path, "r", fopen("/dev/null", "r")) != NULL);
    tell("another file", open("/proc/self/stat", O_RDONLY) == lowest);
    int id;
    ROW("semget", id = semget(IPC_PRIVATE, 1, 0600));
    /* Where nothing is refused it is the kernel's, and would stay. */
    if (id != -1)
        MUST(semctl(id, 0, IPC_RMID));
    return 0;
}
