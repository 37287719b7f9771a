/* When a step is over: every process has answered, or sleeps and no awake process is left that could wake it. */
#ifndef QUIET_H
#define QUIET_H
#include "step.h"
#include <dirent.h>

struct sleep {
    int asleep;
    unsigned long switches; /* how often it has gone to sleep */
};

static struct sleep look_at(const char *path)
{
    char text[4096], *state, *switches;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    close(fd);
    text[n < 0 ? 0 : n] = 0;
    state = strstr(text, "\nState:\t");
    switches = strstr(text, "\nvoluntary_ctxt_switches:\t");
    if (state == NULL || switches == NULL)
        return (struct sleep){ 1, 0 };
    return (struct sleep){ state[8] == 'S' || state[8] == 'Z', strtoul(switches + 26, NULL, 10) };
}

/* A process sleeps if each of its threads does, and for good if it has crashed. The sum tells whether one has been awake in between. */
static struct sleep look(pid_t pid)
{
    char path[320];
    struct sleep all = { 1, 0 };
    struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    if (tasks == NULL)
        return all;
    while ((entry = readdir(tasks)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/status", pid, entry->d_name);
        struct sleep one = look_at(path);
        all.asleep &= one.asleep;
        all.switches += one.switches;
    }
    closedir(tasks);
    return all;
}

/* Whether there was a moment at which all of these slept: each sleeps at two checks, and has not been awake in between. */
static int all_sleep(const pid_t *pids, int count)
{
    struct sleep first[PROCESSES];
    for (int i = 0; i < count; i++) {
        first[i] = look(pids[i]);
        if (!first[i].asleep)
            return 0;
    }
    for (int i = 0; i < count; i++) {
        struct sleep second = look(pids[i]);
        if (!second.asleep || second.switches != first[i].switches)
            return 0;
    }
    return 1;
}

#endif
