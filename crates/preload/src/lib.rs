//! The library that `LD_PRELOAD` puts in front of libc.
//!
//! It holds hooks and nothing else: each exported function finds out who has to answer (an engine of
//! `unspin-sysv`, or the next definition of the same name, libc's as a rule) and turns the answer into what C
//! expects. The exports, by module:
//!
//! | module | exports | answered by |
//! |---|---|---|
//! | `sem` | `semget semop semtimedop semctl` | the engine that `UNSPIN_SYSV` names |
//! | `msg` | `msgget msgsnd msgrcv msgctl` | the same engine |
//! | `shm` | `shmget shmat shmdt shmctl` | the same engine |
//! | `syscall` | `syscall` | the engine for the twelve calls above, the kernel for the rest |
//! | `proc` | `open openat fopen freopen` and their other names | the next definition; `/proc/sysvipc` by the engine |
//! | `namespace` | `unshare setns` | the next definition; the engine undoes what `CLONE_SYSVSEM` gives up, and is that of the namespace gone to |
//! | `cancel` | `pthread_setcanceltype` | the next definition; threads that can be cancelled anywhere are not while they are in the engine |
//! | `creds` | `set*id setgroups initgroups capset` | the next definition; the engine forgets cached ids |
//! | `pthread` | `pthread_mutex_*`, `pthread_rwlock_*`, `pthread_spin_*`, `pthread_cond_*`, `pthread_barrier_*`, `sem_*`, `mtx_*`, `cnd_*` | the next definition, or `swap`; `watch` records |
//! | `waits` | `poll select epoll_wait read recv accept` and their kin, `pthread_join` | the next definition, perhaps after polling; `watch` records |
//! | `sandbox` | `prctl` | the next definition; `watch` makes no system call after a seccomp filter |
//! | `mlock` | `mlockall` | the kernel, for all but the recording; without one, the next definition |
//! | `rlimit` | `setrlimit getrlimit prlimit` and their 64-bit names | the next definition; address space without the recording |
//! | `dlclose` | `dlclose` | the next definition; `watch` and `swap` forget what code they know |
//! | `signal` | `sigaction`, `signal` and their kin | the next definition, with a trampoline in between |
//!
//! With `UNSPIN_SYSV` unset or `kernel` every call still takes this way, and ends in the kernel: that is the
//! control of every measurement.
//!
//! `start` opens the engine, once, in this library's constructor or at the first System V call, whichever
//! is earlier. Nothing here panics across the boundary to C (`guard`), and nothing is printed unless the
//! library cannot do its job (`notice`).
#![warn(missing_docs)]

mod call;
mod cancel;
mod creds;
mod departure;
mod dlclose;
mod environment;
mod errno;
mod guard;
mod mlock;
mod msg;
mod namespace;
mod next;
mod notice;
mod plan;
mod proc;
mod pthread;
mod rlimit;
mod sandbox;
mod sem;
mod shm;
mod signal;
mod start;
mod swap;
mod syscall;
mod waits;
mod watch;
