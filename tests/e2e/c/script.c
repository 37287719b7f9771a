/* Carries out a script of System V calls by several processes and prints, after each step, everything that can be observed. A
 * step may leave its process asleep. It is over when every process has answered, or sleeps and no awake process could wake it.
 * So the output is determined although the processes run freely. Steps with an outcome that the kernel leaves to chance are not
 * done.
 *
 * A line of the script:  PROCESS COMMAND SLOT NUMBER...   where a slot holds the id that semget, msgget or shmget answered. With
 * 10 added to PROCESS it is a thread that makes the call, and ends. */
#include "script/quiet.h"
#include "script/show.h"
#include "script/worker.h"

enum { IDS = 4096 };

static int seen[CLASSES][IDS], seens[CLASSES];
static struct step doing[PROCESSES]; /* what each does, or did last */
static int on[PROCESSES];            /* the id that this concerns */
static int asleep[PROCESSES], mute[PROCESSES];
/* Processes whose death the kernel does not announce: others find it only by asking (docs/semantics.md, "SEM_UNDO"). */
static int unheard[PROCESSES];

/* ---- Processes. ---- */

static void begin(int i)
{
    asleep[i] = mute[i] = unheard[i] = 0;
    fflush(stdout);
    pids[i] = (pid_t)MUST(fork());
    if (pids[i] == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        begin_service(i);
        serve();
    }
}

/* Until the process is a zombie or gone. Its children become ours. */
static void await_end(int i, int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    while (poll(&p, 1, -1) != 1)
        ;
    close(fd);
    asleep[i] = 0;
}

static int descriptor_of(int i)
{
    return (int)MUST(syscall(SYS_pidfd_open, pids[i], 0));
}

static void end(int i)
{
    int fd = descriptor_of(i);
    MUST(kill(pids[i], SIGKILL));
    await_end(i, fd);
    pids[i] = 0;
}

