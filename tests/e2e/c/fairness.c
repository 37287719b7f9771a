/* The order in which waiters are served. */
#include "check.h"

/* Several waiters, queued one after the other; the answers show which of them were served. Those that the set does not count
 * any more answer, sooner or later. */
static void row_running(const char *row, int id, struct job *jobs, int n)
{
    char text[64] = "";
    for (int waiting = get(id, 0, GETNCNT), silent = n + 1; silent > waiting;) {
        silent = n;
        for (int i = 0; i < n; i++) {
            struct pollfd p = { .fd = jobs[i].fd, .events = POLLIN };
            silent -= poll(&p, 1, 1);
        }
    }
    for (int i = 0; i < n; i++)
        sprintf(text + strlen(text), "%s%s", i ? " " : "", sleeps(jobs[i]) ? "asleep" : "through");
    line(row, "%s", text);
}

static void first_in_first_out(void)
{
    int id = new_set(1);
    struct job jobs[4];
    for (int i = 0; i < 4; i++) {
        jobs[i] = START(id, OP(0, -1, 0));
        AWAIT_N(id, 0, i + 1);
    }
    for (int i = 0; i < 4; i++) {
        MUST(SEMOP(id, OP(0, 1, 0)));
        line("queue length", "%d", get(id, 0, GETNCNT));
        row_answer("the oldest is through", jobs[i]);
        line("it was that one", "%d", get(id, 0, GETPID) == jobs[i].pid);
    }
    remove_set(id);
}

static void runnable_first(void)
{
    int id = new_set(1);
    struct job jobs[2];
    jobs[0] = START(id, OP(0, -2, 0));
    AWAIT_N(id, 0, 1);
    jobs[1] = START(id, OP(0, -1, 0));
    AWAIT_N(id, 0, 2);
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_running("-2 then -1, after +1", id, jobs, 2);
    row_answer("the -1", jobs[1]);
    MUST(SEMOP(id, OP(0, 1, 0)));
    line("-2 needs more", "%d", sleeps(jobs[0]));
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_answer("the -2", jobs[0]);

    jobs[0] = START(id, OP(0, -2, 0));
    AWAIT_N(id, 0, 1);
    jobs[1] = START(id, OP(0, -1, 0));
    AWAIT_N(id, 0, 2);
    MUST(SEMOP(id, OP(0, 2, 0)));
    row_running("-2 then -1, after +2", id, jobs, 2);
    row_answer("the -2", jobs[0]);
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_answer("the -1", jobs[1]);
    remove_set(id);
}

static void handed_over(void)
{
    int id = new_set(1);
    struct job job = START(id, OP(0, -1, 0));
    AWAIT_N(id, 0, 1);
    MUST(SEMOP(id, OP(0, 1, 0)));
    /* At once: whether the sleeper has run again or not, the value is its. */
    line("value right after the post", "%d", get(id, 0, GETVAL));
    line("barging", "%s", SEMOP(id, OP(0, -1, IPC_NOWAIT)) == -1 ? errno_name(errno) : "succeeds");
    line("sempid right after the post", "%s", get(id, 0, GETPID) == job.pid ? "the sleeper" : "another");
    row_answer("the sleeper", job);

    /* More than one at once. */
    struct job jobs[3];
    for (int i = 0; i < 3; i++) {
        jobs[i] = START(id, OP(0, -1, 0));
        AWAIT_N(id, 0, i + 1);
    }
    MUST(SEMOP(id, OP(0, 5, 0)));
    line("value after +5 with three waiters", "%d", get(id, 0, GETVAL));
    for (int i = 0; i < 3; i++)
        row_answer("each is through", jobs[i]);

    /* A sleeper with a positive op passes it on. */
    MUST(set_value(id, 0, 0));
    remove_set(id);
    id = new_set(2);
    jobs[0] = START(id, OP(1, -1, 0));
    AWAIT_N(id, 1, 1);
    jobs[1] = START(id, OP(0, -1, 0), OP(1, 1, 0));
    AWAIT_N(id, 0, 1);
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_values("a chain has run when the post returns", id);
    line("nobody waits", "%d %d", get(id, 0, GETNCNT), get(id, 1, GETNCNT));
    row_answer("second of the chain", jobs[1]);
    row_answer("first of the chain", jobs[0]);
    remove_set(id);
}

