/* One step of a script, and what the processes of a script share. */
#ifndef STEP_H
#define STEP_H
#include "../check.h"
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/shm.h>

enum { PROCESSES = 4, SLOTS = 3, NUMBERS = 24, PAGE = 4096 };
enum class { SETS, QUEUES, SEGMENTS, CLASSES };

struct step {
    int process, threaded, command, slot, count;
    int number; /* of the line */
    int numbers[NUMBERS];
};

/* What came of a step. */
struct reply {
    int result, error;
    long type;  /* of a message that was received */
    int letter; /* that its text consists of; '?' if it is not whole */
};

/* In memory that a new image of a process finds again, by the descriptor WORLD. */
struct shared {
    key_t keys; /* the first of 64 that no other program uses */
    int ids[CLASSES][SLOTS];
};
static struct shared *shared;

/* Descriptors at places that every process knows: of the processes' pipes each end is open everywhere, so that a process that
 * takes another's place finds it. */
enum { WORLD = 90, COMMANDS = 100, REPLIES = 100 + 2 * PROCESSES };
enum { OUT, IN };

static int end_of(int pipes, int process, int end)
{
    return pipes + 2 * process + end;
}

static void find_world(void)
{
    shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, WORLD, 0);
    if (shared == MAP_FAILED)
        MUST(-1);
}

#endif
