/* What unspin_sysv_open refuses, and how. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unspin/sysv.h>

static void open_in_vain(int kind, const char *path, const struct unspin_sysv_options *options)
{
    unspin_sysv *engine = unspin_sysv_open(kind, path, options);
    printf("%s: %s\n", engine ? "opened" : strerrorname_np(errno), unspin_sysv_error());
}

static const char *name(int failed)
{
    return failed ? strerrorname_np(errno) : "none";
}

int main(void)
{
    struct unspin_sysv_options options = UNSPIN_SYSV_OPTIONS_INIT;
    struct stat status;
    unspin_sysv *engine;
    if (*unspin_sysv_error() != '\0')
        return 1;
    open_in_vain(7, "arena", NULL);
    options.size = 8;
    open_in_vain(UNSPIN_SYSV_RCU, "arena", &options);
    options.size = sizeof options;
    options.arena_bytes = 4096;
    open_in_vain(UNSPIN_SYSV_RCU, "arena", &options);
    open_in_vain(UNSPIN_SYSV_RCU, "noise", NULL);
    open_in_vain(UNSPIN_SYSV_RCU, "no/such/folder/arena", NULL);
    options.arena_bytes = 0;
    options.arena_mode = 0640;
    engine = unspin_sysv_open(UNSPIN_SYSV_RCU, "arena", &options);
    if (engine == NULL)
        return 1;
    open_in_vain(UNSPIN_SYSV_GLOBAL, "arena", NULL);
    printf("a null engine: %s", name(unspin_semget(NULL, IPC_PRIVATE, 1, 0600) == -1));
    printf(" %s", name(unspin_semctl(NULL, 0, 0, IPC_RMID) == -1));
    printf(" %s", name(unspin_msgget(NULL, IPC_PRIVATE, 0600) == -1));
    printf(" %s", name(unspin_msgrcv(NULL, 0, NULL, 0, 0, 0) == -1));
    printf(" %s\n", name(unspin_shmat(NULL, 0, NULL, 0) == (void *)-1));
    unspin_sysv_close(engine);
    unspin_sysv_close(NULL);
    if (stat("arena", &status) == -1)
        return 1;
    printf("%o\n", (unsigned)status.st_mode & 0777);
    return 0;
}
