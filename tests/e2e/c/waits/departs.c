/* A handler ends its thread by pthread_exit(3) while the thread is in a call that the library stands in front of. The
 * argument says how many calls are tried. */
#include "table.h"
#include <sys/prctl.h>

enum { ROUNDS = 100 };

static int call, is_in;

static void leave(int number)
{
    (void)number;
    pthread_exit((void *)5);
}

static void *repeat(void *unused)
{
    char name[16];
    struct sigaction action;
    sem_t semaphore;
    MUST_SYS(sem_init(&semaphore, 0, 0));
    __atomic_store_n(&is_in, 1, __ATOMIC_SEQ_CST);
    for (;;)
        switch (call) {
        case 0: prctl(PR_GET_NAME, name); break;
        case 1: sigaction(SIGUSR2, NULL, &action); break;
        case 2: mlockall(0x80); break;
        case 3: unshare(0); break;
        case 4: sem_trywait(&semaphore); break;
        case 5: signal(SIGUSR2, SIG_IGN); break;
        case 6: sysv_signal(SIGUSR2, SIG_IGN); break;
        default: return unused;
        }
}

int main(int count, char **arguments)
{
    static const char *const names[] = { "prctl", "sigaction", "mlockall", "unshare", "sem_trywait", "signal", "sysv_signal" };
    struct sigaction action = { .sa_handler = leave };
    MUST_SYS(sigaction(SIGUSR1, &action, NULL));
    for (call = 0; call < (count > 1 ? atoi(arguments[1]) : (int)COUNT(names)); call++) {
        int ended = 0;
        for (int round = 0; round < ROUNDS; round++) {
            pthread_t thread;
            void *result;
            is_in = 0;
            MUST(pthread_create(&thread, NULL, repeat, NULL));
            while (!__atomic_load_n(&is_in, __ATOMIC_SEQ_CST))
                sched_yield();
            for (volatile int pause = round * 51 % 5000; pause > 0; pause--)
                ;
            MUST(pthread_kill(thread, SIGUSR1));
            MUST(pthread_join(thread, &result));
            ended += result == (void *)5;
        }
        line(names[call], "ended by the handler: %d", ended);
    }
    return 0;
}
