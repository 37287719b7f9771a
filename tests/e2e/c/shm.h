/* Code shared by the programs about shared memory. */
#ifndef SHM_H
#define SHM_H
#include "check.h"
#include <sys/resource.h>
#include <sys/shm.h>

#define PAGE 4096

#ifndef SHM_STAT_ANY
#define SHM_STAT_ANY 15
#endif

static int new_segment(size_t size)
{
    return (int)MUST(shmget(IPC_PRIVATE, size, 0600));
}

static void remove_segment(int id)
{
    shmctl(id, IPC_RMID, NULL);
}

/* The errno of an attachment, or that it was made; it is undone. */
static void row_attach(const char *row, int id, const void *address, int flags)
{
    errno = 0;
    void *at = shmat(id, address, flags);
    if (at == (void *)-1) {
        line(row, "-1 %s", errno_name(errno));
        return;
    }
    line(row, "attached%s%s", address != NULL && at == address ? " there" : "",
         errno != 0 ? " (errno was touched)" : "");
    shmdt(at);
}

static void *attach(int id)
{
    void *at = shmat(id, NULL, 0);
    if (at == (void *)-1)
        MUST(-1);
    return at;
}

static struct shmid_ds status_of(int id)
{
    struct shmid_ds ds;
    memset(&ds, 0, sizeof ds);
    MUST(shmctl(id, IPC_STAT, &ds));
    return ds;
}

/* What does not depend on time and ids. The key is shown as whether it is `key`. */
static void row_status(const char *row, int id, key_t key)
{
    struct shmid_ds ds;
    memset(&ds, 0xA5, sizeof ds);
    if (shmctl(id, IPC_STAT, &ds) == -1) {
        line(row, "-1 %s", errno_name(errno));
        return;
    }
    const char *named = ds.shm_perm.__key == 0 ? "none" : ds.shm_perm.__key == key ? "its own" : "another";
    line(row, "key %s, mode %o, %zu bytes, %lu attached, a %s, d %s, c %s, made by %s, last %s", named,
         ds.shm_perm.mode, ds.shm_segsz, (unsigned long)ds.shm_nattch, ds.shm_atime ? "set" : "0",
         ds.shm_dtime ? "set" : "0", ds.shm_ctime ? "set" : "0", ds.shm_cpid == getpid() ? "us" : "another",
         ds.shm_lpid == getpid() ? "us" : ds.shm_lpid == 0 ? "nobody" : "another");
}

static unsigned long attached(int id)
{
    return (unsigned long)status_of(id).shm_nattch;
}

#endif
