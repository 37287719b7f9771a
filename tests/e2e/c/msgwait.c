/* msgsnd(2) and msgrcv(2) that sleep: what wakes them, in which order, and with what answer. */
#include "queues.h"
#include <pthread.h>

static void receivers(void)
{
    int id = new_queue();
    struct job job = CALLING(take(id, 100, 0, 0));
    MUST(give(id, 7, 'a', 20, 0));
    row_status("handed over already", id, job.pid);
    row_answer("woken", job);

    job = CALLING(take(id, 100, 5, 0));
    MUST(give(id, 4, 'a', 1, 0));
    line("not by another type", "%d", sleeps(job));
    ROW("nor can it be taken from the sleeper", take(id, 100, 5, IPC_NOWAIT));
    MUST(give(id, 5, 'b', 2, 0));
    ROW("a third cannot barge", take(id, 100, 5, IPC_NOWAIT));
    row_answer("by its type", job);
    row_status("the other stays", id, job.pid);
    ROW("out", take(id, 100, 0, 0));

    job = CALLING(take(id, 100, -3, 0));
    MUST(give(id, 4, 'a', 1, 0));
    line("not by a higher type", "%d", sleeps(job));
    MUST(give(id, 3, 'b', 2, 0));
    row_answer("by one not above", job);
    job = CALLING(take(id, 100, 4, MSG_EXCEPT));
    MUST(give(id, 4, 'c', 1, 0));
    line("not by the one excepted", "%d", sleeps(job));
    MUST(give(id, 9, 'd', 2, 0));
    row_answer("by any other", job);
    job = CALLING(take(id, 5, 8, MSG_NOERROR));
    MUST(give(id, 8, 'e', 50, 0));
    row_answer("cut", job);
    job = CALLING(take(id, 0, 8, 0));
    MUST(give(id, 8, 0, 0, 0));
    row_answer("empty", job);
    job = CALLING(take(id, 9000, 8, 0));
    MUST(give(id, 8, 'f', 8192, 0));
    row_answer("the longest", job);
    remove_queue(id);

    /* Receivers that a message fits are served in order of arrival. */
    id = new_queue();
    struct job jobs[4];
    long wanted[] = { 2, 1, 0, 1 };
    for (int i = 0; i < 4; i++)
        jobs[i] = CALLING(take(id, 100, wanted[i], 0));
    for (int i = 0; i < 3; i++)
        MUST(give(id, 1, (char)('a' + i), 10, 0));
    row_answer("second", jobs[1]);
    row_answer("third", jobs[2]);
    row_answer("fourth", jobs[3]);
    MUST(give(id, 2, 'd', 10, 0));
    row_answer("first", jobs[0]);
    remove_queue(id);
}

static void too_small(void)
{
    int id = new_queue();
    struct job a = CALLING(take(id, 10, 0, 0)), b = CALLING(take(id, 19, 0, 0)), c = CALLING(take(id, 20, 0, 0)),
               d = CALLING(take(id, 5, 0, 0)), e = CALLING(take(id, 5, 3, 0));
    MUST(give(id, 1, 'a', 20, 0));
    row_answer("too small, first", a);
    row_answer("too small, second", b);
    row_answer("fits", c);
    row_status("handed over", id, c.pid);
    line("behind it, undisturbed", "%d", sleeps(d));
    MUST(give(id, 1, 'b', 20, 0));
    row_answer("nobody left whom it fits", d);
    row_status("it stays in the queue", id, c.pid);
    line("of another type, undisturbed", "%d", sleeps(e));
    MUST(give(id, 3, 'c', 5, 0));
    row_answer("served", e);
    ROW("what stayed", take(id, 100, 0, IPC_NOWAIT));
    remove_queue(id);
}

