/* Joins: the thread's value, whenever it ends; a stack that is used again at once; a chain of joins. */
#include "table.h"

static void *end_after(void *us)
{
    burn_us((double)(intptr_t)us);
    return us;
}

static void *exit_after(void *us)
{
    burn_us((double)(intptr_t)us);
    pthread_exit((void *)((intptr_t)us + 1));
}

static void *wait_for_ever(void *nothing)
{
    for (;;)
        pause();
    return nothing;
}

static void values(void)
{
    int wrong = 0;
    for (int round = 0; round < 5; round++)
        for (unsigned m = 0; m < COUNT(moments_us); m++) {
            intptr_t us = moments_us[m];
            struct timespec until = far(CLOCK_REALTIME);
            void *value[4] = { NULL };
            pthread_t threads[4];
            for (int i = 0; i < 4; i++)
                MUST(pthread_create(&threads[i], NULL, i % 2 ? exit_after : end_after, (void *)us));
            MUST(pthread_join(threads[0], &value[0]));
            MUST(pthread_timedjoin_np(threads[1], &value[1], &until));
            until = far(CLOCK_MONOTONIC);
            MUST(pthread_clockjoin_np(threads[2], &value[2], CLOCK_MONOTONIC, &until));
            while (pthread_tryjoin_np(threads[3], &value[3]) == EBUSY)
                sched_yield();
            for (int i = 0; i < 4; i++)
                wrong += (intptr_t)value[i] != us + i % 2;
        }
    line("values", "wrong %d", wrong);
}

static void cancelled(void)
{
    int ended = 0;
    for (unsigned m = 0; m < COUNT(moments_us); m++) {
        pthread_t thread;
        void *value;
        MUST(pthread_create(&thread, NULL, wait_for_ever, NULL));
        burn_us(moments_us[m]);
        MUST(pthread_cancel(thread));
        MUST(pthread_join(thread, &value));
        ended += value == PTHREAD_CANCELED;
    }
    line("cancelled", "%d", ended);
}

/* A thread that joins the one before it, and so on. */
static void *join_other(void *other)
{
    void *value;
    MUST(pthread_join(*(pthread_t *)other, &value));
    return (void *)((intptr_t)value + 1);
}

static void chain(void)
{
    static pthread_t threads[40];
    void *value;
    MUST(pthread_create(&threads[0], NULL, end_after, (void *)300));
    for (int i = 1; i < 40; i++)
        MUST(pthread_create(&threads[i], NULL, join_other, &threads[i - 1]));
    MUST(pthread_join(threads[39], &value));
    line("a chain of 40", "%ld", (long)(intptr_t)value);
}

int main(void)
{
    values();
    cancelled();
    chain();
    return 0;
}
