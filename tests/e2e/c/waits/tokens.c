/* A random program: threads take tokens from inboxes and pass them on, until so many hops are made. Its description comes
 * from standard input:
 *
 *   inbox KIND                                     pipe stream datagram eventfd semaphore condition futex
 *   node INBOX CALL LIMIT_US WORK_US INBOX...      a thread: where it takes tokens, how, and to whom it passes them in turn
 *   tokens INBOX COUNT
 *   hops COUNT
 *   signals EVERY_US RESTART                       to each thread in turn
 *
 * No token may be lost or doubled, so what it prints is the same each time. The argument says after how many seconds without a
 * hop it gives up. */
#include "table.h"

enum kind { PIPES, STREAM, DATAGRAM, EVENTFD, SEMAPHORES, CONDITIONS, FUTEXES, KINDS };
static const char *const kind_names[KINDS] = { "pipe", "stream", "datagram", "eventfd", "semaphore", "condition", "futex" };
/* How a node waits for a descriptor. */
enum call { READ, POLL, SELECT, EPOLL, PPOLL, CALLS };
static const char *const call_names[CALLS] = { "read", "poll", "select", "epoll", "ppoll" };

enum { MOST = 32 };

struct inbox {
    enum kind kind;
    int in, out;
    sem_t semaphore;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    int tokens;
};

struct node {
    int inbox, routes[8], route_count, next, set;
    enum call call;
    long limit_us, work_us;
    pthread_t thread;
};

static struct inbox inboxes[MOST];
static struct node nodes[MOST];
static int inbox_count, node_count, token_count, stop, retired, stopped;
static long hops, total, received, signals_us;

static void handle(int number)
{
    (void)number;
}

static void open_inbox(struct inbox *box)
{
    int ends[2] = { -1, -1 };
    if (box->kind == PIPES)
        MUST_SYS(pipe(ends));
    if (box->kind == STREAM)
        MUST_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    if (box->kind == DATAGRAM)
        MUST_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
    if (box->kind == EVENTFD)
        ends[0] = ends[1] = (int)MUST_SYS(eventfd(0, EFD_SEMAPHORE));
    box->in = ends[0];
    box->out = ends[1];
    MUST_SYS(sem_init(&box->semaphore, 0, 0));
    MUST(pthread_mutex_init(&box->mutex, NULL));
    MUST(pthread_cond_init(&box->condition, NULL));
}

