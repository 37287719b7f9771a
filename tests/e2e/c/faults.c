/* Bad pointers give EFAULT, never a signal, and nothing is half done. */
#include "check.h"

static char *pages; /* one that can be written, one that can be read, one that cannot be touched */
static long page;

/* `size` bytes that end where the untouchable page begins. */
static void *at_edge(size_t size)
{
    return pages + 2 * page - size;
}

static void *untouchable(void)
{
    return pages + 2 * page;
}

static void *readable(void)
{
    return pages + page;
}

static void operations(int id)
{
    struct sembuf *ops = at_edge(sizeof *ops);
    MUST(mprotect(pages + page, (size_t)page, PROT_READ | PROT_WRITE));
    *ops = OP(0, 1, 0);
    MUST(mprotect(pages + page, (size_t)page, PROT_READ));
    ROW("one that ends at the edge", semop(id, ops, 1));
    ROW("the second lies beyond", semop(id, ops, 2));
    ROW("half of it lies beyond", semop(id, (void *)((char *)ops + 3), 1));
    ROW("one byte lies beyond", semop(id, (void *)((char *)ops + 1), 1));
    ROW("untouchable", semop(id, untouchable(), 1));
    ROW("not canonical", semop(id, (void *)0x8000000000000000, 1));
    ROW("in the kernel", semop(id, (void *)0xffffffff81000000, 1));
    ROW("last address", semop(id, (void *)-1, 1));
    ROW("null, 500", semop(id, NULL, 500));
    memcpy(pages + 1, &OP(0, 1, 0), sizeof(struct sembuf));
    ROW("unaligned is fine", semop(id, (struct sembuf *)(pages + 1), 1));
    row_values("values", id);

    struct sembuf good = OP(0, 0, IPC_NOWAIT);
    ROW("timeout untouchable", semtimedop(id, &good, 1, untouchable()));
    ROW("timeout half beyond", semtimedop(id, &good, 1, at_edge(8)));
    ROW("timeout in the kernel", semtimedop(id, &good, 1, (void *)0xffffffff81000000));
    ROW("both bad", semtimedop(id, untouchable(), 1, untouchable()));
    ROW("by number", syscall(SYS_semop, id, untouchable(), 1L));
}

static void control(int id)
{
    void *bad[] = { NULL, (void *)8, untouchable(), (void *)0x8000000000000000, (void *)-1 };
    int commands[] = { GETALL, SETALL, IPC_STAT, IPC_SET, IPC_INFO, SEM_INFO };
    const char *names[] = { "GETALL", "SETALL", "IPC_STAT", "IPC_SET", "IPC_INFO", "SEM_INFO" };
    for (unsigned c = 0; c < COUNT(commands); c++)
        for (unsigned b = 0; b < COUNT(bad); b++) {
            char row[64];
            snprintf(row, sizeof row, "%s to bad address %u", names[c], b);
            ROW(row, semctl(id, 0, commands[c], (union semun){ .buf = bad[b] }));
            snprintf(row, sizeof row, "%s to bad address %u, id -1", names[c], b);
            ROW(row, semctl(-1, 0, commands[c], (union semun){ .buf = bad[b] }));
        }
    ROW("GETALL to read-only memory", semctl(id, 0, GETALL, (union semun){ .array = readable() }));
    ROW("IPC_STAT to read-only memory", semctl(id, 0, IPC_STAT, (union semun){ .buf = readable() }));
    ROW("IPC_INFO to read-only memory", semctl(id, 0, IPC_INFO, (union semun){ .info = readable() }));
    ROW("SETALL half beyond the edge", semctl(id, 0, SETALL, (union semun){ .array = at_edge(2) }));
    row_values("values", id);
    ROW("SETALL from read-only memory", semctl(id, 0, SETALL, (union semun){ .array = at_edge(4) }));
    ROW("IPC_SET half beyond the edge", semctl(id, 0, IPC_SET, (union semun){ .buf = at_edge(20) }));
    row_values("values", id);
}

int main(void)
{
    page = sysconf(_SC_PAGESIZE);
    pages = mmap(NULL, (size_t)(3 * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(pages == MAP_FAILED ? -1 : 0);
    MUST(mprotect(untouchable(), (size_t)page, PROT_NONE));
    MUST(mprotect(readable(), (size_t)page, PROT_READ));
    int id = new_set(2);
    operations(id);
    control(id);
    ROW("and it still works", SEMOP(id, OP(0, 1, 0)));
    remove_set(id);

    /* A program with handlers of its own sees nothing of this. */
    signal(SIGSEGV, SIG_IGN);
    signal(SIGBUS, SIG_DFL);
    id = new_set(1);
    ROW("SIGSEGV ignored", semop(id, untouchable(), 1));
    struct sigaction once = { .sa_handler = SIG_DFL, .sa_flags = (int)SA_RESETHAND };
    sigaction(SIGSEGV, &once, NULL);
    ROW("SA_RESETHAND", semop(id, untouchable(), 1));
    ROW("and again", semop(id, untouchable(), 1));
    remove_set(id);
    return 0;
}
