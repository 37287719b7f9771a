/* Which of several threads gets an event, where all of them sleep for certain: the kernel's and glibc's order. */
#include "table.h"

enum { THREADS = 4 };

static const struct wait *chosen;
static struct place place;
static int order[THREADS], count;
static pid_t tids[THREADS];

static void *enter(void *argument)
{
    int own = (int)(intptr_t)argument;
    __atomic_store_n(&tids[own], (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
    chosen->call(&place);
    order[__atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST)] = own;
    return NULL;
}

static void end_one(void)
{
    if (place.object == WORD)
        MUST_SYS(syscall(SYS_futex, &place.word, chosen->call == wait_futex ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
    else
        end_wait(&place);
}

int main(void)
{
    static const char *const names[] = { "read of a pipe", "accept", "sem_wait", "pthread_cond_wait",
                                         "FUTEX_WAIT", "FUTEX_WAIT private", "FUTEX_WAIT_BITSET" };
    for (unsigned i = 0; i < COUNT(waits); i++)
        for (unsigned n = 0; n < COUNT(names); n++) {
            pthread_t threads[THREADS];
            if (strcmp(waits[i].name, names[n]) != 0)
                continue;
            chosen = &waits[i];
            count = 0;
            open_place(&place, chosen->object);
            for (int t = 0; t < THREADS; t++) {
                MUST(pthread_create(&threads[t], NULL, enter, (void *)(intptr_t)t));
                await_blocked(&tids[t]);
                tids[t] = 0;
            }
            for (int t = 0; t < THREADS; t++) {
                end_one();
                await_value(&count, t + 1);
            }
            for (int t = 0; t < THREADS; t++)
                MUST(pthread_join(threads[t], NULL));
            line(chosen->name, "%d %d %d %d", order[0], order[1], order[2], order[3]);
            shut_place(&place);
        }
    return 0;
}
