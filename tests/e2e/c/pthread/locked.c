/* Asks the kernel to keep all memory in place, now and later, and locks; tells whether that took memory beyond measure. */
#include "row.h"
#include <sys/resource.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static long locked_mib(void)
{
    char text[256];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(text, sizeof text, status) != NULL)
        sscanf(text, "VmLck: %ld kB", &kib);
    if (status != NULL)
        fclose(status);
    return kib / 1024;
}

int main(void)
{
    ROW("lock", pthread_mutex_lock(&m));
    ROW_ERRNO("mlockall", mlockall(MCL_CURRENT | MCL_FUTURE));
    ROW("unlock", pthread_mutex_unlock(&m));
    ROW_ERRNO("munlockall", munlockall());
    fprintf(stderr, "locked %ld MiB\n", locked_mib());
    return 0;
}
