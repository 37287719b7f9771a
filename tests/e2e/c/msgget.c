/* msgget(2), and msgctl(2) while no process waits. */
#include "queues.h"

static void keys(void)
{
    key_t key = own_key(1);
    ROW("no such key", msgget(key, 0600));
    ROW("no such key, EXCL alone", msgget(key, IPC_EXCL));
    ROW_ID("create", msgget(key, IPC_CREAT | 0640));
    int id = (int)MUST(msgget(key, 0));
    ROW("the same", msgget(key, IPC_CREAT | 0600) == id);
    ROW("the same, EXCL alone", msgget(key, IPC_EXCL) == id);
    ROW("create again", msgget(key, IPC_CREAT | IPC_EXCL | 0600));
    row_status("new", id, 0);
    struct msqid_ds ds = status(id);
    line("owner", "%d %d %d %d, key %d", ds.msg_perm.uid == geteuid(), ds.msg_perm.cuid == geteuid(),
         ds.msg_perm.gid == getegid(), ds.msg_perm.cgid == getegid(), ds.msg_perm.__key == key);
    ROW("remove", msgctl(id, IPC_RMID, NULL));
    ROW("gone", msgget(key, 0));
    ROW("remove again", msgctl(id, IPC_RMID, NULL));
    ROW("send to it", give(id, 1, 'a', 1, IPC_NOWAIT));
    ROW("receive from it", take(id, 1, 0, IPC_NOWAIT));
    ROW("its status", msgctl(id, IPC_STAT, &ds));
    ROW_ID("made anew", msgget(key, IPC_CREAT | 0600));
    int next = (int)MUST(msgget(key, 0));
    line("another id", "%d", next != id);
    remove_queue(next);

    int a = new_queue(), b = new_queue();
    line("private ones differ", "%d", a != b);
    int c = msgget(IPC_PRIVATE, 0600);
    line("key 0 finds none, and needs no IPC_CREAT", "%d", c >= 0 && c != a && c != b);
    remove_queue(a);
    remove_queue(b);
    remove_queue(c);
    id = (int)MUST(msgget(IPC_PRIVATE, IPC_CREAT | 07777));
    row_status("mode bits", id, 0);
    remove_queue(id);
}

static void control(void)
{
    int id = new_queue();
    struct msqid_ds ds;
    struct msginfo info;
    ROW("unknown command", msgctl(id, 99, NULL));
    ROW("negative command", msgctl(id, -1, &ds));
    ROW("a command of semctl", msgctl(id, GETVAL == 12 ? 14 : 99, &ds));
    ROW("negative id", msgctl(-1, IPC_STAT, &ds));
    ROW("negative id, unknown command", msgctl(-1, 99, &ds));
    ROW("id too large", msgctl(INT_MAX, IPC_STAT, &ds));
    ROW("IPC_INFO, negative id", msgctl(-1, IPC_INFO, (struct msqid_ds *)&info));
    ROW("IPC_SET of none", msgctl(INT_MAX, IPC_SET, &ds));
    ROW("IPC_STAT, null", msgctl(id, IPC_STAT, NULL));
    ROW("IPC_SET, null", msgctl(id, IPC_SET, NULL));
    ROW("IPC_SET, null, of none", msgctl(INT_MAX, IPC_SET, NULL));
    ROW("IPC_STAT of none, null", msgctl(INT_MAX, IPC_STAT, NULL));
    ROW("IPC_INFO, null", msgctl(0, IPC_INFO, NULL));

    ds = status(id);
    ds.msg_perm.mode = 07604;
    ds.msg_qbytes = 100;
    ds.__msg_cbytes = 77;
    ds.msg_perm.__key = 5;
    ROW("IPC_SET", msgctl(id, IPC_SET, &ds));
    row_status("after IPC_SET", id, 0);
    ds.msg_perm.uid = (uid_t)-1;
    ROW("IPC_SET, no owner", msgctl(id, IPC_SET, &ds));
    ROW("an index too many", msgctl(1 << 14, MSG_STAT, &ds));
    remove_queue(id);
}

static void by_index(void)
{
    struct msqid_ds ds;
    struct msginfo info;
    memset(&info, '?', sizeof info);
    ROW("IPC_INFO, none", msgctl(0, IPC_INFO, (struct msqid_ds *)&info));
    line("limits", "%d %d %d", info.msgmax, info.msgmnb, info.msgmni);
    line("the others", "%d %d %d %d %u", info.msgpool, info.msgmap, info.msgssz, info.msgtql, info.msgseg);
    int ids[3];
    for (int i = 0; i < 3; i++) {
        ids[i] = new_queue();
        for (int n = 0; n <= i; n++)
            MUST(give(ids[i], 1, 'a', 10, 0));
    }
    ROW("IPC_INFO, highest index", msgctl(0, IPC_INFO, (struct msqid_ds *)&info));
    ROW("MSG_INFO, highest index", msgctl(77, MSG_INFO, (struct msqid_ds *)&info));
    line("queues, messages, bytes", "%d %d %d", info.msgpool, info.msgmap, info.msgtql);
    line("the others", "%d %d %d %d %u", info.msgmax, info.msgmnb, info.msgmni, info.msgssz, info.msgseg);
    for (int i = 0; i < 4; i++) {
        errno = 0;
        int id = msgctl(i, MSG_STAT, &ds);
        line("MSG_STAT", "%s", id < 0 ? errno_name(errno) : id == ids[i] ? "its id" : "another id");
        if (id >= 0)
            line("messages", "%lu", (unsigned long)ds.msg_qnum);
        id = msgctl(i, MSG_STAT_ANY, &ds);
        line("MSG_STAT_ANY", "%s", id < 0 ? errno_name(errno) : id == ids[i] ? "its id" : "another id");
    }
    ROW("MSG_STAT, null", msgctl(0, MSG_STAT, NULL));
    remove_queue(ids[1]);
    ROW("a hole in between", msgctl(1, MSG_STAT, &ds));
    ROW("highest index", msgctl(0, MSG_INFO, (struct msqid_ds *)&info));
    line("queues, messages, bytes", "%d %d %d", info.msgpool, info.msgmap, info.msgtql);
    remove_queue(ids[2]);
    ROW("highest index", msgctl(0, MSG_INFO, (struct msqid_ds *)&info));
    remove_queue(ids[0]);
}

int main(void)
{
    if (alone())
        by_index();
    keys();
    control();
    return 0;
}
