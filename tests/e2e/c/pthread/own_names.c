/* A program with functions and a variable of its own under names of libc. The linker exports them, because libc has the
 * names too. Each has another meaning here: no library may call it. What the program calls itself has other names. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/sem.h>

#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch"

enum { THREADS = 4, TIMES = 200 };

static const char *called;

#define OWN(name)                                                                                                      \
    long own_##name(void) __asm__(#name);                                                                              \
    long own_##name(void)                                                                                              \
    {                                                                                                                  \
        called = #name;                                                                                                \
        return 0;                                                                                                      \
    }

OWN(abort)
OWN(clock_gettime)
OWN(close)
OWN(dl_iterate_phdr)
OWN(dlsym)
OWN(fclose)
OWN(fcntl)
OWN(fileno)
OWN(flock)
OWN(fstat64)
OWN(ftruncate64)
OWN(getauxval)
OWN(getcwd)
OWN(getenv)
OWN(getpid)
OWN(gettid)
OWN(linkat)
OWN(lseek64)
OWN(lstat64)
OWN(memcmp)
OWN(mmap64)
OWN(mprotect)
OWN(munmap)
OWN(nanosleep)
OWN(open64)
OWN(pread64)
OWN(prctl)
OWN(pthread_getspecific)
OWN(pthread_key_create)
OWN(pthread_key_delete)
OWN(pthread_setcancelstate)
OWN(pthread_setspecific)
OWN(pthread_testcancel)
OWN(raise)
OWN(read)
OWN(readlink)
OWN(realpath)
OWN(sched_yield)
OWN(sigaction)
OWN(signal)
OWN(sigprocmask)
OWN(stat64)
OWN(statx)
OWN(syscall)
OWN(sysconf)
OWN(time)
OWN(write)
OWN(writev)

char **environ;

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int turn, count, set;

static void *take_turns(void *mine)
{
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&m);
        while (turn != (int)(long)mine)
            pthread_cond_wait(&c, &m);
        turn = (turn + 1) % THREADS;
        count++;
        pthread_cond_broadcast(&c);
        pthread_mutex_unlock(&m);
        struct sembuf up_and_down[2] = {{0, 1, 0}, {0, -1, SEM_UNDO}};
        if (set < 0 || semop(set, up_and_down, 2) != 0)
            count -= 100000;
    }
    poll(NULL, 0, 1);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    set = semget(IPC_PRIVATE, 1, 0600);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, take_turns, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    struct semid_ds about;
    int asked = semctl(set, 0, IPC_STAT, &about);
    int removed = semctl(set, 0, IPC_RMID);
    printf("turns %d, asked %d, sem_otime %s, removed %d\n", count, asked, about.sem_otime > 1000 ? "set" : "not set", removed);
    printf("own function called: %s\n", called ? called : "none");
    return 0;
}
