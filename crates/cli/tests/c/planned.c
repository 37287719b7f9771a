/* Two threads wait for each other's lock for some milliseconds. Then it prints how fast it was, which depends on the kind
 * of mutex that it has been given: `planned system=100 adaptive=200 steal=hang fair=crash`. A kind that is not among these
 * is as fast as the first. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t narrow = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *nothing)
{
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&narrow);
        usleep(1000);
        pthread_mutex_unlock(&narrow);
    }
    return nothing;
}

/* The kind on the first line of the plan that is no heading. */
static void kind_of_mutex(char *kind, int size)
{
    const char *path = getenv("UNSPIN_PLAN");
    FILE *plan = path ? fopen(path, "r") : NULL;
    char line[4096];
    strcpy(kind, "none");
    if (plan == NULL)
        return;
    if (fgets(line, sizeof line, plan) && fgets(line, sizeof line, plan))
        snprintf(kind, size, "%.*s", (int)strcspn(line, "\t\n"), line);
    fclose(plan);
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    char kind[64];
    const char *speed = argc > 1 ? strchr(argv[1], '=') + 1 : "100";
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    kind_of_mutex(kind, sizeof kind);
    for (int i = 1; i < argc; i++) {
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
