/*
 * unspin/sysv.h - System V semaphores, message queues and shared memory in user space
 *
 *     #include <unspin/sysv.h>
 *     cc prog.c $(pkg-config --cflags --libs unspin-sysv)
 *
 * For programs that use unspin's engines without the preload library. Each function takes an engine, followed by the
 * arguments of the system call of the same name. It returns the same values and the same errno as that call, with the
 * checks in the same order. The structures, flags and commands are those of <sys/sem.h>, <sys/msg.h> and <sys/shm.h>;
 * semop(2), msgop(2), shmop(2) and the related pages document them. libc's own semop() and the others still call the
 * kernel.
 *
 * PROCESSES
 *     Objects lie in an arena: a file that processes share by its name. It was opened by this library, or by a
 *     program under `unspin run --sysv ENGINE --arena FILE`. As in the kernel, objects outlive the processes that use
 *     them. They exist until IPC_RMID or the removal of the file (`unspin arenas remove FILE`). A process that may
 *     write the file can do anything to the objects in it: permission checks separate well-behaved programs only.
 *
 * THREADS, FORK, EXEC
 *     Every function may be called from any thread at any time. A thread needs no initialisation or cleanup; the
 *     library cleans up when the thread ends. A child made by fork() uses its parent's engines. It is a process of
 *     its own, without adjustments (SEM_UNDO) and with its parent's attachments, as under the kernel. After exec the
 *     new program opens its own engines; the adjustments stay with the process.
 *
 * DEATH
 *     A process may be killed at any instruction. A process that is blocked by the dead one's locks or unfinished
 *     operations releases, completes or undoes them. There is no daemon.
 *
 * SIGNALS
 *     Signals are blocked while the engine holds a lock of its own. This takes two system calls. So an uncontended
 *     message takes about as long as in the kernel, and an uncontended operation with SEM_UNDO longer. If a signal
 *     handler runs while a call sleeps, the call ends with EINTR and is never restarted, as under the kernel. A
 *     signal that arrives in the few microseconds before the call falls asleep may not end the sleep. Where the
 *     kernel's race between alarm(2) and pause(2) would matter, pass a timeout to unspin_semtimedop() here too. A
 *     handler may call these functions, although POSIX lists none of them as async-signal-safe. If a handler leaves a
 *     sleeping call by longjmp(), the call's wait remains queued until the thread's next call.
 *
 * CANCELLATION
 *     No function is a cancellation point. A thread must not have asynchronous cancelability during a call.
 *
 * ADDRESSES
 *     All pointers must be valid. A bad address causes SIGSEGV, as in any library; a system call would return EFAULT.
 *
 * DEFECTS
 *     A broken invariant prints one line on standard error and calls abort(3). No C++ exception and no panic leaves a
 *     function.
 *
 * x86-64 Linux with glibc. Define _GNU_SOURCE, _DEFAULT_SOURCE or _XOPEN_SOURCE before the include, as <sys/ipc.h>
 * requires.
 */
#ifndef UNSPIN_SYSV_H
#define UNSPIN_SYSV_H

#include <stddef.h>
#include <stdint.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An engine that is open. */
typedef struct unspin_sysv unspin_sysv;

/* The engines. */
enum unspin_sysv_kind {
    UNSPIN_SYSV_KERNEL = 0, /* the running kernel's own System V IPC; needs no arena */
    UNSPIN_SYSV_GLOBAL = 1, /* one spin lock for everything: for comparison */
    UNSPIN_SYSV_RCU = 2     /* one lock for each object, and none for simple operations: what you want */
};

/* Their names, as `unspin run --sysv ENGINE` takes them: for an array whose indices are the numbers above. */
#define UNSPIN_SYSV_NAMES { "kernel", "global", "rcu" }

/* How to make an arena that is not there yet. Begin with UNSPIN_SYSV_OPTIONS_INIT; zero stands for what is usual. */
struct unspin_sysv_options {
    size_t size;          /* sizeof(struct unspin_sysv_options) */
    uint64_t arena_bytes; /* length of the file, which is sparse: address space, not memory; usually 512 MiB */
    uint32_t arena_mode;  /* its permission bits, of 0777, whatever the umask; usually 0600 */
};

