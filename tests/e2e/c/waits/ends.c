/* Each wait, ended by another thread at each moment from its first microsecond on: it answers the same each time, and
 * nothing is left over. An argument says how often. */
#include "table.h"

struct party {
    const struct wait *wait;
    struct place place;
    int entered, error;
    long answer;
};

static void *enter(void *argument)
{
    struct party *party = (struct party *)argument;
    __atomic_store_n(&party->entered, 1, __ATOMIC_SEQ_CST);
    errno = UNTOUCHED;
    party->answer = party->wait->call(&party->place);
    party->error = errno;
    return NULL;
}

static void ended_after(const struct wait *wait, int us, long *answer, int *error)
{
    struct party party = { .wait = wait };
    pthread_t thread;
    open_place(&party.place, wait->object);
    MUST(pthread_create(&thread, NULL, enter, &party));
    while (!__atomic_load_n(&party.entered, __ATOMIC_SEQ_CST))
        __asm__ volatile("pause");
    burn_us(us);
    end_wait(&party.place);
    MUST(pthread_join(thread, NULL));
    *answer = party.answer;
    *error = party.answer == -1 ? party.error : 0;
    shut_place(&party.place);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    for (unsigned i = 0; i < COUNT(waits); i++) {
        long first = 0;
        int first_error = 0, others = 0;
        for (int round = 0; round < rounds; round++)
            for (unsigned m = 0; m < COUNT(moments_us); m++) {
                long answer;
                int error;
                ended_after(&waits[i], moments_us[m], &answer, &error);
                if (round == 0 && m == 0) {
                    first = answer;
                    first_error = error;
                } else if (answer != first || error != first_error) {
                    others++;
                    line(waits[i].name, "after %d us %ld %s", moments_us[m], answer, name_of(error));
                }
            }
        line(waits[i].name, "%ld %s, and %d others", first, name_of(first_error), others);
    }
    return 0;
}