static void reap(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

/* At the end, however it comes; not at that of a child. */
static pid_t coordinator;
static void kill_all(void)
{
    for (int i = 0; i < PROCESSES && getpid() == coordinator; i++)
        if (pids[i] > 0)
            kill(pids[i], SIGKILL);
}

/* ---- What is not done. ---- */

/* How many sleep in such a call on the queue. */
static int sleepers(const char *command, int id)
{
    int count = 0;
    for (int i = 0; i < PROCESSES; i++)
        count += asleep[i] && is(&doing[i], command) && on[i] == id;
    return count;
}

/* Why a step is left out; null if it is not. */
static const char *obstacle(const struct step *s)
{
    int id = shared->ids[QUEUES][s->slot];
    if (is(s, "kill") || is(s, "signal"))
        return mute[s->process] && is(s, "signal") ? "gone" : NULL;
    if (mute[s->process])
        return "gone";
    if (is(s, "fork") && s->numbers[0] == s->process)
        return "the same";
    /* The kernel wakes all senders that there is room for, and the first one that runs sends. When the queue is changed it wakes
     * receivers too. Then chance decides which of them queues again first, and whether a message is handed to it or taken by
     * it. */
    int senders = sleepers("msgsnd", id);
    if ((is(s, "msgrcv") && senders > 1) || (is(s, "msgset") && senders + sleepers("msgrcv", id) > 1))
        return "whose turn it would be is chance";
    return NULL;
}

/* ---- Answers. ---- */

static enum class class_of(const struct step *s)
{
    return strncmp(commands[s->command].name, "sem", 3) == 0 || strncmp(commands[s->command].name, "set", 3) == 0 ? SETS
           : strncmp(commands[s->command].name, "msg", 3) == 0 ? QUEUES
                                                                : SEGMENTS;
}

static void remember(enum class class, int id)
{
    for (int i = 0; i < seens[class]; i++)
        if (seen[class][i] == id)
            return;
    if (seens[class] < IDS)
        seen[class][seens[class]++] = id;
}

static void print_answer(int i, struct reply reply)
{
    const struct step *s = &doing[i];
    printf(" process %d: ", i);
    if (reply.result == -1)
        printf("%s;", errno_name(reply.error));
    else if (is(s, "semget") || is(s, "msgget") || is(s, "shmget"))
        printf("an id;");
    else if (is(s, "semctl") && s->numbers[1] == GETPID)
        printf("%c;", named(reply.result));
    else if (is(s, "msgrcv"))
        printf("%d bytes of %c, type %ld;", reply.result, reply.letter, reply.type);
    else if (is(s, "peek"))
        printf("%d;", reply.letter);
    else if (is(s, "fork"))
        printf("forked;");
    else
        printf("%d;", reply.result);
    if (reply.result != -1 && reply.error != 0)
        printf(" (errno was touched)");
}

static struct reply replies[PROCESSES];
static int answered[PROCESSES];

/* Takes what has been answered. */
static void collect(void)
{
    for (int i = 0; i < PROCESSES; i++) {
        struct pollfd p = { .fd = end_of(REPLIES, i, OUT), .events = POLLIN };
        if (!asleep[i] || poll(&p, 1, 0) != 1)
            continue;
        MUST(read(p.fd, &replies[i], sizeof replies[i]));
        asleep[i] = 0;
        answered[i] = 1;
        const struct step *s = &doing[i];
        struct reply reply = replies[i];
        if (reply.result >= 0 && (is(s, "semget") || is(s, "msgget") || is(s, "shmget")))
            remember(class_of(s), reply.result);
        if (reply.result > 0 && is(s, "fork")) {
            pids[s->numbers[0]] = reply.result;
            mute[s->numbers[0]] = unheard[s->numbers[0]] = 0;
        }
        if (is(s, "exec") && s->numbers[0] != 0)
            mute[i] = unheard[i] = 1;
    }
}

/* Whether there were answers. They come in any order. */
static int print_answers(void)
{
    int count = 0;
    for (int i = 0; i < PROCESSES; i++)
        if (answered[i]) {
            print_answer(i, replies[i]);
            answered[i] = 0;
            count++;
        }
    return count > 0;
}

/* Until the step is over. */
static void settle(void)
{
    for (;;) {
        struct pollfd awaited[PROCESSES];
        pid_t waiting[PROCESSES];
        int n = 0, dozes = 0;
        collect();
        for (int i = 0; i < PROCESSES; i++)
            if (asleep[i]) {
                /* With a timeout of zero the kernel lets it sleep for a moment. */
                dozes |= is(&doing[i], "semop") && doing[i].numbers[0];
                awaited[n] = (struct pollfd){ .fd = end_of(REPLIES, i, OUT), .events = POLLIN };
                waiting[n++] = pids[i];
            }
        if (n == 0 || (!dozes && all_sleep(waiting, n) && poll(awaited, (nfds_t)n, 0) == 0))
            return;
        poll(awaited, (nfds_t)n, 1);
    }
}

/* ---- Steps. ---- */

static void perform(struct step *s)
{
    int i = s->process;
    if (is(s, "signal")) {
        MUST(kill(pids[i], s->numbers[0] ? SIGUSR2 : SIGUSR1));
        return;
    }
    if (is(s, "kill")) {
        end(i);
        /* As a zombie it is as dead. */
        if (s->numbers[0] == 0)
            reap();
        begin(i);
        return;
    }
    if (is(s, "fork"))
        end(s->numbers[0]);
    doing[i] = *s;
    on[i] = shared->ids[class_of(s)][s->slot];
    unheard[i] |= s->threaded;
    int fd = is(s, "exit") ? descriptor_of(i) : -1;
    MUST(write(end_of(COMMANDS, i, IN), s, sizeof *s));
    asleep[i] = 1;
    if (fd != -1) {
        await_end(i, fd);
        begin(i);
    }
}

static int command_of(const char *name)
{
    int command = 0;
    while (command < (int)COUNT(commands) && strcmp(commands[command].name, name) != 0)
        command++;
    return command;
}

/* A process that sleeps, or that receives no steps any more, leaves the step to the next process that can do it. If there is
 * none, the process is interrupted instead. */
static void delegate(struct step *s)
{
    if (is(s, "kill") || is(s, "signal"))
        return;
    for (int i = 0; i < PROCESSES && (asleep[s->process] || mute[s->process]); i++)
        s->process = (s->process + 1) % PROCESSES;
    if (asleep[s->process])
        s->command = command_of("signal");
}

static void take(struct step *s)
{
    delegate(s);
    const char *why = obstacle(s);
    printf("%d %s by %d:", s->number, commands[s->command].name, s->process);
    if (why != NULL) {
        printf(" not done: %s\n", why);
        return;
    }
    /* The process that may die in this step. If its first thread has ended before it, no process is told of its death,
     * either. */
    int victim = is(s, "fork") ? s->numbers[0] : s->process;
    int quietly = unheard[victim] || (is(s, "exit") && s->numbers[0] == 2);
    perform(s);
    if (quietly && !asleep[victim]) {
        fflush(stdout);
        /* A call on each set finds the death. */
        for (int slot = 0; slot < SLOTS; slot++)
            semctl(shared->ids[SETS][slot], 0, GETVAL);
    }
    settle();
    /* A waiter for what the process holds needs some milliseconds to find out that exec was not the end of that process. */
    if (is(s, "exec"))
        usleep(5000);
    print_answers();
    printf("\n");
    show_slots();
    /* No process may have slept until another one looked at the slots. */
    settle();
    if (print_answers())
        printf(" came late\n");
}

static int parse(const char *text, struct step *step)
{
    char command[16];
    int used;
    memset(step, 0, sizeof *step);
    if (sscanf(text, "%d %15s %d%n", &step->process, command, &step->slot, &used) != 3)
        return 0;
    while (step->count < NUMBERS) {
        int more;
        text += used;
        if (sscanf(text, "%d%n", &step->numbers[step->count], &more) != 1)
            break;
        used = more;
        step->count++;
    }
    step->threaded = step->process >= 10;
    step->process %= 10;
    step->command = command_of(command);
    return step->process >= 0 && step->process < PROCESSES && step->slot >= 0 && step->slot < SLOTS &&
           step->command < (int)COUNT(commands) && step->count >= commands[step->command].least;
}

/* ---- The whole. ---- */

static void make_world(void)
{
    int fd = (int)MUST(syscall(SYS_memfd_create, "world", 0));
    MUST(ftruncate(fd, PAGE));
    MUST(dup2(fd, WORLD));
    find_world();
    shared->keys = own_key(0);
    memset(shared->ids, -1, sizeof shared->ids);
    for (int i = 0; i < PROCESSES; i++)
        for (int pipes = COMMANDS; pipes <= REPLIES; pipes += REPLIES - COMMANDS) {
            int ends[2];
            MUST(pipe(ends));
            MUST(dup2(ends[OUT], end_of(pipes, i, OUT)));
            MUST(dup2(ends[IN], end_of(pipes, i, IN)));
            close(ends[OUT]);
            close(ends[IN]);
        }
    MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));
    hear_signals();
    coordinator = getpid();
    atexit(kill_all);
}