#define UNSPIN_SYSV_OPTIONS_INIT { sizeof(struct unspin_sysv_options), 0, 0 }

/*
 * unspin_sysv_open - opens an engine
 *
 * Joins the arena at `path`, or makes it. NULL stands for the arena that all programs of this user, IPC namespace and
 * engine share unless told otherwise, in /dev/shm, or without room there in /tmp or /var/tmp. `options` may be NULL. A process
 * may have several engines.
 *
 * Returns the engine, or NULL with errno set, and unspin_sysv_error() says in words what is wrong:
 *     EINVAL      the kind, the options, or the size: no room for anything
 *     EACCES      the arena belongs to another user, who did not open it, or lies where the usual one would
 *     EBADMSG     the file is no arena, or is damaged
 *     EOPNOTSUPP  the arena was made by another version of unspin, or for another engine
 *     any that open(2), mmap(2) or link(2) sets
 */
unspin_sysv *unspin_sysv_open(int kind, const char *path, const struct unspin_sysv_options *options);

/*
 * unspin_sysv_close - gives an engine back
 *
 * The pointer must not be used any more. What it gave access to stays: objects, attachments, adjustments; and the arena
 * stays mapped until the process ends, so opening is for the beginning of a program. NULL is ignored.
 */
void unspin_sysv_close(unspin_sysv *engine);

/*
 * unspin_sysv_error - why unspin_sysv_open() failed
 *
 * Returns one line, without a newline, about the calling thread's last failure; empty if there was none. Valid until the
 * thread's next call of unspin_sysv_open() or its end.
 */
const char *unspin_sysv_error(void);

/*
 * Semaphores: semget(2), semop(2), semtimedop(2), semctl(2)
 *
 * A single operation on a semaphore that nobody waits for is one compare-and-swap under UNSPIN_SYSV_RCU. The fourth
 * argument of unspin_semctl is a `union semun`, as in semctl(2): defined by the program, passed by value, needed by
 * SETVAL, SETALL, GETALL, IPC_STAT, IPC_SET, SEM_STAT, SEM_STAT_ANY, IPC_INFO and SEM_INFO.
 *
 * A null engine answers EINVAL, here and below.
 */
int unspin_semget(unspin_sysv *engine, key_t key, int nsems, int flags);
int unspin_semop(unspin_sysv *engine, int semid, struct sembuf *ops, size_t nops);
int unspin_semtimedop(unspin_sysv *engine, int semid, struct sembuf *ops, size_t nops,
                      const struct timespec *timeout);
int unspin_semctl(unspin_sysv *engine, int semid, int semnum, int cmd, ...);

/*
 * Message queues: msgget(2), msgsnd(2), msgrcv(2), msgctl(2)
 *
 * A message is a `long`, its type, followed by its text; the sizes are those of the text.
 */
int unspin_msgget(unspin_sysv *engine, key_t key, int flags);
int unspin_msgsnd(unspin_sysv *engine, int msqid, const void *message, size_t size, int flags);
ssize_t unspin_msgrcv(unspin_sysv *engine, int msqid, void *message, size_t size, long type, int flags);
int unspin_msgctl(unspin_sysv *engine, int msqid, int cmd, struct msqid_ds *buffer);

/*
 * Shared memory: shmget(2), shmat(2), shmdt(2), shmctl(2)
 *
 * unspin_shmat() returns the address, or (void *) -1. SHM_INFO and IPC_INFO want the address of another structure in
 * `buffer`, cast, as in shmctl(2).
 */
int unspin_shmget(unspin_sysv *engine, key_t key, size_t size, int flags);
void *unspin_shmat(unspin_sysv *engine, int shmid, const void *address, int flags);
int unspin_shmdt(unspin_sysv *engine, const void *address);
int unspin_shmctl(unspin_sysv *engine, int shmid, int cmd, struct shmid_ds *buffer);

#ifdef __cplusplus
}
#endif

#endif
