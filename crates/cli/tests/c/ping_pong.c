/* Two threads answer each other through two pipes. */
#include <pthread.h>
#include <unistd.h>

enum { TURNS = 2000 };

static int there[2], back[2];

static void *answer(void *unused)
{
    char byte;
    for (int turn = 0; turn < TURNS; turn++) {
        if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1) {
            break;
        }
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    char byte = 0;
    if (pipe(there) != 0 || pipe(back) != 0 || pthread_create(&thread, NULL, answer, NULL) != 0) {
        return 1;
    }
    for (int turn = 0; turn < TURNS; turn++) {
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) {
            return 1;
        }
    }
    return pthread_join(thread, NULL);
}
