/* Descriptors that another thread closes, shuts down or replaces during a wait: what a sleeping thread sees is the
 * kernel's answer. If it happens within the first microseconds, the call may also have come after it, so EBADF is right, too. A
 * call that never returns is wrong. */
#include "table.h"

enum deed { CLOSES, REPLACES, SHUTS, CLOSES_OTHER };
static const char *const deeds[] = { "closed", "replaced", "shut down", "its other end closed" };

struct scene {
    const struct wait *wait;
    struct place place;
    int entered, error;
    pid_t tid;
    long answer;
};

/* A moment: when the thread sleeps. */
enum { ASLEEP = -1 };

static void *enter(void *argument)
{
    struct scene *scene = (struct scene *)argument;
    __atomic_store_n(&scene->tid, gettid(), __ATOMIC_SEQ_CST);
    __atomic_store_n(&scene->entered, 1, __ATOMIC_SEQ_CST);
    errno = UNTOUCHED;
    scene->answer = scene->wait->call(&scene->place);
    scene->error = scene->answer == -1 ? errno : 0;
    return NULL;
}

static void perform(struct scene *scene, enum deed deed)
{
    struct place *p = &scene->place;
    int spare;
    switch (deed) {
    case CLOSES:
        close(p->in);
        break;
    case REPLACES:
        spare = (int)MUST_SYS(open("/dev/null", O_RDONLY));
        MUST_SYS(dup2(spare, p->in));
        close(spare);
        break;
    case SHUTS:
        MUST_SYS(shutdown(p->in, SHUT_RDWR));
        break;
    case CLOSES_OTHER:
        close(p->out);
        p->out = -1;
        break;
    }
}

static void run(const struct wait *wait, enum deed deed, int us, struct scene *scene)
{
    pthread_t thread;
    int is_shut = deed == SHUTS || deed == CLOSES_OTHER;
    memset(scene, 0, sizeof *scene);
    scene->wait = wait;
    signal(SIGPIPE, SIG_IGN);
    open_place(&scene->place, wait->object);
    int copy = dup(scene->place.in);
    MUST(pthread_create(&thread, NULL, enter, scene));
    while (!__atomic_load_n(&scene->entered, __ATOMIC_SEQ_CST))
        __asm__ volatile("pause");
    if (us == ASLEEP)
        await_blocked(&scene->tid);
    else
        burn_us(us);
    perform(scene, deed);
    if (!is_shut) {
        pause_ms(us == ASLEEP || us > 1000 ? 3 : 0);
        end_wait(&scene->place);
    }
    MUST(pthread_join(thread, NULL));
    close(copy);
    shut_place(&scene->place);
}

int main(void)
{
    static const char *const names[] = { "poll", "select", "epoll_wait", "read of a pipe", "read of a socket", "recv", "recvmsg" };
    for (unsigned i = 0; i < COUNT(waits); i++)
        for (unsigned n = 0; n < COUNT(names); n++)
            for (int deed = CLOSES; deed <= CLOSES_OTHER; deed++) {
                char row[64];
                struct scene scene, late;
                int others = 0;
                if (strcmp(waits[i].name, names[n]) != 0 || (deed == SHUTS && waits[i].object != SOCKET))
                    continue;
                /* /dev/null is always ready, and the set forgets what it is replaced by: no answer that another can end. */
                if (waits[i].object == SET && deed == REPLACES)
                    continue;
                run(&waits[i], (enum deed)deed, ASLEEP, &late);
                for (unsigned m = 0; m < COUNT(moments_us); m++) {
                    run(&waits[i], (enum deed)deed, moments_us[m], &scene);
                    int is_same = scene.answer == late.answer && scene.error == late.error;
                    int came_after = (deed == CLOSES && (scene.error == EBADF || scene.answer == 1000 + POLLNVAL)) ||
                                     (deed == REPLACES && (scene.answer >= 0 || scene.error == ENOTSOCK));
                    others += !is_same && !came_after;
                }
                snprintf(row, sizeof row, "%s, %s", waits[i].name, deeds[deed]);
                line(row, "asleep %ld %s; %d others", late.answer, name_of(late.error), others);
            }
    return 0;
}
