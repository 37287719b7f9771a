/* Two threads take turns: each waits for a byte from the other one, and answers. The waits are made by poll, epoll_pwait or read. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static int ends[2][2], sets[2], turns;
static char way;

/* Waits for the next byte. With epoll it stays in the pipe: an edge tells of each one. */
static void await_turn(int at)
{
    char byte;
    struct pollfd one = { .fd = ends[at][0], .events = POLLIN };
    struct epoll_event event;
    switch (way) {
    case 'p':
        if (poll(&one, 1, -1) != 1)
            abort();
        break;
    case 'e':
        if (epoll_pwait(sets[at], &event, 1, -1, NULL) != 1)
            abort();
        return;
    }
    if (read(ends[at][0], &byte, 1) != 1)
        abort();
}

static void give_turn(int to)
{
    if (write(ends[to][1], "", 1) != 1)
        abort();
}

static void *player(void *nothing)
{
    for (int i = 0; i < turns; i++) {
        await_turn(1);
        give_turn(0);
    }
    return nothing;
}

int main(int argc, char **argv)
{
    pthread_t other;
    way = argc > 1 ? argv[1][0] : 'p';
    turns = argc > 2 ? atoi(argv[2]) : 20000;
    for (int i = 0; i < 2; i++) {
        struct epoll_event event = { .events = EPOLLIN | EPOLLET };
        if (pipe(ends[i]) != 0)
            return 1;
        if (way == 'e') {
            sets[i] = epoll_create1(EPOLL_CLOEXEC);
            if (sets[i] < 0 || epoll_ctl(sets[i], EPOLL_CTL_ADD, ends[i][0], &event) != 0)
                return 1;
        }
    }
    if (pthread_create(&other, NULL, player, NULL) != 0)
        return 1;
    for (int i = 0; i < turns; i++) {
        give_turn(1);
        await_turn(0);
    }
    printf("%d turns\n", turns);
    return 0;
}
