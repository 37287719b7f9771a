/* /proc/sysvipc: what is listed, in which form, and what opening it answers. In a namespace of its own. */
#define _GNU_SOURCE
#include "shm.h"
#include <sys/msg.h>
#include <sys/stat.h>

static const char *names[] = { "/proc/sysvipc/sem", "/proc/sysvipc/msg", "/proc/sysvipc/shm" };

/* A line in which the parts that differ from run to run are replaced: the key, pids and times. Ids begin at 0 in a new
   namespace. The width of every column shows in the blanks that are left: what is replaced keeps its end, however long it
   was. */
static void show(const char *text)
{
    while (*text != '\0' && *text != '\n') {
        int blanks = (int)strspn(text, " ");
        text += blanks;
        int n = (int)strcspn(text, " \n");
        char word[64];
        snprintf(word, sizeof word, "%.*s", n, text);
        text += n;
        long number = strtol(word, NULL, 10);
        if (number == own_key(1))
            snprintf(word, sizeof word, "KEY");
        if (number > 1000000000 && labs(number - time(NULL)) < 100)
            snprintf(word, sizeof word, "NOW");
        if (number == getpid())
            snprintf(word, sizeof word, "US");
        printf("%*s", blanks + n, word);
    }
    printf("|\n");
}

static void show_all(const char *what, FILE *f)
{
    char text[512];
    line("----", "%s", what);
    if (f == NULL) {
        line("not opened", "%s", errno_name(errno));
        return;
    }
    while (fgets(text, sizeof text, f) != NULL)
        show(text);
    fflush(stdout);
    fclose(f);
}

static void objects(void)
{
    struct { long type; char text[100]; } message = { 1, "" };
    key_t key = own_key(1);
    for (int i = 0; i < 3; i++)
        show_all(names[i], fopen(names[i], "r"));
    int sem = (int)MUST(semget(key, 7, IPC_CREAT | 0600)), other = new_set(1);
    MUST(SEMOP(sem, OP(3, 1, 0)));
    show_all("sets", fopen(names[0], "r"));
    int shm = (int)MUST(shmget(key, 123456, IPC_CREAT | 0640)), gone = new_segment(1);
    char *at = attach(shm);
    at[0] = at[PAGE] = 1;
    attach(gone);
    remove_segment(gone);
    show_all("segments", fopen(names[2], "r"));
    int queue = (int)MUST(msgget(key, IPC_CREAT | 0666));
    MUST(msgsnd(queue, &message, 77, 0));
    show_all("queues", fopen(names[1], "r"));
    msgctl(queue, IPC_RMID, NULL);
    remove_set(sem);
    remove_set(other);
    remove_segment(shm);
    show_all("less", fopen(names[0], "r"));
    show_all("less", fopen(names[1], "r"));
    show_all("attached still", fopen(names[2], "r"));
    MUST(shmdt(at));
    show_all("detached", fopen(names[2], "r"));
}

/* Every way to open, and that it shows the set which only the engine knows. */
static void ways(void)
{
    int id = new_set(1);
    char text[4096], digits[16];
    const char *path = names[0];
    snprintf(digits, sizeof digits, " %d ", id);
#define WAY(row, open_it)                                                                  \
    do {                                                                                   \
        errno = 0;                                                                         \
        int fd_ = (int)(open_it);                                                          \
        if (fd_ < 0) {                                                                     \
            line(row, "-1 %s", errno_name(errno));                                         \
            break;                                                                         \
        }                                                                                  \
        int flags_ = fcntl(fd_, F_GETFL), errno_ = errno;                                  \
        ssize_t n_ = read(fd_, text, sizeof text - 1);                                     \
        text[n_ < 0 ? 0 : n_] = '\0';                                                      \
        line(row, "%s, mode %d, cloexec %d, the lowest %d%s", strstr(text, digits) ? "shows it" : "does not", \
             flags_ & O_ACCMODE, fcntl(fd_, F_GETFD), fd_ == lowest, errno_ != 0 ? " (errno)" : ""); \
        close(fd_);                                                                        \
    } while (0)
    int lowest = open("/dev/null", O_RDONLY);
    close(lowest);
    WAY("open", open(path, O_RDONLY));
    WAY("open with a mode", open(path, O_RDONLY | O_CLOEXEC, 0600));
    WAY("open64", open64(path, O_RDONLY | O_CLOEXEC));
    WAY("openat", openat(AT_FDCWD, path, O_RDONLY));
    WAY("openat of any folder", openat(-77, path, O_RDONLY | O_NONBLOCK));
    WAY("openat64", openat64(AT_FDCWD, path, O_RDONLY));
    WAY("fopen", fileno(fopen(path, "r")));
    WAY("fopen64", fileno(fopen64(path, "re")));
    WAY("SYS_open", syscall(SYS_open, path, O_RDONLY));
    WAY("SYS_openat", syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
    FILE *stream = fopen("/dev/null", "r");
    stream = freopen(path, "r", stream);
    line("freopen", "%d", stream != NULL && fread(text, 1, sizeof text - 1, stream) > 50 && strstr(text, digits) != NULL);
    stream = freopen64("/dev/null", "r", stream);
    line("freopen64", "%d", stream != NULL && fgetc(stream) == EOF);
    fclose(stream);
    extern int __open_2(const char *, int), __open64_2(const char *, int), __openat_2(int, const char *, int),
        __openat64_2(int, const char *, int);
    WAY("__open_2", __open_2(path, O_RDONLY));
    WAY("__open64_2", __open64_2(path, O_RDONLY));
    WAY("__openat_2", __openat_2(AT_FDCWD, path, O_RDONLY));
    WAY("__openat64_2", __openat64_2(AT_FDCWD, path, O_RDONLY));
    remove_set(id);
}

static void refusals(void)
{
    struct stat st;
    ROW("O_DIRECTORY", open(names[0], O_RDONLY | O_DIRECTORY));
    ROW("O_CREAT O_EXCL", open(names[0], O_RDONLY | O_CREAT | O_EXCL, 0600));
    ROW("no such file", open("/proc/sysvipc/se", O_RDONLY));
    ROW("nor such", open("/proc/sysvipc/semaphores", O_RDONLY));
    ROW("below it", open("/proc/sysvipc/sem/x", O_RDONLY));
    ROW("bad pointer", open((char *)8, O_RDONLY));
    ROW("stat", stat(names[0], &st));
    line("its size and mode", "%ld %o", (long)st.st_size, st.st_mode);
    ROW("access", access(names[0], W_OK));
    IN_CHILD(MUST(setuid(1111)); ROW("to write", open(names[0], O_WRONLY)); ROW("to do both", open(names[0], O_RDWR));
             line("fopen to write", "%s", fopen(names[0], "w") == NULL ? errno_name(errno) : "opened");
             int fd = open(names[0], O_RDONLY); line("to read", "%d", fd >= 0);
             ROW("and then to write", write(fd, "x", 1)));
    int fd = open(names[0], O_PATH);
    char c;
    ROW("O_PATH is not read", read(fd, &c, 1));
    close(fd);
    MUST(chdir("/proc/sysvipc"));
    fd = open("sem", O_RDONLY);
    line("relative", "%d", fd >= 0);
    close(fd);
}

int main(void)
{
    if (geteuid() != 0 || !alone()) {
        line("proc", "skipped, not root");
        return 0;
    }
    objects();
    ways();
    refusals();
    return 0;
}
