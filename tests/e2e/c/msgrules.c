/* Permissions of queues, bad pointers, and limits that change while they are in force. */
#include "queues.h"
#include "users.h"

static void try_all(const char *who, int id, key_t key)
{
    char row[64];
    struct msqid_ds ds;
    TRY("msgget asking nothing", msgget(key, 0) == id ? 0 : -1);
    TRY("msgget asking read", msgget(key, 0444) == id ? 0 : -1);
    TRY("msgget asking write", msgget(key, 0222) == id ? 0 : -1);
    TRY("msgget, exclusively", msgget(key, IPC_CREAT | IPC_EXCL | 0666));
    TRY("send", give(id, 1, 'a', 1, IPC_NOWAIT));
    TRY("send too much", give(id, 1, 'a', 9000, IPC_NOWAIT));
    TRY("send from null", msgsnd(id, NULL, 1, IPC_NOWAIT));
    TRY("receive too much", (int)take(id, 0, 0, IPC_NOWAIT));
    TRY("copy", (int)take(id, 10, 0, IPC_NOWAIT | MSG_COPY));
    TRY("receive", (int)take(id, 10, 0, IPC_NOWAIT));
    TRY("receive none", (int)take(id, 10, 99, IPC_NOWAIT));
    while (geteuid() == 0 && take(id, 10, 0, IPC_NOWAIT) > 0)
        ;
    TRY("IPC_STAT", msgctl(id, IPC_STAT, &ds));
    TRY("IPC_STAT, null", msgctl(id, IPC_STAT, NULL));
    TRY("MSG_STAT", msgctl(0, MSG_STAT, &ds) == id ? 0 : -1);
    TRY("MSG_STAT_ANY", msgctl(0, MSG_STAT_ANY, &ds) == id ? 0 : -1);
    ds.msg_perm.uid = OWNER;
    ds.msg_perm.gid = GROUP;
    ds.msg_perm.mode = 0;
    ds.msg_qbytes = 1;
    if (geteuid() == STRANGER)
        TRY("IPC_SET", msgctl(id, IPC_SET, &ds));
    TRY("IPC_SET, null", msgctl(id, IPC_SET, NULL));
    if (geteuid() == OWNER || geteuid() == CREATOR) {
        MUST(seteuid(0));
        struct msqid_ds before = status(id);
        become(geteuid(), 1, 0);
        MUST(seteuid(strcmp(who, "owner") == 0 ? OWNER : CREATOR));
        ds = before;
        ds.msg_qbytes = 16385;
        TRY("more room than msgmnb", msgctl(id, IPC_SET, &ds));
        ds.msg_qbytes = 16384;
        TRY("as much as msgmnb", msgctl(id, IPC_SET, &ds));
    }
    if (geteuid() == STRANGER)
        TRY("IPC_RMID", msgctl(id, IPC_RMID, NULL));
}

static void with_mode(int mode)
{
    key_t key = own_key(mode & 63);
    line("---- mode", "%o", mode);
    /* Made by one user, given to another, so that both are owners. */
    IN_CHILD(become(CREATOR, OTHER_GROUP, 0); MUST(msgget(key, IPC_CREAT | IPC_EXCL | 0600)));
    int id = (int)MUST(msgget(key, 0));
    struct msqid_ds ds = status(id);
    line("creator", "%u %u", ds.msg_perm.cuid, ds.msg_perm.cgid);
    ds.msg_perm.uid = OWNER;
    ds.msg_perm.gid = GROUP;
    ds.msg_perm.mode = (unsigned short)mode;
    MUST(msgctl(id, IPC_SET, &ds));
    IN_CHILD(become(OWNER, 1, 0); try_all("owner", id, key));
    IN_CHILD(become(CREATOR, 1, 0); try_all("creator", id, key));
    IN_CHILD(become(STRANGER, GROUP, 0); try_all("group", id, key));
    IN_CHILD(become(STRANGER, OTHER_GROUP, 0); try_all("creator's group", id, key));
    IN_CHILD(become(STRANGER, 1, 0); try_all("stranger", id, key));
    try_all("root", id, key);
    ds = status(id);
    line("after all", "%u %u %o %lu", ds.msg_perm.uid, ds.msg_perm.gid, ds.msg_perm.mode, (unsigned long)ds.msg_qbytes);
    ROW("root takes more room than msgmnb", set_room(id, 1 << 20));
    remove_queue(id);
}

