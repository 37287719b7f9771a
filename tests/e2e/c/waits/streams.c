/* What reads return if data is there already ("ready"), comes while the thread may be polling ("soon") or when it sleeps
 * ("late"): parts, ends, flags, errors. */
#include "table.h"
#include <netinet/in.h>

static int ends[2];
static const int delays_us[] = { -1, 0, 15, 40, 80, 3000 };

/* What the other side does after a delay. */
struct act {
    int us, at;
    void (*act)(void);
    pthread_t thread;
};

static void *perform(void *argument)
{
    struct act *act = (struct act *)argument;
    __atomic_store_n(&act->at, 1, __ATOMIC_SEQ_CST);
    burn_us(act->us);
    act->act();
    return NULL;
}

static void writes_three(void) { MUST_SYS(write(ends[1], "abc", 3)); }
static void writes_in_parts(void)
{
    MUST_SYS(write(ends[1], "abc", 3));
    burn_us(30);
    MUST_SYS(write(ends[1], "defgh", 5));
    burn_us(2000);
    MUST_SYS(write(ends[1], "ijkl", 4));
}
static void writes_then_closes(void)
{
    MUST_SYS(write(ends[1], "abc", 3));
    close(ends[1]);
}
static void closes(void) { close(ends[1]); }
static void shuts(void) { MUST_SYS(shutdown(ends[1], SHUT_WR)); }
static void resets(void)
{
    struct linger at_once = { 1, 0 };
    MUST_SYS(setsockopt(ends[1], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
    close(ends[1]);
}
static void sends_long(void) { MUST_SYS(send(ends[1], "0123456789abcdefghij", 20, 0)); }
static void sends_two(void)
{
    MUST_SYS(send(ends[1], "first", 5, 0));
    MUST_SYS(send(ends[1], "second", 6, 0));
}
static void sends_nothing(void) { MUST_SYS(send(ends[1], "", 0, 0)); }
static void sends_descriptor(void)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
    struct iovec part = { "f", 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes };
    memcpy(CMSG_DATA(&control.header), &ends[0], sizeof(int));
    MUST_SYS(sendmsg(ends[1], &message, 0));
}

/* Everything that can be observed of a read. */
static void tell(char *text, long n, const char *bytes, int flags)
{
    if (n < 0)
        snprintf(text, 96, "-1 %s", name_of(errno));
    else
        snprintf(text, 96, "%ld '%.*s' %x", n, (int)(n < 24 ? n : 24), bytes, flags);
}

static long by_read(char *text)
{
    char bytes[24] = "";
    long n = read(ends[0], bytes, 10);
    tell(text, n, bytes, 0);
    return n;
}
static long by_readv(char *text)
{
    char bytes[24] = "";
    struct iovec parts[3] = { { bytes, 2 }, { bytes, 0 }, { bytes + 2, 8 } };
    long n = readv(ends[0], parts, 3);
    tell(text, n, bytes, 0);
    return n;
}
static long with_flags(char *text, int flags)
{
    char bytes[24] = "";
    long n = recv(ends[0], bytes, 10, flags);
    tell(text, n, bytes, 0);
    return n;
}
static long by_recv(char *text) { return with_flags(text, 0); }
static long by_peek(char *text) { return with_flags(text, MSG_PEEK); }
static long by_peek_all(char *text) { return with_flags(text, MSG_PEEK | MSG_WAITALL); }
static long by_waitall(char *text) { return with_flags(text, MSG_WAITALL); }
static long by_trunc(char *text) { return with_flags(text, MSG_TRUNC); }
static long by_dontwait(char *text) { return with_flags(text, MSG_DONTWAIT); }
static long by_recvmsg(char *text)
{
    char bytes[24] = "", control[64];
    struct iovec part = { bytes, 10 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
    long n = recvmsg(ends[0], &message, MSG_CMSG_CLOEXEC);
    tell(text, n, bytes, n < 0 ? 0 : message.msg_flags);
    if (n >= 0 && CMSG_FIRSTHDR(&message) != NULL) {
        int fd;
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
        snprintf(text + strlen(text), 32, ", a descriptor, %d", fcntl(fd, F_GETFD));
        close(fd);
    }
    return n;
}
static long by_recvmmsg(char *text)
{
    char bytes[3][12] = { "" };
    struct iovec parts[3] = { { bytes[0], 10 }, { bytes[1], 10 }, { bytes[2], 10 } };
    struct mmsghdr messages[3];
    memset(messages, 0, sizeof messages);
    for (int i = 0; i < 3; i++)
        messages[i].msg_hdr = (struct msghdr){ .msg_iov = &parts[i], .msg_iovlen = 1 };
    long n = recvmmsg(ends[0], messages, 3, MSG_WAITFORONE, NULL);
    tell(text, n, bytes[0], 0);
    return n;
}
static long by_nothing_first(char *text)
{
    MUST_SYS(fcntl(ends[0], F_SETFL, O_NONBLOCK));
    return by_read(text);
}

static void open_pipe(void) { MUST_SYS(pipe(ends)); }
static void open_stream(void) { MUST_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends)); }
static void open_datagram(void) { MUST_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends)); }
static void open_sequence(void) { MUST_SYS(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends)); }
static void open_tcp(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    int listener = (int)MUST_SYS(socket(AF_INET, SOCK_STREAM, 0));
    MUST_SYS(bind(listener, (struct sockaddr *)&address, sizeof address));
    MUST_SYS(listen(listener, 1));
    MUST_SYS(getsockname(listener, (struct sockaddr *)&address, &length));
    ends[1] = (int)MUST_SYS(socket(AF_INET, SOCK_STREAM, 0));
    MUST_SYS(connect(ends[1], (struct sockaddr *)&address, length));
    ends[0] = (int)MUST_SYS(accept(listener, NULL, NULL));
    close(listener);
}

