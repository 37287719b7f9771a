/* Limits its address space, and goes on: locks, allocates, starts threads and programs. */
#include "row.h"
#include <sys/resource.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *nothing(void *unused) { return unused; }

static void row_limit(const char *name)
{
    struct rlimit now = { 1, 1 }, same = { 2, 2 };
    MUST_SYS(getrlimit(RLIMIT_AS, &now));
    MUST_SYS(prlimit(0, RLIMIT_AS, NULL, &same));
    line(name, "%lld %lld, %s", (long long)now.rlim_cur, (long long)now.rlim_max,
         memcmp(&now, &same, sizeof now) == 0 ? "twice" : "once");
}

int main(int argc, char **argv)
{
    struct rlimit wanted = { 1L << 30, 1L << 30 }, before = { 3, 3 };
    pthread_t thread;
    row_limit(argc > 1 ? "as another program" : "at first");
    if (argc > 1)
        return 0;
    MUST(pthread_mutex_lock(&m));
    MUST(pthread_mutex_unlock(&m));
    MUST_SYS(setrlimit(RLIMIT_AS, &wanted));
    row_limit("set");
    void *some = malloc(64 << 20), *much = malloc(2L << 30);
    line("malloc", "%s %s", some != NULL ? "some" : "none", much != NULL ? "too much" : "no more");
    ROW("thread", pthread_create(&thread, NULL, nothing, NULL));
    MUST(pthread_join(thread, NULL));
    wanted.rlim_cur = 1L << 29;
    ROW_ERRNO("prlimit", prlimit(getpid(), RLIMIT_AS, &wanted, &before));
    line("before", "%lld %lld", (long long)before.rlim_cur, (long long)before.rlim_max);
    row_limit("set by prlimit");
    wanted.rlim_cur = wanted.rlim_max + 1;
    ROW_ERRNO("above its maximum", setrlimit(RLIMIT_AS, &wanted));
    execl(argv[0], argv[0], "again", (char *)NULL);
    return 1;
}