static void overtaking(void)
{
    int id = new_set(2);
    struct job both = START(id, OP(0, -1, 0), OP(1, -1, 0));
    AWAIT_N(id, 0, 1);
    MUST(SEMOP(id, OP(0, 1, 0)));
    AWAIT_N(id, 1, 1);
    ROW("a simple op overtakes a blocked vector", SEMOP(id, OP(0, -1, IPC_NOWAIT)));
    AWAIT_N(id, 0, 1);
    MUST(SEMOP(id, OP(0, 1, 0), OP(1, 1, 0)));
    row_answer("the vector", both);

    /* Two operations on one semaphore are a vector as well. */
    struct job twice = START(id, OP(0, -1, 0), OP(0, -1, 0));
    AWAIT_N(id, 0, 1);
    struct job once = START(id, OP(0, -1, 0));
    AWAIT_N(id, 0, 2);
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_answer("-1 passes -1 -1 at value 1", once);
    MUST(SEMOP(id, OP(0, 2, 0)));
    row_answer("then the two", twice);

    /* A vector queued first, a simple op behind it, both can run: in order. */
    both = START(id, OP(0, -1, 0), OP(1, 0, 0));
    AWAIT_N(id, 0, 1);
    once = START(id, OP(0, -1, 0));
    AWAIT_N(id, 0, 2);
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_answer("the vector came first", both);
    line("the other waits", "%d", sleeps(once));
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_answer("the simple one", once);
    once = START(id, OP(0, -1, 0));
    AWAIT_N(id, 0, 1);
    both = START(id, OP(0, -1, 0), OP(1, 0, 0));
    AWAIT_N(id, 0, 2);
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_answer("the simple one came first", once);
    line("the vector waits", "%d", sleeps(both));
    MUST(SEMOP(id, OP(0, 1, 0)));
    row_answer("the vector", both);
    remove_set(id);
}

static void zero_first(void)
{
    int id = new_set(1);
    MUST(set_value(id, 0, 1));
    struct job zeros[3];
    for (int i = 0; i < 3; i++) {
        zeros[i] = START(id, OP(0, 0, 0));
        AWAIT_Z(id, 0, i + 1);
    }
    struct job take = START(id, OP(0, -2, 0));
    AWAIT_N(id, 0, 1);
    MUST(SEMOP(id, OP(0, -1, 0)));
    for (int i = 0; i < 3; i++)
        row_answer("every wait for zero is through", zeros[i]);
    line("the take is not", "%d", sleeps(take));
    MUST(SEMOP(id, OP(0, 2, 0)));
    row_answer("the take", take);

    /* A take makes it zero: the zero-waiters go before the next taker gets anything. */
    MUST(set_value(id, 0, 0));
    take = START(id, OP(0, -2, 0));
    AWAIT_N(id, 0, 1);
    MUST(set_value(id, 0, 1));
    struct job zero = START(id, OP(0, 0, 0), OP(0, 2, 0));
    AWAIT_Z(id, 0, 1);
    MUST(SEMOP(id, OP(0, -1, 0)));
    row_answer("zero, then +2", zero);
    row_answer("which lets -2 through", take);
    row_values("value", id);

    /* Waiters woken by a sleeper's own operation. */
    MUST(set_value(id, 0, 1));
    zero = START(id, OP(0, 0, 0));
    AWAIT_Z(id, 0, 1);
    take = START(id, OP(0, -3, 0));
    AWAIT_N(id, 0, 1);
    MUST(SEMOP(id, OP(0, 2, 0)));
    row_answer("-3 takes all", take);
    row_answer("and so wakes the wait for zero", zero);
    remove_set(id);
}

int main(void)
{
    first_in_first_out();
    runnable_first();
    handed_over();
    overtaking();
    zero_first();
    return 0;
}
