/* Code shared by the programs about message queues. */
#ifndef QUEUES_H
#define QUEUES_H
#include "check.h"
#include <limits.h>
#include <sys/msg.h>

#ifndef MSG_STAT_ANY
#define MSG_STAT_ANY 13
#endif

struct message {
    long type;
    char text[65536];
};

static int new_queue(void)
{
    return (int)MUST(msgget(IPC_PRIVATE, IPC_CREAT | 0600));
}

static void remove_queue(int id)
{
    msgctl(id, IPC_RMID, NULL);
}

/* Sends `size` bytes that begin with `first`. */
static int give(int id, long type, char first, size_t size, int flags)
{
    static struct message m;
    m.type = type;
    memset(m.text, first, size);
    return msgsnd(id, &m, size, flags);
}

/* Receives, and answers type, first letter and length in one number; checks that the text is whole. */
static long take(int id, size_t size, long type, int flags)
{
    static struct message m;
    memset(&m, '?', sizeof m);
    long n = msgrcv(id, &m, size, type, flags);
    if (n < 0)
        return n;
    for (long i = 1; i < n; i++)
        if (m.text[i] != m.text[0])
            return -3;
    if (n < 100 && m.text[n] != '?')
        return -4;
    return m.type * 1000000 + (n == 0 ? 0 : m.text[0] - 'a' + 1) * 10000 + n;
}

/* A child that makes a call, seen asleep in it. */
#define CALLING(call)                                                      \
    ({                                                                     \
        int ends_[2];                                                      \
        MUST(pipe(ends_));                                                 \
        fflush(stdout);                                                    \
        pid_t pid_ = (pid_t)MUST(fork());                                  \
        if (pid_ == 0) {                                                   \
            struct answer answer_;                                         \
            errno = 0;                                                     \
            answer_.result = (int)(call);                                  \
            answer_.error = errno;                                         \
            if (write(ends_[1], &answer_, sizeof answer_) != sizeof answer_) \
                _exit(98);                                                 \
            _exit(0);                                                      \
        }                                                                  \
        close(ends_[1]);                                                   \
        await_asleep(pid_);                                                \
        (struct job){ pid_, ends_[0] };                                    \
    })

static struct msqid_ds status(int id)
{
    struct msqid_ds ds;
    MUST(msgctl(id, IPC_STAT, &ds));
    return ds;
}

static const char *whose(pid_t pid, pid_t child)
{
    return pid == 0 ? "nobody" : pid == getpid() ? "this one" : pid == child ? "the child" : "somebody";
}

/* Everything that does not depend on time. */
static void row_status(const char *row, int id, pid_t child)
{
    struct msqid_ds ds;
    if (msgctl(id, IPC_STAT, &ds) == -1) {
        line(row, "-1 %s", errno_name(errno));
        return;
    }
    time_t now = time(NULL);
    line(row, "%lu bytes, %lu messages, at most %lu, sent by %s %s, received by %s %s, changed %s, mode %o",
         (unsigned long)ds.__msg_cbytes, (unsigned long)ds.msg_qnum, (unsigned long)ds.msg_qbytes,
         whose(ds.msg_lspid, child), ds.msg_stime == 0 ? "never" : labs(now - ds.msg_stime) < 60 ? "now" : "then",
         whose(ds.msg_lrpid, child), ds.msg_rtime == 0 ? "never" : labs(now - ds.msg_rtime) < 60 ? "now" : "then",
         ds.msg_ctime == 0 ? "never" : labs(now - ds.msg_ctime) < 60 ? "now" : "then", ds.msg_perm.mode);
}

static int set_room(int id, unsigned long bytes)
{
    struct msqid_ds ds = status(id);
    ds.msg_qbytes = bytes;
    return msgctl(id, IPC_SET, &ds);
}

#endif