static const struct scene {
    const char *name;
    void (*open)(void), (*act)(void);
    long (*read)(char *);
    int times; /* how often it reads */
} scenes[] = {
    { "pipe, part of a read", open_pipe, writes_three, by_read, 1 },
    { "pipe, readv", open_pipe, writes_three, by_readv, 1 },
    { "pipe, part and end", open_pipe, writes_then_closes, by_read, 3 },
    { "pipe, end", open_pipe, closes, by_read, 1 },
    { "stream, part", open_stream, writes_three, by_recv, 1 },
    { "stream, end", open_stream, closes, by_recv, 2 },
    { "stream, shut", open_stream, shuts, by_recv, 2 },
    { "stream, peek and read", open_stream, writes_three, by_peek, 2 },
    { "stream, peek at all", open_stream, sends_long, by_peek_all, 2 },
    { "stream, wait for all", open_stream, writes_in_parts, by_waitall, 1 },
    { "stream, wait for all until the end", open_stream, writes_then_closes, by_waitall, 2 },
    { "stream, a descriptor", open_stream, sends_descriptor, by_recvmsg, 1 },
    { "tcp, part", open_tcp, writes_three, by_recv, 1 },
    { "tcp, end", open_tcp, shuts, by_read, 2 },
    { "tcp, reset", open_tcp, resets, by_read, 2 },
    { "tcp, wait for all", open_tcp, writes_in_parts, by_waitall, 1 },
    { "tcp, cut", open_tcp, writes_three, by_trunc, 1 },
    { "datagram, whole", open_datagram, writes_three, by_recv, 1 },
    { "datagram, cut", open_datagram, sends_long, by_recv, 1 },
    { "datagram, cut, its length", open_datagram, sends_long, by_trunc, 1 },
    { "datagram, cut, its flags", open_datagram, sends_long, by_recvmsg, 1 },
    { "datagram, empty", open_datagram, sends_nothing, by_recv, 1 },
    { "datagrams, two in turn", open_datagram, sends_two, by_recv, 2 },
    { "sequence, cut", open_sequence, sends_long, by_recvmsg, 1 },
    { "sequence, end", open_sequence, closes, by_recv, 2 },
    { "datagram, recvmmsg", open_datagram, writes_three, by_recvmmsg, 1 },
};

static void run(const struct scene *scene)
{
    char answers[COUNT(delays_us)][420];
    signal(SIGPIPE, SIG_IGN);
    for (unsigned d = 0; d < COUNT(delays_us); d++) {
        struct act act = { .us = delays_us[d], .act = scene->act };
        scene->open();
        if (act.us < 0) {
            act.act();
            burn_us(100);
        } else {
            MUST(pthread_create(&act.thread, NULL, perform, &act));
            while (!__atomic_load_n(&act.at, __ATOMIC_SEQ_CST))
                __asm__ volatile("pause");
        }
        answers[d][0] = 0;
        for (int n = 0; n < scene->times; n++) {
            char text[128];
            scene->read(text);
            snprintf(answers[d] + strlen(answers[d]), 132, "%s%s", n ? "; " : "", text);
        }
        if (act.us >= 0)
            MUST(pthread_join(act.thread, NULL));
        close(ends[0]);
        close(ends[1]);
    }
    line(scene->name, "%s", answers[0]);
    for (unsigned d = 1; d < COUNT(delays_us); d++)
        if (strcmp(answers[d], answers[0]) != 0)
            line(scene->name, "after %d us: %s", delays_us[d], answers[d]);
}

/* Reads that must not wait. */
static void at_once(const char *name, void (*open)(void))
{
    char row[64], text[128];
    open();
    snprintf(row, sizeof row, "%s, O_NONBLOCK", name);
    by_nothing_first(text);
    line(row, "%s", text);
    MUST_SYS(write(ends[1], "abc", 3));
    by_read(text);
    line(row, "%s", text);
    MUST_SYS(fcntl(ends[0], F_SETFL, 0));
    if (open != open_pipe) {
        by_dontwait(text);
        snprintf(row, sizeof row, "%s, MSG_DONTWAIT", name);
        line(row, "%s", text);
    }
    close(ends[0]);
    errno = 0;
    long n = write(ends[1], "abc", 3);
    line(name, "write without a reader: %ld %s", n, name_of(errno));
    close(ends[1]);
}

int main(void)
{
    for (unsigned i = 0; i < COUNT(scenes); i++)
        run(&scenes[i]);
    at_once("pipe", open_pipe);
    at_once("stream", open_stream);
    at_once("datagram", open_datagram);
    return 0;
}