/* One after the other, so that what each leaves is seen. */
static void end_all(void)
{
    for (int i = 0; i < PROCESSES; i++) {
        end(i);
        printf("without process %d\n", i);
        show_slots();
    }
    show_listings();
    reap();
}

static void remove_all(void)
{
    for (int i = 0; i < seens[SETS]; i++)
        semctl(seen[SETS][i], 0, IPC_RMID);
    for (int i = 0; i < seens[QUEUES]; i++)
        msgctl(seen[QUEUES][i], IPC_RMID, NULL);
    for (int i = 0; i < seens[SEGMENTS]; i++)
        shmctl(seen[SEGMENTS][i], IPC_RMID, NULL);
    printf("removed\n");
    show_slots();
}

/* A new image of one of the processes. */
static void go_on(int process, int answers_more)
{
    find_world();
    hear_signals();
    begin_service(process);
    answer((struct reply){ 0 });
    while (!answers_more)
        pause();
    serve();
}

int main(int argc, char **argv)
{
    static char script[1 << 16];
    struct step step;
    int number = 0;
    if (argc > 2)
        go_on(atoi(argv[2]), strcmp(argv[1], "serve") == 0);
    /* At once, and nothing is left to read: a process that ends would move where we are in the file. */
    MUST(fread(script, 1, sizeof script - 1, stdin) > 0 && getchar() == EOF ? 0 : -1);
    fclose(stdin);
    make_world();
    for (int i = 0; i < PROCESSES; i++)
        begin(i);
    for (char *text = strtok(script, "\n"); text != NULL; text = strtok(NULL, "\n")) {
        if (!parse(text, &step)) {
            fprintf(stderr, "this is no step: %s\n", text);
            return 99;
        }
        step.number = ++number;
        take(&step);
    }
    end_all();
    remove_all();
    return 0;
}
