/* Each wait whose thread is cancelled at each moment from the first microsecond on. A cancellation point ends the thread,
 * its clean-up handler runs, and the object can be used again; any other wait goes on until it is ended. */
#include "table.h"

struct party {
    const struct wait *wait;
    struct place place;
    int type, entered, answered, cleaned;
};

static void clean(void *argument)
{
    ((struct party *)argument)->cleaned++;
}

static void *enter(void *argument)
{
    struct party *party = (struct party *)argument;
    pthread_cleanup_push(clean, party);
    MUST(pthread_setcanceltype(party->type, NULL));
    __atomic_store_n(&party->entered, 1, __ATOMIC_SEQ_CST);
    party->wait->call(&party->place);
    party->answered = 1;
    pthread_testcancel();
    pthread_cleanup_pop(0);
    return NULL;
}

struct tally {
    int ended, answered, cleaned, held, usable;
};

static void cancel_after(const struct wait *wait, int type, int us, struct tally *tally)
{
    struct party party = { .wait = wait, .type = type };
    pthread_t thread;
    void *result = NULL;
    int is_point = (wait->traits & POINT) || type == PTHREAD_CANCEL_ASYNCHRONOUS;
    open_place(&party.place, wait->object);
    MUST(pthread_create(&thread, NULL, enter, &party));
    while (!__atomic_load_n(&party.entered, __ATOMIC_SEQ_CST))
        __asm__ volatile("pause");
    burn_us(us);
    MUST(pthread_cancel(thread));
    if (!is_point) {
        burn_us(us);
        end_wait(&party.place);
    }
    MUST(pthread_join(thread, &result));
    tally->ended += result == PTHREAD_CANCELED;
    tally->answered += party.answered;
    tally->cleaned += party.cleaned;
    tally->held += party.place.held_at_cleanup;
    if (is_point) {
        end_wait(&party.place);
        tally->usable += wait->call(&party.place) >= 0;
    }
    shut_place(&party.place);
}

static void sweep(const struct wait *wait, int type)
{
    struct tally tally = { 0 };
    char row[64];
    for (unsigned m = 0; m < COUNT(moments_us); m++)
        cancel_after(wait, type, moments_us[m], &tally);
    snprintf(row, sizeof row, "%s%s", wait->name, type == PTHREAD_CANCEL_ASYNCHRONOUS ? ", asynchronous" : "");
    line(row, "cancelled %d, answered %d, cleaned up %d, mutex held %d, usable after %d", tally.ended, tally.answered,
         tally.cleaned, tally.held, tally.usable);
}

int main(void)
{
    for (unsigned i = 0; i < COUNT(waits); i++) {
        sweep(&waits[i], PTHREAD_CANCEL_DEFERRED);
        if (waits[i].traits & BARE)
            sweep(&waits[i], PTHREAD_CANCEL_ASYNCHRONOUS);
    }
    return 0;
}
