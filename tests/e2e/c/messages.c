/* msgsnd(2) and msgrcv(2) that need not sleep: order, types, flags, room, and the order of checks. */
#include "queues.h"

static void arguments(void)
{
    int id = new_queue();
    struct message m = { .type = 0 };
    ROW("type 0", give(id, 0, 'a', 1, 0));
    ROW("type -1", give(id, -1, 'a', 1, 0));
    ROW("lowest type", give(id, LONG_MIN, 'a', 1, 0));
    ROW("type before id", give(-1, 0, 'a', 1, 0));
    ROW("too long", give(id, 1, 'a', 8193, 0));
    ROW("size -1", msgsnd(id, &(struct message){ .type = 1 }, (size_t)-1, 0));
    ROW("size of LONG_MAX", msgsnd(id, &(struct message){ .type = 1 }, LONG_MAX, 0));
    ROW("negative id", give(-1, 1, 'a', 1, 0));
    ROW("no such id", give(INT_MAX, 1, 'a', 1, 0));
    ROW("null", msgsnd(id, NULL, 1, 0));
    ROW("null, negative id", msgsnd(-1, NULL, 1, 0));
    ROW("null, too long", msgsnd(id, NULL, 100000, 0));
    ROW("receive: negative id", take(-1, 1, 0, IPC_NOWAIT));
    ROW("receive: no such id", take(INT_MAX, 1, 0, IPC_NOWAIT));
    ROW("receive: size -1", msgrcv(id, &m, (size_t)-1, 0, IPC_NOWAIT));
    ROW("receive: size LONG_MAX", msgrcv(id, &m, LONG_MAX, 0, IPC_NOWAIT));
    ROW("receive: size LONG_MIN", msgrcv(id, &m, (size_t)LONG_MIN, 0, IPC_NOWAIT));
    ROW("receive: nothing there", take(id, 100, 0, IPC_NOWAIT));
    ROW("receive: nothing there, null", msgrcv(id, NULL, 100, 0, IPC_NOWAIT));
    row_status("nothing has happened", id, 0);
    ROW("largest type", give(id, 2000, 'z', 3, 0));
    ROW("it comes", take(id, 3, 2000, 0));
    m.type = LONG_MAX;
    ROW("LONG_MAX", msgsnd(id, &m, 2, 0));
    m.type = 0;
    ROW("LONG_MAX comes", msgrcv(id, &m, 2, LONG_MIN, 0));
    line("its type", "%d", m.type == LONG_MAX);
    row_status("after", id, 0);
    remove_queue(id);
}

/* Types 5 3 4 3 1 in this order, each with a letter of its own. */
static int filled(void)
{
    int id = new_queue();
    long types[] = { 5, 3, 4, 3, 1 };
    for (int i = 0; i < 5; i++)
        MUST(give(id, types[i], (char)('a' + i), (size_t)(i + 1), 0));
    return id;
}

static void types(void)
{
    int id = filled();
    row_status("filled", id, 0);
    ROW("any", take(id, 100, 0, 0));
    ROW("of type 3", take(id, 100, 3, 0));
    ROW("of type 3 again", take(id, 100, 3, 0));
    ROW("no more", take(id, 100, 3, IPC_NOWAIT));
    ROW("up to 4", take(id, 100, -4, 0));
    ROW("up to 3: none", take(id, 100, -3, IPC_NOWAIT));
    ROW("up to 4 again", take(id, 100, -4, 0));
    ROW("nothing left", take(id, 100, 0, IPC_NOWAIT));
    remove_queue(id);

    id = filled();
    ROW("lowest, first of equals", take(id, 100, -3, 0));
    ROW("then", take(id, 100, -3, 0));
    ROW("then", take(id, 100, -3, 0));
    ROW("none up to 3", take(id, 100, -3, IPC_NOWAIT));
    ROW("LONG_MIN", take(id, 100, LONG_MIN, 0));
    ROW("LONG_MIN", take(id, 100, LONG_MIN, 0));
    ROW("LONG_MIN, empty", take(id, 100, LONG_MIN, IPC_NOWAIT));
    remove_queue(id);

    id = filled();
    ROW("except 5", take(id, 100, 5, MSG_EXCEPT));
    ROW("except 4", take(id, 100, 4, MSG_EXCEPT));
    ROW("except 3", take(id, 100, 3, MSG_EXCEPT));
    ROW("except with 0 is any", take(id, 100, 0, MSG_EXCEPT));
    ROW("except with -1 is up to 1", take(id, 100, -1, MSG_EXCEPT));
    ROW("empty", take(id, 100, 9, MSG_EXCEPT | IPC_NOWAIT));
    MUST(give(id, 9, 'q', 1, 0));
    ROW("except the only one", take(id, 100, 9, MSG_EXCEPT | IPC_NOWAIT));
    remove_queue(id);
}

static void sizes(void)
{
    int id = new_queue();
    MUST(give(id, 2, 'l', 50, 0));
    ROW("too large", take(id, 49, 0, 0));
    row_status("it stays", id, 0);
    ROW("too large, nowait", take(id, 49, 0, IPC_NOWAIT));
    ROW("too large, but not wanted", take(id, 49, 7, IPC_NOWAIT));
    ROW("cut", take(id, 20, 0, MSG_NOERROR));
    row_status("it is gone", id, 0);
    MUST(give(id, 2, 'l', 50, 0));
    ROW("cut to nothing", take(id, 0, 0, MSG_NOERROR));
    MUST(give(id, 2, 'l', 50, 0));
    ROW("just fits", take(id, 50, 0, 0));
    MUST(give(id, 2, 0, 0, 0));
    ROW("empty message", take(id, 0, 0, 0));
    size_t lengths[] = { 1, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 96, 97, 224, 225, 511, 512, 513, 4064, 4065, 8191, 8192 };
    for (unsigned i = 0; i < COUNT(lengths); i++) {
        MUST(give(id, 3, 'm', lengths[i], 0));
        ROW("comes whole", take(id, 9000, 3, 0));
    }
    /* The lowest type is found, and is too large, though another would fit. */
    MUST(give(id, 2, 'b', 50, 0));
    MUST(give(id, 1, 'a', 60, 0));
    ROW("the lowest is too large", take(id, 55, -5, IPC_NOWAIT));
    ROW("any is not", take(id, 55, 0, IPC_NOWAIT));
    remove_queue(id);
}