static char *pages; /* one that can be written, one that can be read, one that cannot be touched */
static long page;

/* A message of `size` bytes that ends where the untouchable page begins, or so many bytes beyond. */
static struct message *at_edge(size_t size, size_t beyond)
{
    return (struct message *)(pages + 2 * page - 8 - size + beyond);
}

static void faults(void)
{
    page = sysconf(_SC_PAGESIZE);
    pages = mmap(NULL, 3 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(mprotect(pages + 2 * page, (size_t)page, PROT_NONE));
    int id = new_queue();
    for (size_t beyond = 0; beyond < 3; beyond++) {
        struct message *m = at_edge(100, beyond);
        m->type = 1;
        memset(m->text, 'a', 100 - beyond);
        ROW("send at the edge", msgsnd(id, m, 100, IPC_NOWAIT));
        ROW("send at the edge to none", msgsnd(INT_MAX, m, 100, IPC_NOWAIT));
    }
    struct message *longest = (struct message *)(pages + 2 * page - 8 - 600);
    longest->type = 1;
    ROW("send 700 of 600", msgsnd(id, longest, 700, IPC_NOWAIT));
    ROW("type beyond", msgsnd(id, pages + 2 * page - 4, 1, IPC_NOWAIT));
    ROW("untouchable", msgsnd(id, pages + 2 * page, 1, IPC_NOWAIT));
    ROW("untouchable, nothing", msgsnd(id, pages + 2 * page, 0, IPC_NOWAIT));
    ROW("not canonical", msgsnd(id, (void *)0x8000000000000000, 1, IPC_NOWAIT));
    ROW("in the kernel", msgsnd(id, (void *)0xffffffff81000000, 1, IPC_NOWAIT));
    ROW("last address", msgsnd(id, (void *)-1, 1, IPC_NOWAIT));
    row_status("one was sent", id, 0);
    *(long *)(pages + 2 * page - 8) = 0;
    ROW("bad type before bad text", msgsnd(id, pages + 2 * page - 8, 10, IPC_NOWAIT));
    *(long *)(pages + 2 * page - 8) = 1;
    ROW("text alone beyond", msgsnd(id, pages + 2 * page - 8, 10, IPC_NOWAIT));
    ROW("no text", msgsnd(id, pages + 2 * page - 8, 0, IPC_NOWAIT));
    ROW("full", set_room(id, 10));
    ROW("text beyond, and full", msgsnd(id, pages + 2 * page - 8, 10, IPC_NOWAIT));
    ROW("room", set_room(id, 10000));

    /* A message is lost if the receiver's buffer cannot be written. */
    MUST((int)take(id, 100, 0, 0));
    MUST((int)take(id, 100, 0, 0));
    for (int i = 0; i < 8; i++)
        MUST(give(id, i + 1, (char)('a' + i), 700, 0));
    ROW("receive beyond", msgrcv(id, at_edge(699, 0), 700, 1, 0));
    row_status("lost", id, 0);
    ROW("receive beyond, type too", msgrcv(id, pages + 2 * page - 4, 700, 2, 0));
    row_status("lost", id, 0);
    ROW("too large before that", msgrcv(id, NULL, 100, 3, 0));
    row_status("stays", id, 0);
    MUST(mprotect(pages + page, (size_t)page, PROT_READ));
    ROW("read-only", msgrcv(id, pages + page, 700, 3, 0));
    ROW("cut to what there is", msgrcv(id, at_edge(699, 699 - (size_t)page), 0, 4, MSG_NOERROR));
    MUST(mprotect(pages + page, (size_t)page, PROT_READ | PROT_WRITE));
    ROW("just fits", msgrcv(id, at_edge(700, 0), 700, 5, 0));
    line("whole", "%d", at_edge(700, 0)->text[0] == 'e' && at_edge(700, 0)->text[699] == 'e');
    row_status("left", id, 0);
    ROW("copy beyond", msgrcv(id, at_edge(699, 0), 700, 0, MSG_COPY | IPC_NOWAIT));
    ROW("copy, read-only", (mprotect(pages + page, (size_t)page, PROT_READ), msgrcv(id, pages + page, 700, 0, MSG_COPY | IPC_NOWAIT)));
    MUST(mprotect(pages + page, (size_t)page, PROT_READ | PROT_WRITE));
    row_status("left", id, 0);
    ROW("none, null", msgrcv(id, NULL, 700, 99, IPC_NOWAIT));

    /* The same, handed over. */
    struct job job = CALLING(msgrcv(id, pages + 2 * page - 100, 700, 50, 0));
    MUST(give(id, 50, 'x', 600, 0));
    row_answer("handed over to nowhere", job);
    row_status("lost", id, job.pid);
    remove_queue(id);
}

static int setting(const char *name, long value)
{
    char path[64], text[32];
    snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
    int fd = open(path, O_WRONLY), n = sprintf(text, "%ld\n", value);
    int result = fd < 0 || write(fd, text, (size_t)n) != n ? -1 : 0;
    close(fd);
    return result;
}

/* In an IPC namespace of its own, which has limits of its own. */
static void limits(void)
{
    int id = new_queue();
    ROW("8192", give(id, 1, 'a', 8192, IPC_NOWAIT));
    ROW("msgmax 100", setting("msgmax", 100));
    usleep(20000);
    ROW("101", give(id, 1, 'b', 101, IPC_NOWAIT));
    ROW("100", give(id, 1, 'b', 100, IPC_NOWAIT));
    ROW("longer ones come still", take(id, 9000, 0, 0));
    ROW("copy of as much as there may be", take(id, 9000, 0, MSG_COPY | IPC_NOWAIT));
    ROW("msgmax 60000", setting("msgmax", 60000));
    ROW("more than the queue has room for", give(id, 1, 'c', 50000, IPC_NOWAIT));
    ROW("msgmnb 200000", setting("msgmnb", 200000));
    ROW("room", set_room(id, 200000));
    ROW("50000", give(id, 1, 'c', 50000, IPC_NOWAIT));
    ROW("60001", give(id, 1, 'c', 60001, IPC_NOWAIT));
    ROW("60000", give(id, 2, 'd', 60000, IPC_NOWAIT));
    struct job job = CALLING(take(id, 65000, 7, 0));
    ROW("handed over", give(id, 7, 'e', 60000, IPC_NOWAIT));
    row_answer("a long one", job);
    ROW("out", take(id, 65000, 0, 0));
    ROW("out", take(id, 65000, 0, 0));
    ROW("out", take(id, 65000, 0, 0));
    job = CALLING(take(id, 65000, 7, 0));
    ROW("msgmax 65000", setting("msgmax", 65000));
    ROW("longer than was possible when the receiver fell asleep", give(id, 7, 'e', 62000, IPC_NOWAIT));
    row_answer("comes", job);
    row_status("empty", id, job.pid);
    job = CALLING(take(id, 5, 7, MSG_NOERROR));
    ROW("cut from a long one", give(id, 7, 'f', 65000, IPC_NOWAIT));
    row_answer("comes", job);
    ROW("room", set_room(id, 64000));
    MUST(give(id, 1, 'g', 64000, 0));
    job = CALLING(give(id, 2, 'h', 63000, 0));
    ROW("out", take(id, 65000, 0, 0));
    row_answer("in", job);
    ROW("out", take(id, 65000, 0, 0));
    ROW("msgmax 8192", setting("msgmax", 8192));
    ROW("msgmnb 500", setting("msgmnb", 500));
    int small = new_queue();
    row_status("a new queue", small, 0);
    ROW("room for 501, as root", set_room(small, 501));
    ROW("msgmnb 16384", setting("msgmnb", 16384));
    remove_queue(small);
    ROW("msgmni 1", setting("msgmni", 1));
    ROW_ID("no more queues", msgget(IPC_PRIVATE, 0600));
    ROW_ID("by key", msgget(own_key(3), IPC_CREAT | 0600));
    ROW("without IPC_CREAT", msgget(own_key(3), 0600));
    ROW("msgmni 2", setting("msgmni", 2));
    small = (int)MUST(msgget(IPC_PRIVATE, 0600));
    remove_queue(small);
    ROW("msgmni 32000", setting("msgmni", 32000));
    remove_queue(id);
}

int main(void)
{
    if (geteuid() == 0 && alone()) {
        int modes[] = { 0600, 0060, 0006, 0000, 0444, 0222, 0640, 0604 };
        for (unsigned i = 0; i < COUNT(modes); i++)
            with_mode(modes[i]);
        if (access("/proc/sys/kernel/msgmax", W_OK) == 0)
            limits();
        else
            line("limits", "skipped, cannot be written");
    } else
        line("permissions and limits", "skipped, not root");
    faults();
    return 0;
}