static void senders(void)
{
    int id = new_queue();
    MUST(set_room(id, 100));
    MUST(give(id, 1, 'a', 60, 0));
    struct job job = CALLING(give(id, 2, 'b', 50, 0));
    row_status("full", id, job.pid);
    ROW("a smaller one passes", give(id, 3, 'c', 30, IPC_NOWAIT));
    line("still asleep", "%d", sleeps(job));
    ROW("room", take(id, 100, 3, 0));
    line("not enough", "%d", sleeps(job));
    ROW("more room", take(id, 100, 1, 0));
    row_answer("sent", job);
    row_status("in the queue", id, job.pid);
    ROW("it comes", take(id, 100, 0, 0));

    /* Only senders whose message fits are woken, in order of arrival. */
    MUST(give(id, 1, 'a', 100, 0));
    struct job large = CALLING(give(id, 2, 'l', 90, 0)), small = CALLING(give(id, 3, 's', 20, 0)),
               other = CALLING(give(id, 4, 'o', 15, 0));
    ROW("room for all but the first", set_room(id, 140));
    row_answer("second", small);
    row_answer("third", other);
    line("first", "%d", sleeps(large));
    ROW("out", take(id, 100, 3, 0));
    ROW("out", take(id, 100, 4, 0));
    line("first", "%d", sleeps(large));
    ROW("out", take(id, 100, 1, 0));
    row_answer("first", large);
    ROW("out", take(id, 100, 2, 0));

    /* By messages, not bytes. */
    MUST(set_room(id, 2));
    MUST(give(id, 1, 0, 0, 0));
    MUST(give(id, 1, 0, 0, 0));
    job = CALLING(give(id, 2, 0, 0, 0));
    row_status("two at most", id, job.pid);
    ROW("out", take(id, 100, 0, 0));
    row_answer("third", job);
    row_status("two again", id, job.pid);
    ROW("more", set_room(id, 16384));
    ROW("more", give(id, 3, 'x', 100, IPC_NOWAIT));
    remove_queue(id);

    /* All senders whose message alone fits are woken, and one at a time finds room. The kernel does not define which
     * one. */
    id = new_queue();
    MUST(set_room(id, 10));
    MUST(give(id, 1, 'a', 10, 0));
    struct job jobs[3];
    for (int i = 0; i < 3; i++)
        jobs[i] = CALLING(give(id, 2 + i, (char)('b' + i), 10, 0));
    long types = 0;
    for (int i = 0; i < 4; i++) {
        long got = take(id, 10, 0, 0);
        types += 1L << got / 1000000;
        line("out", "%ld", got % 10000);
    }
    line("each once", "%ld", types);
    for (int i = 0; i < 3; i++)
        row_answer("in", jobs[i]);
    row_status("empty", id, 0);
    remove_queue(id);
}

static void both(void)
{
    /* A sender that sleeps has copied its text already. */
    int id = new_queue();
    MUST(set_room(id, 10));
    MUST(give(id, 1, 'a', 10, 0));
    struct job job = CALLING(give(id, 2, 'b', 9, 0)), receiver = CALLING(take(id, 10, 2, 0));
    line("both sleep", "%d %d", sleeps(job), sleeps(receiver));
    ROW("out", take(id, 10, 1, 0));
    row_answer("sender", job);
    row_answer("receiver", receiver);
    struct msqid_ds ds = status(id);
    line("left", "%lu %lu", (unsigned long)ds.msg_qnum, (unsigned long)ds.__msg_cbytes);
    line("who", "%s %s", ds.msg_lspid == job.pid ? "the sender" : "?", ds.msg_lrpid == receiver.pid ? "the receiver" : "?");
    remove_queue(id);
}

static void removal(void)
{
    int id = new_queue();
    MUST(set_room(id, 10));
    MUST(give(id, 1, 'a', 10, 0));
    struct job sender = CALLING(give(id, 2, 'b', 9, 0)), receiver = CALLING(take(id, 10, 2, 0)),
               other = CALLING(give(id, 2, 'b', 0, 0) == -1 ? -1 : 0);
    row_answer("it fits at once", other);
    row_answer("and goes to the receiver", receiver);
    receiver = CALLING(take(id, 10, 2, 0));
    ROW("remove", msgctl(id, IPC_RMID, NULL));
    row_answer("sender", sender);
    row_answer("receiver", receiver);
    ROW("afterwards", give(id, 1, 'a', 1, IPC_NOWAIT));
}