static void copies(void)
{
    int id = filled();
    ROW("copy needs nowait", take(id, 100, 0, MSG_COPY));
    ROW("copy and except", take(id, 100, 0, MSG_COPY | MSG_EXCEPT | IPC_NOWAIT));
    ROW("copy and except, no such id", take(INT_MAX, 100, 0, MSG_COPY | MSG_EXCEPT | IPC_NOWAIT));
    ROW("copy, no such id", take(INT_MAX, 100, 0, MSG_COPY | IPC_NOWAIT));
    for (int i = -1; i < 6; i++)
        ROW("copy", take(id, 100, i, MSG_COPY | IPC_NOWAIT));
    ROW("copy, lowest", take(id, 100, LONG_MIN, MSG_COPY | IPC_NOWAIT));
    ROW("copy, too large", take(id, 2, 3, MSG_COPY | IPC_NOWAIT));
    ROW("copy, cut", take(id, 2, 3, MSG_COPY | IPC_NOWAIT | MSG_NOERROR));
    ROW("copy into more than a message can have", take(id, 60000, 3, MSG_COPY | IPC_NOWAIT));
    ROW("copy into nothing", take(id, 0, 3, MSG_COPY | IPC_NOWAIT));
    ROW("copy from null", msgrcv(id, NULL, 10, 0, MSG_COPY | IPC_NOWAIT));
    ROW("copy from null, nothing", msgrcv(id, NULL, 0, 0, MSG_COPY | IPC_NOWAIT));
    ROW("copy from null, no such id", msgrcv(INT_MAX, NULL, 10, 0, MSG_COPY | IPC_NOWAIT));
    row_status("nothing has happened", id, 0);
    remove_queue(id);
}

static void room(void)
{
    int id = new_queue();
    MUST(give(id, 1, 'a', 8192, IPC_NOWAIT));
    MUST(give(id, 1, 'b', 8192, IPC_NOWAIT));
    ROW("full", give(id, 1, 'c', 1, IPC_NOWAIT));
    ROW("nothing fits still", give(id, 1, 'c', 0, IPC_NOWAIT));
    row_status("full", id, 0);
    ROW("one out", take(id, 9000, 0, 0));
    ROW("one too many", give(id, 1, 'c', 8192, IPC_NOWAIT));
    ROW("full", give(id, 1, 'c', 8192, IPC_NOWAIT));
    remove_queue(id);

    id = new_queue();
    int n = 0;
    while (give(id, 1, 0, 0, IPC_NOWAIT) == 0)
        n++;
    line("empty messages that fit", "%d %s", n, errno_name(errno));
    row_status("full of nothing", id, 0);
    for (int i = 0; i < 10000; i++)
        MUST(msgrcv(id, &(long){ 0 }, 0, 0, 0));
    row_status("most are out", id, 0);
    ROW("room again", give(id, 7, 'x', 5, IPC_NOWAIT));
    ROW("by its type", take(id, 9, 7, 0));
    remove_queue(id);

    id = new_queue();
    ROW("room for 10", set_room(id, 10));
    ROW("8", give(id, 1, 'a', 8, IPC_NOWAIT));
    ROW("3 more", give(id, 1, 'a', 3, IPC_NOWAIT));
    ROW("2 more", give(id, 1, 'a', 2, IPC_NOWAIT));
    ROW("room for 5", set_room(id, 5));
    row_status("more than fit", id, 0);
    ROW("out", take(id, 9, 0, 0));
    ROW("3 more", give(id, 1, 'a', 3, IPC_NOWAIT));
    ROW("room for none", set_room(id, 0));
    ROW("out", take(id, 9, 0, 0));
    ROW("out", take(id, 9, 0, 0));
    ROW("nothing", give(id, 1, 0, 0, IPC_NOWAIT));
    ROW("room for 11 of 11", set_room(id, 11));
    ROW("11", give(id, 1, 'a', 11, IPC_NOWAIT));
    remove_queue(id);
}

/* Other processes see the message that a process sends, and its pid. */
static void processes(void)
{
    int id = new_queue();
    fflush(stdout);
    pid_t child = (pid_t)MUST(fork());
    if (child == 0) {
        MUST(give(id, 4, 'c', 30, 0));
        _exit(0);
    }
    MUST(waitpid(child, NULL, 0));
    row_status("sent by another", id, child);
    ROW("it comes", take(id, 30, 0, 0));
    row_status("received here", id, child);
    MUST(give(id, 4, 'd', 31, 0));
    fflush(stdout);
    child = (pid_t)MUST(fork());
    if (child == 0) {
        MUST((int)take(id, 31, 0, 0));
        _exit(0);
    }
    MUST(waitpid(child, NULL, 0));
    row_status("received by another", id, child);
    remove_queue(id);
}

int main(void)
{
    arguments();
    types();
    sizes();
    copies();
    room();
    processes();
    return 0;
}
