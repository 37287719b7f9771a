/* Damages its own arena (the file is the first argument) as the second argument says, and goes on. */
#include "shm.h"
#include <pthread.h>

static void *sleeper(void *id)
{
    errno = 0;
    int result = SEMOP(*(int *)id, OP(0, -1, 0));
    line("asleep", "%d%s", result, result == -1 && (errno == EIDRM || errno == ENOSYS) ? " refused" : "");
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    pthread_t thread;
    int id = new_set(2), segment = new_segment(PAGE);
    char *at = attach(segment);
    MUST(SEMOP(id, OP(1, 1, 0)));
    pthread_create(&thread, NULL, sleeper, &id);
    AWAIT_N(id, 0, 1);
    if (strcmp(argv[2], "cut") == 0) {
        MUST(truncate(argv[1], 0));
    } else {
        static char noise[1 << 16];
        memset(noise, 0x5A, sizeof noise);
        int fd = (int)MUST(open(argv[1], O_WRONLY));
        MUST(write(fd, noise, sizeof noise));
        close(fd);
    }
    line("semop", "%s", SEMOP(id, OP(1, 1, 0)) == -1 ? "refused" : "done");
    ROW("semget", semget(own_key(1), 1, IPC_CREAT | 0600));
    ROW("GETVAL", get(id, 1, GETVAL));
    ROW("semop", SEMOP(id, OP(1, 1, 0), OP(0, 1, 0)));
    ROW("shmget", shmget(own_key(1), 1, IPC_CREAT | 0600));
    pthread_join(thread, NULL);
    at[5] = 1;
    ROW("what is attached stays", shmdt(at));
    ROW("and is the kernel's", shmctl(segment, IPC_RMID, NULL));
    return 0;
}
