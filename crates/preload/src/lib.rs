//! The library that `LD_PRELOAD` puts in front of libc.
//!
//! It contains only hooks. Each exported function determines which implementation answers the call: an engine of
//! `unspin-sysv`, or the *next definition* of the same name (usually libc's). Then it converts the answer to what C
//! expects. The exports, by module:
//!
//! | module | exports | answered by |
//! |---|---|---|
//! | `sem` | `semget semop semtimedop semctl` | the engine that `UNSPIN_SYSV` names |
//! | `msg` | `msgget msgsnd msgrcv msgctl` | the same engine |
//! | `shm` | `shmget shmat shmdt shmctl` | the same engine |
//! | `syscall` | `syscall` | the engine for the twelve calls above, the kernel for the rest |
//! | `proc` | `open openat fopen freopen` and their other names | the next definition; `/proc/sysvipc` by the engine |
//! | `namespace` | `unshare setns clone` | the next definition; the engine then applies what `CLONE_SYSVSEM` does to undo adjustments, and the thread, or the child of `clone`, uses the engine of its new namespace |
//! | `cancel` | `pthread_setcanceltype` | the next definition; asynchronous cancellation is deferred while a thread is in the engine |
//! | `creds` | `set*id setgroups initgroups capset` | the next definition; the engine forgets cached ids |
//! | `pthread` | the functions of pthread and C11 on mutexes and the like; its own table lists them | the next definition, or `swap`; `watch` records |
//! | `waits` | `poll select epoll_wait read recv accept` and similar calls, `pthread_join` | the next definition, perhaps after polling; `watch` records |
//! | `sandbox` | `prctl` | the next definition; `watch` makes no system call after a seccomp filter |
//! | `mlock` | `mlockall` | the kernel, for all memory but the recording; without a recording, the next definition |
//! | `rlimit` | `setrlimit getrlimit prlimit` and their 64-bit names | the next definition; the recording does not count as address space |
//! | `keys` | `pthread_key_create tss_create` | the next definition; if no key is left, this library gives up its own |
//! | `dlclose` | `dlclose` | the next definition; `watch` and `swap` forget the code that they know |
//! | `dlopen` | `dlopen dlmopen dlsym dlvsym` | the next definition; `swap` leaves everything to libc once there is code whose calls bypass the hooks |
//! | `signal` | `sigaction`, `signal` and similar calls | the next definition, with a trampoline as the handler |
//!
//! If `UNSPIN_SYSV` is unset or `kernel`, every call still goes through these hooks and ends in the kernel. That is the
//! control of every measurement.
//!
//! `start` opens the engine once: in this library's constructor, or at the first System V call if that is earlier. No
//! panic crosses the boundary to C (`guard`). The library prints nothing unless it cannot do its job (`notice`) or the user wants a
//! line at the end (`summary`). It calls
//! no function of libc by a name that the program may define (`private`).
#![warn(missing_docs)]

mod bypass;
mod call;
mod cancel;
mod claim;
mod creds;
mod departure;
mod dlclose;
mod dlopen;
mod environment;
mod errno;
mod glibc;
mod guard;
mod keys;
mod lookup;
mod mlock;
mod msg;
mod namespace;
mod next;
mod notice;
mod plan;
mod private;
mod proc;
mod pthread;
mod rlimit;
mod sandbox;
mod sem;
mod shm;
mod signal;
mod start;
mod summary;
mod swap;
mod syscall;
mod waits;
mod watch;
