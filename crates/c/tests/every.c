/* Every function of the header under the type that its manual gives it: compiled, linked and found at run time. */
#include <unspin/sysv.h>

static unspin_sysv *(*open_)(int, const char *, const struct unspin_sysv_options *) = unspin_sysv_open;
static void (*close_)(unspin_sysv *) = unspin_sysv_close;
static const char *(*error_)(void) = unspin_sysv_error;
static int (*semget_)(unspin_sysv *, key_t, int, int) = unspin_semget;
static int (*semop_)(unspin_sysv *, int, struct sembuf *, size_t) = unspin_semop;
static int (*semtimedop_)(unspin_sysv *, int, struct sembuf *, size_t, const struct timespec *) = unspin_semtimedop;
static int (*semctl_)(unspin_sysv *, int, int, int, ...) = unspin_semctl;
static int (*msgget_)(unspin_sysv *, key_t, int) = unspin_msgget;
static int (*msgsnd_)(unspin_sysv *, int, const void *, size_t, int) = unspin_msgsnd;
static ssize_t (*msgrcv_)(unspin_sysv *, int, void *, size_t, long, int) = unspin_msgrcv;
static int (*msgctl_)(unspin_sysv *, int, int, struct msqid_ds *) = unspin_msgctl;
static int (*shmget_)(unspin_sysv *, key_t, size_t, int) = unspin_shmget;
static void *(*shmat_)(unspin_sysv *, int, const void *, int) = unspin_shmat;
static int (*shmdt_)(unspin_sysv *, const void *) = unspin_shmdt;
static int (*shmctl_)(unspin_sysv *, int, int, struct shmid_ds *) = unspin_shmctl;

int main(void)
{
    struct unspin_sysv_options options = UNSPIN_SYSV_OPTIONS_INIT;
    int found = open_ && close_ && error_ && semget_ && semop_ && semtimedop_ && semctl_ && msgget_ && msgsnd_
        && msgrcv_ && msgctl_ && shmget_ && shmat_ && shmdt_ && shmctl_;
    return found && options.size == sizeof options ? 0 : 1;
}
