/* Two threads wait for each other's lock for some milliseconds. Then the program prints a speed, which depends on the kind of
 * mutex in its plan, or without a kind on the wait policy: `planned system=100 adaptive=200 poll=300 steal=hang fair=crash`.
 * Anything that is not listed is as fast as the first. `both=N` is for a plan with a kind that also polls. With `burn` every
 * run under a plan computes until it has used a certain CPU time, and three times as much if the plan polls; `prove` gives
 * up a candidate that takes four times as long. With `turns` its threads take turns by a condition, instead of waiting for
 * a lock that is held long. With `rwlock` or `spin` the lock is a read-write lock or a spin lock, and kinds for these count:
 * `rw-fair=200`, `spin-adaptive=200`. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t narrow = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinning;
static char locked = 'm';
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static int next_player;
static int started;

/* Time since the process was made, in microseconds. */
static long age_us(void)
{
    unsigned long long ticks = 0;
    struct timespec now;
    FILE *stat = fopen("/proc/self/stat", "r");
    if (stat == NULL || fscanf(stat, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &ticks) != 1)
        abort();
    fclose(stat);
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000 - ticks * 1000000 / sysconf(_SC_CLK_TCK);
}

static void *worker(void *nothing)
{
    /* On a busy machine one thread could end before the other starts. */
    __atomic_fetch_add(&started, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&started, __ATOMIC_SEQ_CST) < 2)
        usleep(100);
    for (int i = 0; i < 10; i++) {
        if (locked == 'r')
            pthread_rwlock_wrlock(&table);
        else if (locked == 's')
            pthread_spin_lock(&spinning);
        else
            pthread_mutex_lock(&narrow);
        /* However late a busy machine starts the program, its waits are a large part of its time. */
        usleep(i == 0 ? age_us() + 1000 : 1000);
        if (locked == 'r')
            pthread_rwlock_unlock(&table);
        else if (locked == 's')
            pthread_spin_unlock(&spinning);
        else
            pthread_mutex_unlock(&narrow);
    }
    return nothing;
}

static void *player(void *me)
{
    int own = me != NULL;
    for (int i = 0; i < 3000; i++) {
        pthread_mutex_lock(&narrow);
        while (next_player != own)
            pthread_cond_wait(&moved, &narrow);
        next_player = !own;
        pthread_cond_signal(&moved);
        pthread_mutex_unlock(&narrow);
    }
    return NULL;
}

/* The kind on the first line of the plan that has one other than libc's; or the policy of its waits; or "both". */
static void given(char *kind, int size)
{
    int polls = 0;
    const char *path = getenv("UNSPIN_PLAN");
    FILE *plan = path ? fopen(path, "r") : NULL;
    char line[4096];
    strcpy(kind, "none");
    if (plan == NULL)
        return;
    if (fgets(line, sizeof line, plan) == NULL)
        line[0] = 0;
    while (fgets(line, sizeof line, plan)) {
        int is_poll = strncmp(line, "waits\tpoll", 10) == 0 || strncmp(line, "poll\tsite", 9) == 0;
        int is_wait = is_poll || strncmp(line, "waits\t", 6) == 0 || strncmp(line, "system\tsite", 11) == 0;
        polls |= is_poll;
        int is_spin = strncmp(line, "spin\t", 5) == 0;
        char *word = is_spin ? line + 5 : strncmp(line, "rwlock\t", 7) == 0 ? line + 7 : line;
        int has_kind = strcmp(kind, "none") != 0 && strcmp(kind, "system") != 0;
        if (is_spin && strncmp(word, "system\t", 7) != 0)
            memcpy(word -= 5, "spin-", 5);
        if (!is_wait && strncmp(line, "wakeup\t", 7) != 0 && !has_kind)
            snprintf(kind, size, "%.*s", (int)strcspn(word, "\t\n"), word);
    }
    if (polls)
        strcpy(kind, strcmp(kind, "none") == 0 || strcmp(kind, "system") == 0 ? "poll" : "both");
    if (strcmp(kind, "none") == 0)
        strcpy(kind, "system");
    fclose(plan);
}

/* Computes until the process has used so much CPU time. What it has used before, which chance decides, does not add to it. */
static void burn_until(double seconds)
{
    struct timespec used;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while (used.tv_sec + used.tv_nsec / 1e9 < seconds);
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    char kind[64];
    const char *speed = argc > 1 ? strchr(argv[1], '=') + 1 : "100";
    void *(*what)(void *) = worker;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "turns") == 0)
            what = player;
        else if (strcmp(argv[i], "rwlock") == 0 || strcmp(argv[i], "spin") == 0)
            locked = argv[i][0];
    pthread_spin_init(&spinning, PTHREAD_PROCESS_PRIVATE);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, what, i ? &threads[i] : NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    given(kind, sizeof kind);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "burn") == 0 && strcmp(kind, "none") != 0 && getenv("UNSPIN_RECORD") == NULL)
            burn_until(strcmp(kind, "poll") == 0 || strcmp(kind, "both") == 0 ? 0.3 : 0.1);
        size_t length = strcspn(argv[i], "=");
        if (strlen(kind) == length && strncmp(kind, argv[i], length) == 0)
            speed = argv[i] + length + 1;
    }
    if (strcmp(speed, "hang") == 0)
        pause();
    if (strcmp(speed, "crash") == 0)
        raise(SIGSEGV);
    printf("tps: %s\n", speed);
    return 0;
}
