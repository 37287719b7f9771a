/* Keeps all its memory in place, now and later, as real-time programs do; and locks. */
#include "row.h"

enum { PAGES = 64 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static char *map(void)
{
    char *place = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST_SYS(place == MAP_FAILED ? -1 : 0);
    return place;
}

static void row_resident(const char *row, char *place)
{
    unsigned char in[PAGES];
    int resident = 0;
    MUST_SYS(mincore(place, sizeof in * 4096, in));
    for (int i = 0; i < PAGES; i++)
        resident += in[i] & 1;
    line(row, "%d", resident);
}

static void *use(void *unused)
{
    for (int i = 0; i < 100; i++) {
        MUST(pthread_mutex_lock(&m));
        MUST(pthread_mutex_unlock(&m));
    }
    return unused;
}

int main(void)
{
    char *early = map();
    ROW("lock", pthread_mutex_lock(&m));
    ROW_ERRNO("unknown flags", mlockall(64));
    ROW_ERRNO("no flags", mlockall(0));
    row_resident("not touched yet", early);
    ROW_ERRNO("mlockall", mlockall(MCL_CURRENT));
    row_resident("what was there", early);
    row_resident("what comes is not locked", map());
    ROW_ERRNO("mlockall, future too", mlockall(MCL_CURRENT | MCL_FUTURE));
    row_resident("what comes", map());
    ROW("unlock", pthread_mutex_unlock(&m));
    crowd(4, use, NULL);
    ROW_ERRNO("munlockall", munlockall());
    row_resident("what comes is not locked", map());
    ROW_ERRNO("mlockall, on fault", mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT));
    row_resident("what comes is not touched", map());
    crowd(4, use, NULL);
    return 0;
}
