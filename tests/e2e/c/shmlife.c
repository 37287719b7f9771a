/* Section 7, attachments: which ones count, through fork, exec, SIGKILL and changes of mappings; removal at the last
 * detach. */
#include "shm.h"
#include <sys/prctl.h>

static void settle(int id, unsigned long count)
{
    while (attached(id) != count)
        usleep(500);
}

static void forks(void)
{
    int id = new_segment(PAGE), ends[2];
    char *at = attach(id);
    row_status("attached", id, 0);
    MUST(pipe(ends));
    fflush(stdout);
    pid_t child = (pid_t)MUST(fork());
    if (child == 0) {
        char c;
        at[0] = 5;
        close(ends[1]);
        _exit(read(ends[0], &c, 1) != 0);
    }
    while (*(volatile char *)at != 5)
        usleep(500);
    row_status("a child by fork", id, 0);
    MUST(kill(child, SIGKILL));
    MUST(waitpid(child, NULL, 0));
    row_status("killed", id, 0);
    close(ends[0]);
    close(ends[1]);
    IN_CHILD(_exit(0));
    row_status("another ended by itself", id, 0);
    IN_CHILD(ROW("a child detaches", shmdt(at)); row_status("in the child", id, 0));
    row_status("the parent's stays", id, 0);
    pid_t vchild = vfork();
    if (vchild == 0)
        _exit(0);
    MUST(waitpid(vchild, NULL, 0));
    row_status("after vfork", id, 0);
    MUST(shmdt(at));
    remove_segment(id);
}

static void execs(const char *self)
{
    int id = new_segment(PAGE);
    char number[16];
    snprintf(number, sizeof number, "%d", id);
    IN_CHILD(attach(id); line("before exec", "%lu", attached(id)); execl(self, self, "count", number, NULL));
    line("after it", "%lu", attached(id));
    /* What it executes has no preload, and attaches by the id that it is told. */
    int ends[2];
    MUST(pipe(ends));
    fflush(stdout);
    pid_t child = (pid_t)MUST(fork());
    if (child == 0) {
        dup2(ends[1], 3);
        unsetenv("LD_PRELOAD");
        execl(self, self, "hold", number, NULL);
        _exit(98);
    }
    char c;
    MUST(read(ends[0], &c, 1));
    row_status("held by a program outside", id, 0);
    char *at = attach(id);
    line("which wrote", "%d", at[0]);
    MUST(shmdt(at));
    remove_segment(id);
    row_status("removed", id, 0);
    kill(child, SIGKILL);
    MUST(waitpid(child, NULL, 0));
    row_status("it was killed", id, 0);
}

static void pieces(void)
{
    int id = new_segment(6 * PAGE);
    char *room = mmap(NULL, 32 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *at = shmat(id, room, SHM_REMAP);
    MUST(munmap(at, PAGE));
    line("the first page unmapped", "%lu", attached(id));
    MUST(munmap(at + 2 * PAGE, PAGE));
    line("one in the middle unmapped", "%lu", attached(id));
    MUST(mprotect(at + 4 * PAGE, PAGE, PROT_READ));
    line("one protected", "%lu", attached(id));
    MUST(mprotect(at + 4 * PAGE, PAGE, PROT_READ | PROT_WRITE));
    line("and back", "%lu", attached(id));
    char *moved = mremap(at + 5 * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at + 20 * PAGE);
    line("one moved", "%d, %lu", moved == at + 20 * PAGE, attached(id));
    ROW("shmdt of the start takes all that is left in place", shmdt(at));
    line("left", "%lu", attached(id));
    /* It was moved to where no attachment of its offset begins. */
    munmap(moved, PAGE);
    line("the moved one unmapped", "%lu", attached(id));
    char *once = attach(id), *twice = attach(id);
    line("attached twice", "%lu, %s", attached(id), once != twice ? "apart" : "together");
    once[0] = 9;
    line("the same memory", "%d", twice[0]);
    MUST(shmdt(once));
    MUST(munmap(twice, 6 * PAGE));
    row_status("munmap is as good", id, 0);
    remove_segment(id);
}

static void removal(void)
{
    key_t key = own_key(1);
    int id = (int)MUST(shmget(key, PAGE, IPC_CREAT | 0600));
    char *at = attach(id);
    at[0] = 3;
    ROW("IPC_RMID", shmctl(id, IPC_RMID, NULL));
    row_status("removed", id, key);
    ROW("its key", shmget(key, 0, 0));
    struct shmid_ds ds = status_of(id);
    ds.shm_perm.mode = 0644;
    ROW("IPC_SET of a removed one", shmctl(id, IPC_SET, &ds));
    row_status("with another mode", id, key);
    int other = (int)MUST(shmget(key, 2 * PAGE, IPC_CREAT | IPC_EXCL | 0600));
    line("its key is another's", "%d", other != id && shmget(key, 0, 0) == other);
    char *again = attach(id);
    line("attached again", "%d, %lu", again[0], attached(id));
    row_status("twice", id, key);
    ROW("IPC_RMID again", shmctl(id, IPC_RMID, NULL));
    MUST(shmdt(again));
    row_status("once", id, key);
    fflush(stdout);
    pid_t child = (pid_t)MUST(fork());
    if (child == 0) {
        for (;;)
            pause();
    }
    settle(id, 2);
    MUST(shmdt(at));
    row_status("the child has it", id, key);
    kill(child, SIGKILL);
    MUST(waitpid(child, NULL, 0));
    row_status("killed", id, key);
    row_attach("gone", id, NULL, 0);
    ROW("IPC_RMID of what is gone", shmctl(id, IPC_RMID, NULL));
    ROW("the other one is there", shmget(key, 0, 0) == other);
    remove_segment(other);
    ROW("no more", shmget(key, 0, 0));
}

/* Times and processes of the last calls. */
static void times(void)
{
    int id = new_segment(PAGE);
    time_t before = time(NULL);
    IN_CHILD(char *at = attach(id); MUST(shmdt(at)));
    row_status("a child was there", id, 0);
    struct shmid_ds ds = status_of(id);
    line("times", "%d %d %d", ds.shm_atime >= before - 1, ds.shm_dtime >= before - 1, ds.shm_ctime >= before - 1);
    char *at = attach(id);
    row_status("attached", id, 0);
    MUST(shmdt(at));
    row_status("detached", id, 0);
    remove_segment(id);
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        int id = atoi(argv[2]);
        if (strcmp(argv[1], "count") == 0) {
            line("in the new image", "%lu", attached(id));
            return 0;
        }
        char *at = attach(id);
        at[0] = 77;
        MUST(write(3, at, 1));
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    forks();
    execs(argv[0]);
    pieces();
    removal();
    times();
    return 0;
}