static void permission(void)
{
    /* IPC_SET makes waiting receivers check their permissions again. A sender checks when there is room. */
    if (geteuid() != 0)
        return;
    int id = (int)MUST(msgget(IPC_PRIVATE, 0666));
    MUST(set_room(id, 10));
    MUST(give(id, 1, 'a', 10, 0));
    struct job receiver = CALLING((MUST(setuid(3333)), take(id, 10, 2, 0))),
               sender = CALLING((MUST(setuid(3333)), give(id, 2, 'b', 10, 0)));
    struct msqid_ds ds = status(id);
    ds.msg_perm.mode = 0644;
    MUST(msgctl(id, IPC_SET, &ds));
    line("may read still", "%d", sleeps(receiver));
    line("sender is not asked", "%d", sleeps(sender));
    ds.msg_perm.mode = 0600;
    MUST(msgctl(id, IPC_SET, &ds));
    row_answer("may not read any more", receiver);
    line("sender is not asked", "%d", sleeps(sender));
    MUST((int)take(id, 10, 0, 0));
    row_answer("sender, when there is room", sender);
    row_status("nothing was sent", id, 0);
    remove_queue(id);
}

static void on_signal(int signal)
{
    (void)signal;
}

static long with_handler(int id, int flags, int send)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
    MUST(sigaction(SIGUSR1, &action, NULL));
    return send ? give(id, 2, 'b', 10, 0) : take(id, 10, 9, 0);
}

static void signals(void)
{
    int id = new_queue();
    MUST(set_room(id, 10));
    MUST(give(id, 1, 'a', 10, 0));
    for (int send = 0; send < 2; send++)
        for (int restart = 0; restart < 2; restart++) {
            struct job job = CALLING(with_handler(id, restart ? SA_RESTART : 0, send));
            MUST(kill(job.pid, SIGUSR1));
            row_answer(send ? "send, interrupted" : "receive, interrupted", job);
        }
    row_status("nothing has happened", id, 0);
    struct job job = CALLING((signal(SIGUSR1, SIG_IGN), take(id, 10, 9, 0)));
    MUST(kill(job.pid, SIGUSR1));
    line("an ignored signal", "%d", sleeps(job));
    finish(job);
    /* Dead processes neither receive nor send. */
    job = CALLING(take(id, 10, 3, 0));
    struct job next = CALLING(take(id, 10, 3, 0)), sender = CALLING(give(id, 4, 'd', 5, 0));
    finish(job);
    finish(sender);
    ROW("out", take(id, 10, 1, 0));
    MUST(give(id, 3, 'c', 3, 0));
    row_answer("the next one receives", next);
    ROW("the dead sender's", take(id, 10, 4, IPC_NOWAIT));
    row_status("empty", id, next.pid);
    remove_queue(id);
}

struct both {
    int id;
    long answer;
    volatile pid_t tid;
};

static void *receive_there(void *arg)
{
    struct both *b = arg;
    b->tid = (pid_t)syscall(SYS_gettid);
    struct message *m = malloc(sizeof *m);
    b->answer = msgrcv(b->id, m, 100, 0, 0);
    free(m);
    return NULL;
}

/* The kernel records the id of a thread that was handed a message, but the process id of a thread that took one from the
 * queue. */
static void threads(void)
{
    struct both b = { .id = new_queue() };
    pthread_t thread;
    MUST(-pthread_create(&thread, NULL, receive_there, &b));
    while (b.tid == 0)
        usleep(1000);
    await_asleep(b.tid);
    MUST(give(b.id, 1, 'a', 5, 0));
    pthread_join(thread, NULL);
    struct msqid_ds ds = status(b.id);
    line("handed to a thread", "%ld, noted is %s", b.answer,
         ds.msg_lrpid == b.tid ? "the thread" : ds.msg_lrpid == getpid() ? "the process" : "somebody");
    MUST(give(b.id, 1, 'a', 5, 0));
    MUST(-pthread_create(&thread, NULL, receive_there, &b));
    pthread_join(thread, NULL);
    ds = status(b.id);
    line("taken by a thread", "%ld, noted is %s", b.answer,
         ds.msg_lrpid == b.tid ? "the thread" : ds.msg_lrpid == getpid() ? "the process" : "somebody");
    remove_queue(b.id);
}

int main(void)
{
    receivers();
    too_small();
    senders();
    both();
    removal();
    permission();
    signals();
    threads();
    return 0;
}
