/* Epoll sets that several threads share: each event once, whichever thread is polling; sets in sets; changes during a wait. */
#include "table.h"

enum { THREADS = 3, EVENTS = 1500 };

static int set, in, out;
static int handled, in_hand, together, stop;

static void add(int set, int fd, uint32_t events, uint32_t data)
{
    struct epoll_event e = { .events = events, .data.u32 = data };
    MUST_SYS(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e));
}

static void await_handled(int count)
{
    while (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) < count)
        sched_yield();
}

static void *take_one_shots(void *nothing)
{
    struct epoll_event e;
    while (epoll_wait(set, &e, 1, -1) == 1 && !__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
        char byte;
        if (__atomic_add_fetch(&in_hand, 1, __ATOMIC_SEQ_CST) > 1)
            __atomic_add_fetch(&together, 1, __ATOMIC_SEQ_CST);
        MUST_SYS(read(in, &byte, 1));
        __atomic_sub_fetch(&in_hand, 1, __ATOMIC_SEQ_CST);
        __atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
        e.events = EPOLLIN | EPOLLONESHOT;
        MUST_SYS(epoll_ctl(set, EPOLL_CTL_MOD, in, &e));
    }
    return nothing;
}

/* Events are not consumed, so each is reported once because of the edge alone. */
static void *take_edges(void *nothing)
{
    struct epoll_event e;
    while (epoll_wait(set, &e, 1, -1) == 1 && !__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
        __atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
    return nothing;
}

/* A set of its own for each thread, all with the same descriptor. */
static void *take_exclusively(void *nothing)
{
    int own = (int)MUST_SYS(epoll_create1(0));
    struct epoll_event e;
    uint64_t one;
    add(own, in, EPOLLIN | EPOLLEXCLUSIVE, 1);
    add(own, out, EPOLLIN, 2);
    for (;;) {
        MUST_SYS(epoll_wait(own, &e, 1, -1));
        if (e.data.u32 == 2)
            break;
        if (read(in, &one, sizeof one) == sizeof one)
            __atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
    }
    close(own);
    return nothing;
}

static void shared(const char *row, void *(*take)(void *), void (*give)(int))
{
    pthread_t threads[THREADS];
    handled = together = stop = 0;
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, take, NULL));
    for (int i = 0; i < EVENTS; i++) {
        give(i);
        /* Sometimes the threads fall asleep in between. */
        if (i % 100 == 0)
            pause_ms(1);
    }
    await_handled(EVENTS);
    pause_ms(5);
    line(row, "handled %d of %d, together %d", handled, EVENTS, together);
    /* Level-triggered, so that every thread sees it. */
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
    int end = eventfd(1, 0);
    if (take != take_exclusively)
        add(set, end, EPOLLIN, 9);
    else
        MUST_SYS(eventfd_write(out, 1));
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_join(threads[i], NULL));
    close(end);
}

static void write_byte(int i)
{
    (void)i;
    MUST_SYS(write(out, "x", 1));
}

static void write_edge(int i)
{
    MUST_SYS(eventfd_write(in, 1));
    await_handled(i + 1);
}

static void write_token(int i)
{
    (void)i;
    MUST_SYS(eventfd_write(in, 1));
}

static void by_several_threads(void)
{
    int ends[2];
    MUST_SYS(pipe(ends));
    in = ends[0];
    out = ends[1];
    set = (int)MUST_SYS(epoll_create1(0));
    add(set, in, EPOLLIN | EPOLLONESHOT, 1);
    shared("EPOLLONESHOT", take_one_shots, write_byte);
    close(set);
    in = eventfd(0, EFD_NONBLOCK);
    set = (int)MUST_SYS(epoll_create1(0));
    add(set, in, EPOLLIN | EPOLLET, 1);
    shared("EPOLLET", take_edges, write_edge);
    close(set);
    in = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
    out = eventfd(0, 0);
    shared("EPOLLEXCLUSIVE", take_exclusively, write_token);
}

/* ---- What another thread does during a wait. ---- */

enum change { ADDS_READY, ADDS_THEN_WRITES, ASKS_FOR_MORE, DELETES, ARMS_AGAIN, CLOSES };
static const char *const changes[] = { "adds a ready one", "adds one, then writes", "asks for more", "deletes it, then writes",
                                       "arms it again", "closes it, then writes" };

struct scene {
    enum change change;
    int us, at, set, ends[2];
};

