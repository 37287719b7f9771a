/* Creates objects of every kind with the keys that are its arguments, unless they exist. */
#include <err.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        key_t key = (key_t)strtoul(argv[i], NULL, 0);
        if (semget(key, i, IPC_CREAT | 0600) < 0 || msgget(key, IPC_CREAT | 0640) < 0 ||
            shmget(key, 1, IPC_CREAT | 0604) < 0)
            err(1, "%s", argv[i]);
    }
    return 0;
}
