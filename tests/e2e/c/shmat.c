/* Section 7, shmat and shmdt: addresses, flags, what is mapped. */
#include "shm.h"

static void addresses(void)
{
    int id = new_segment(2 * PAGE);
    char *area = mmap(NULL, 16 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(area, 16 * PAGE);
    row_attach("anywhere", id, NULL, 0);
    row_attach("at an address", id, area, 0);
    row_attach("not aligned", id, area + 1, 0);
    row_attach("not aligned, SHM_RND", id, area + 1, SHM_RND);
    row_attach("SHM_RND of an aligned one", id, area, SHM_RND);
    row_attach("SHM_RND to 0", id, (void *)100, SHM_RND);
    row_attach("address 1", id, (void *)1, 0);
    row_attach("beyond the end", id, (void *)0x7ffffffff000ul, 0);
    row_attach("of the kernel", id, (void *)0xffff800000000000ul, 0);
    row_attach("SHM_REMAP of nothing", id, NULL, SHM_REMAP);
    row_attach("SHM_REMAP where nothing is", id, area, SHM_REMAP);
    char *there = mmap(area, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    there[0] = 7;
    row_attach("where something is", id, there, 0);
    row_attach("where something begins later", id, there - PAGE, 0);
    line("it is untouched", "%d", there[0]);
    char *over = shmat(id, there, SHM_REMAP);
    line("SHM_REMAP", "%d, %d, %lu attached", over == there, over[0], attached(id));
    ROW("shmdt of it", shmdt(over));
    row_attach("no such id", 0x7ffffff0, NULL, 0);
    row_attach("id -1", -1, NULL, 0);
    row_attach("no such id, not aligned", 0x7ffffff0, area + 1, 0);
    row_attach("unknown flags", id, NULL, 0x10000000);
    remove_segment(id);
    row_attach("removed", id, NULL, 0);
    row_attach("removed, SHM_REMAP of nothing", id, NULL, SHM_REMAP);
}

static int writes(char *at)
{
    fflush(stdout);
    pid_t child = (pid_t)MUST(fork());
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        *(volatile char *)at = 1;
        _exit(0);
    }
    int status;
    MUST(waitpid(child, &status, 0));
    return WIFEXITED(status);
}

static void protections(void)
{
    int id = new_segment(PAGE);
    char *plain = attach(id), *read_only = shmat(id, NULL, SHM_RDONLY);
    line("plain", "%s", writes(plain) ? "writes" : "faults");
    line("SHM_RDONLY", "%s", writes(read_only) ? "writes" : "faults");
    plain[5] = 42;
    line("is seen there", "%d", read_only[5]);
    char *code = shmat(id, NULL, SHM_EXEC);
    line("SHM_EXEC", "%s", code != (char *)-1 ? "attached" : errno_name(errno));
    code[0] = (char)0xc3;
    ((void (*)(void))(void *)code)();
    line("it runs", "%lu attached", attached(id));
    ROW("shmdt", shmdt(plain));
    ROW("shmdt", shmdt(read_only));
    ROW("shmdt", shmdt(code));
    row_status("after all", id, 0);
    remove_segment(id);
}

static void sizes(void)
{
    int id = new_segment(100);
    char *at = attach(id);
    int clean = 1;
    for (int i = 0; i < PAGE; i++)
        clean &= at[i] == 0;
    at[100] = 1;
    at[PAGE - 1] = 2;
    line("100 bytes", "clean %d, to the page's end %d", clean, at[PAGE - 1]);
    line("segsz", "%zu", status_of(id).shm_segsz);
    ROW("shmdt in the middle", shmdt(at + 8));
    ROW("shmdt of the next page", shmdt(at + PAGE));
    ROW("shmdt", shmdt(at));
    ROW("shmdt again", shmdt(at));
    ROW("shmdt of 0", shmdt(NULL));
    ROW("shmdt of the stack", shmdt((void *)((unsigned long)&clean & ~4095ul)));
    at = attach(id);
    line("kept", "%d %d", at[100], at[PAGE - 1]);
    MUST(shmdt(at));
    remove_segment(id);
}

/* The name of the mapping in /proc/self/maps, and that the inode is the id. */
static void maps(void)
{
    int id = new_segment(PAGE);
    char *at = attach(id), text[512];
    FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(text, sizeof text, f) != NULL) {
        unsigned long start, inode;
        char name[64] = "";
        if (sscanf(text, "%lx-%*x %*s %*s %*s %lu %63[^\n]", &start, &inode, name) >= 2 && start == (unsigned long)at)
            line("maps", "%s, inode %s", name, inode == (unsigned long)id ? "is the id" : "is another");
    }
    fclose(f);
    MUST(shmdt(at));
    remove_segment(id);
}

int main(void)
{
    addresses();
    protections();
    sizes();
    maps();
    return 0;
}