static void put(struct inbox *box)
{
    static const uint64_t one = 1;
    size_t size = box->kind == EVENTFD ? sizeof one : 1;
    switch (box->kind) {
    case SEMAPHORES:
        MUST_SYS(sem_post(&box->semaphore));
        break;
    case CONDITIONS:
        MUST(pthread_mutex_lock(&box->mutex));
        box->tokens++;
        MUST(pthread_cond_signal(&box->condition));
        MUST(pthread_mutex_unlock(&box->mutex));
        break;
    case FUTEXES:
        __atomic_add_fetch(&box->tokens, 1, __ATOMIC_SEQ_CST);
        MUST_SYS(syscall(SYS_futex, &box->tokens, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
        break;
    default:
        while (write(box->out, &one, size) < 0)
            if (errno != EINTR)
                must(errno, "write", __LINE__);
    }
}

/* One wait for a descriptor. Whether it is over. */
static int is_ready(const struct node *node, int fd)
{
    struct timespec span = { node->limit_us / 1000000, node->limit_us % 1000000 * 1000 };
    struct timeval tv = { node->limit_us / 1000000, node->limit_us % 1000000 };
    struct pollfd one = { fd, POLLIN, 0 };
    struct epoll_event e;
    fd_set set;
    int ms = node->limit_us ? (int)(node->limit_us / 1000) : -1;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    switch (node->call) {
    case POLL:
        return poll(&one, 1, ms) > 0;
    case SELECT:
        return select(fd + 1, &set, NULL, NULL, node->limit_us ? &tv : NULL) > 0;
    case EPOLL:
        return epoll_wait(node->set, &e, 1, ms) > 0;
    case PPOLL:
        return ppoll(&one, 1, node->limit_us ? &span : NULL, NULL) > 0;
    default:
        return 1;
    }
}

static int take_word(struct inbox *box, long limit_us)
{
    struct timespec span = { limit_us / 1000000, limit_us % 1000000 * 1000 };
    int now = __atomic_load_n(&box->tokens, __ATOMIC_SEQ_CST);
    while (now > 0)
        if (__atomic_compare_exchange_n(&box->tokens, &now, now - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return 1;
    syscall(SYS_futex, &box->tokens, FUTEX_WAIT_PRIVATE, 0, limit_us ? &span : NULL, NULL, 0);
    return 0;
}

static struct timespec in_us(long us)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += us * 1000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* Waits once. Whether there is a token now. */
static int take(const struct node *node)
{
    struct inbox *box = &inboxes[node->inbox];
    struct timespec until = in_us(node->limit_us);
    char bytes[8];
    int error = 0;
    switch (box->kind) {
    case SEMAPHORES:
        return (node->limit_us ? sem_timedwait(&box->semaphore, &until) : sem_wait(&box->semaphore)) == 0;
    case CONDITIONS:
        MUST(pthread_mutex_lock(&box->mutex));
        while (box->tokens == 0 && error == 0)
            error = node->limit_us ? pthread_cond_timedwait(&box->condition, &box->mutex, &until)
                                   : pthread_cond_wait(&box->condition, &box->mutex);
        int got = box->tokens > 0;
        box->tokens -= got;
        MUST(pthread_mutex_unlock(&box->mutex));
        return got;
    case FUTEXES:
        return take_word(box, node->limit_us);
    default:
        return is_ready(node, box->in) && read(box->in, bytes, box->kind == EVENTFD ? 8 : 1) > 0;
    }
}

static void *pass_on(void *argument)
{
    struct node *node = (struct node *)argument;
    while (1) {
        while (!take(node))
            ;
        if (__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
            break;
        __atomic_add_fetch(&received, 1, __ATOMIC_SEQ_CST);
        if (node->work_us)
            burn_us((double)node->work_us);
        if (__atomic_fetch_sub(&hops, 1, __ATOMIC_SEQ_CST) > 0)
            put(&inboxes[node->routes[node->next++ % node->route_count]]);
        else
            __atomic_add_fetch(&retired, 1, __ATOMIC_SEQ_CST);
    }
    __atomic_add_fetch(&stopped, 1, __ATOMIC_SEQ_CST);
    /* Until all have stopped, a signal may be on its way to this thread. */
    while (__atomic_load_n(&stopped, __ATOMIC_SEQ_CST) < node_count)
        usleep(200);
    return NULL;
}

static int by_name(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    fprintf(stderr, "what is %s?\n", name);
    exit(99);
}

static void read_description(void)
{
    char text[256], word[32], call[32];
    struct sigaction action = { .sa_handler = handle };
    int number, count, at, more;
    MUST_SYS(sigaction(SIGUSR1, &action, NULL));
    while (fgets(text, sizeof text, stdin) != NULL) {
        struct node *node = &nodes[node_count];
        if (sscanf(text, "inbox %31s", word) == 1) {
            inboxes[inbox_count].kind = (enum kind)by_name(kind_names, KINDS, word);
            open_inbox(&inboxes[inbox_count++]);
        } else if (sscanf(text, "node %d %31s %ld %ld%n", &node->inbox, call, &node->limit_us, &node->work_us, &at) == 4) {
            node->call = (enum call)by_name(call_names, CALLS, call);
            for (; node->route_count < 8 && sscanf(text + at, "%d%n", &node->routes[node->route_count], &more) == 1; at += more)
                node->route_count++;
            node_count++;
        } else if (sscanf(text, "tokens %d %d", &number, &count) == 2) {
            inboxes[number].tokens += count; /* put in at the start */
            token_count += count;
        } else if (sscanf(text, "hops %ld", &hops) == 1) {
            total = hops;
        } else if (sscanf(text, "signals %ld %d", &signals_us, &number) == 2) {
            action.sa_flags = number ? SA_RESTART : 0;
            MUST_SYS(sigaction(SIGUSR1, &action, NULL));
        }
    }
}

static void begin(void)
{
    for (int i = 0; i < inbox_count; i++) {
        int count = inboxes[i].tokens;
        inboxes[i].tokens = 0;
        for (; count > 0; count--)
            put(&inboxes[i]);
    }
    for (int i = 0; i < node_count; i++) {
        struct epoll_event e = { .events = EPOLLIN };
        nodes[i].set = (int)MUST_SYS(epoll_create1(0));
        if (inboxes[nodes[i].inbox].in >= 0)
            MUST_SYS(epoll_ctl(nodes[i].set, EPOLL_CTL_ADD, inboxes[nodes[i].inbox].in, &e));
        MUST(pthread_create(&nodes[i].thread, NULL, pass_on, &nodes[i]));
    }
}

/* Sends the signals while `going` counts up to `enough`. */
static void oversee(const int *going, int enough, int seconds)
{
    long last = -1;
    double since = now_us();
    for (int i = 0; __atomic_load_n(going, __ATOMIC_SEQ_CST) < enough; i++) {
        long now = __atomic_load_n(&received, __ATOMIC_SEQ_CST) + *going;
        if (now != last)
            since = now_us();
        last = now;
        if (now_us() - since > seconds * 1e6) {
            line("stuck", "retired %d of %d, stopped %d of %d", retired, token_count, stopped, node_count);
            _exit(3);
        }
        if (signals_us)
            pthread_kill(nodes[i % node_count].thread, SIGUSR1);
        usleep(signals_us ? (useconds_t)signals_us : 200);
    }
}

static int left_over(struct inbox *box)
{
    int count = 0;
    if (box->in < 0) {
        sem_getvalue(&box->semaphore, &count);
        return count + box->tokens;
    }
    char bytes[8];
    MUST_SYS(fcntl(box->in, F_SETFL, O_NONBLOCK));
    while (read(box->in, bytes, box->kind == EVENTFD ? 8 : 1) > 0)
        count++;
    return count;
}

int main(int argc, char **argv)
{
    int seconds = argc > 1 ? atoi(argv[1]) : 60, rest = 0;
    read_description();
    begin();
    oversee(&retired, token_count, seconds);
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < node_count; i++)
        put(&inboxes[nodes[i].inbox]);
    oversee(&stopped, node_count, seconds);
    for (int i = 0; i < node_count; i++)
        MUST(pthread_join(nodes[i].thread, NULL));
    for (int i = 0; i < inbox_count; i++)
        rest += left_over(&inboxes[i]);
    line("tokens", "%d, retired %d, left over %d", token_count, retired, rest);
    line("hops", "%ld, received %ld", total, received);
    return 0;
}
