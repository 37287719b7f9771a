/* One call of each kind, and what it answers: for tests of what the preload says on standard error. */
#include "check.h"
#include <sys/msg.h>
#include <sys/shm.h>

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "none") == 0) {
        line("no semaphore was used", "0");
        return 0;
    }
    int id = semget(IPC_PRIVATE, 2, 0600);
    line("semget", "%s", id >= 0 ? "an id" : errno_name(errno));
    if (id < 0)
        id = 0;
    ROW("semop", SEMOP(id, OP(0, 1, 0)));
    ROW("semtimedop", SEMTIMEDOP(id, (&(struct timespec){ 0, 0 }), OP(0, -1, 0)));
    ROW("semctl", semctl(id, 0, GETVAL));
    ROW("by number", syscall(SYS_semctl, id, 0, GETVAL, 0));
    ROW("SEM_UNDO", SEMOP(id, OP(0, 1, SEM_UNDO)));
    ROW("value", semctl(id, 0, GETVAL));
    ROW("msgctl", msgctl(-1, IPC_RMID, NULL));
    ROW("shmdt", shmdt((void *)8));
    ROW("semctl IPC_RMID", semctl(id, 0, IPC_RMID));
    return 0;
}