static void *perform(void *argument)
{
    struct scene *scene = (struct scene *)argument;
    struct epoll_event e = { .events = EPOLLIN, .data.u32 = 5 };
    __atomic_store_n(&scene->at, 1, __ATOMIC_SEQ_CST);
    burn_us(scene->us);
    switch (scene->change) {
    case ADDS_READY:
        MUST_SYS(write(scene->ends[1], "x", 1));
        MUST_SYS(epoll_ctl(scene->set, EPOLL_CTL_ADD, scene->ends[0], &e));
        break;
    case ADDS_THEN_WRITES:
        MUST_SYS(epoll_ctl(scene->set, EPOLL_CTL_ADD, scene->ends[0], &e));
        burn_us(20);
        MUST_SYS(write(scene->ends[1], "x", 1));
        break;
    case ASKS_FOR_MORE:
    case ARMS_AGAIN:
        MUST_SYS(epoll_ctl(scene->set, EPOLL_CTL_MOD, scene->ends[0], &e));
        break;
    case DELETES:
        MUST_SYS(epoll_ctl(scene->set, EPOLL_CTL_DEL, scene->ends[0], &e));
        MUST_SYS(write(scene->ends[1], "x", 1));
        break;
    case CLOSES:
        close(scene->ends[0]);
        write(scene->ends[1], "x", 1);
        break;
    }
    return NULL;
}

static void changed(enum change change)
{
    int found = 0, limits = 0;
    for (unsigned m = 0; m < COUNT(moments_us); m++) {
        struct scene scene = { .change = change, .us = moments_us[m] };
        struct epoll_event e;
        pthread_t thread;
        int at_end = change == DELETES || change == CLOSES;
        scene.set = (int)MUST_SYS(epoll_create1(0));
        MUST_SYS(pipe(scene.ends));
        if (change == ASKS_FOR_MORE || change == ARMS_AGAIN)
            write(scene.ends[1], "x", 1);
        if (change == ASKS_FOR_MORE)
            add(scene.set, scene.ends[0], EPOLLPRI, 4);
        if (change == ARMS_AGAIN) {
            add(scene.set, scene.ends[0], EPOLLIN | EPOLLONESHOT, 4);
            MUST_SYS(epoll_wait(scene.set, &e, 1, -1));
        }
        if (at_end)
            add(scene.set, scene.ends[0], EPOLLIN, 4);
        MUST(pthread_create(&thread, NULL, perform, &scene));
        while (!__atomic_load_n(&scene.at, __ATOMIC_SEQ_CST))
            __asm__ volatile("pause");
        int n = epoll_wait(scene.set, &e, 1, at_end ? 10 : FAR_MS);
        found += n == 1 && e.data.u32 == 5;
        limits += n == 0;
        MUST(pthread_join(thread, NULL));
        close(scene.ends[0]);
        close(scene.ends[1]);
        close(scene.set);
    }
    line(changes[change], "found %d, limit %d", found, limits);
}

/* ---- Alone. ---- */

static void nested(void)
{
    struct epoll_event e = { 0 };
    int ends[2], inner = (int)MUST_SYS(epoll_create1(0)), outer = (int)MUST_SYS(epoll_create1(0));
    struct pollfd fd = { outer, POLLIN, 0 };
    MUST_SYS(pipe(ends));
    add(inner, ends[0], EPOLLIN, 1);
    add(outer, inner, EPOLLIN, 2);
    line("an empty set in a set", "%d %d", epoll_wait(outer, &e, 1, 1), poll(&fd, 1, 1));
    MUST_SYS(write(ends[1], "x", 1));
    line("poll of the outer", "%d %x", poll(&fd, 1, -1), fd.revents);
    int n = epoll_wait(outer, &e, 1, -1);
    line("the outer", "%d %x %u", n, e.events, e.data.u32);
    n = epoll_wait(inner, &e, 1, -1);
    line("the inner", "%d %x %u", n, e.events, e.data.u32);
    close(ends[1]);
    n = epoll_wait(inner, &e, 1, -1);
    line("its other end is closed", "%d %x %u", n, e.events, e.data.u32);
    close(ends[0]);
    line("closed", "%d %d", epoll_wait(inner, &e, 1, 1), epoll_wait(outer, &e, 1, 1));
}

static void in_turn(void)
{
    int fds[5], own = (int)MUST_SYS(epoll_create1(0));
    struct epoll_event e[8];
    for (unsigned i = 0; i < 5; i++) {
        fds[i] = eventfd(1, 0);
        add(own, fds[i], i == 4 ? EPOLLIN | EPOLLOUT | EPOLLET : EPOLLIN, i);
    }
    for (int round = 0; round < 5; round++) {
        char text[64] = "";
        int n = epoll_wait(own, e, 2 + round % 3, -1);
        for (int i = 0; i < n; i++)
            snprintf(text + strlen(text), 16, "%u:%x ", e[i].data.u32, e[i].events);
        line("events in turn", "%s", text);
    }
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    by_several_threads();
    for (int change = ADDS_READY; change <= CLOSES; change++)
        changed((enum change)change);
    nested();
    in_turn();
    return 0;
}
