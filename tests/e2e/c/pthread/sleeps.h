/* Whether a thread of this process sleeps in futex(2), and not for a page of the recording (proc(5)). */
#ifndef SLEEPS_H
#define SLEEPS_H
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>

static int sleeps(pid_t id)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", id);
    FILE *call = fopen(path, "r");
    if (!call || !fgets(text, sizeof text, call))
        abort();
    fclose(call);
    return atol(text) == SYS_futex;
}
#endif
