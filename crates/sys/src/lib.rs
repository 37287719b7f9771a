//! The only crate of unspin that makes system calls.
//!
//! Calls use the `syscall` instruction, not libc, for two reasons. The preload library exports libc's `syscall()`, so a
//! call through libc would come back to us. And libc's wrappers write `errno`, which a hook must not change for its
//! caller. Every call returns [`Errno`] instead.
//!
//! One subject per module:
//!
//! - synchronisation: [`futex`], [`robust`] (words that the kernel marks when a thread ends), [`membarrier`], [`event`]
//!   (eventfd and epoll), [`timer`] (timerfd), [`local`] (words with one writer);
//! - memory: [`mem`] (mappings), [`maps`] (what is mapped into this process), [`page`] (pages owned by one thread),
//!   [`fault`] (access to memory that may not be mapped), [`memfile`] (files in memory), [`mod@file`],
//!   [`file_mapping`] (mapped files that may shrink), [`file_system`] (room and limits of a folder's file system), [`open_file`]
//!   (descriptors that the program may have replaced),
//!   [`regular`] (files under names of others), [`stack`] (a larger stack than the limit permits);
//! - processes and threads: [`process`] (identity and life), [`blocked`] (the call in
//!   which a thread sleeps), [`child`] (child processes), [`keeper`] (child processes that end with all that they have started), `inherited` (what
//!   a launched program gets from the parent of its launcher; a feature), [`generation`] (detects a
//!   fork), [`tid`] (the calling thread's id), [`tls`] (initial-exec thread-local words), [`thread_exit`] (functions
//!   that are called when a thread ends), [`cpu`] (the calling thread's CPU), [`sched`], [`signal`], [`creds`],
//!   [`namespace`] (IPC namespaces);
//! - other: [`clock`], [`glibc`] (its version), [`ipc`] (the kernel's System V calls and their C types), [`limits`] and [`next_id`] (the live
//!   `kernel.*` settings), [`exhausted`] (what a limit that is reached is called, and its remedy), [`entry!`] (hooks that know their caller), [`private`] (names of libc that a program cannot
//!   intercept), [`printable`] (names without control characters), [`probe`] (which calls are permitted), [`raw`] (the instruction itself).
#![warn(missing_docs)]

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!(
    "unspin runs on Linux on x86-64: its system-call and thread-local layers are written for that ABI"
);

pub mod at_fork;
pub mod blocked;
pub mod build_id;
pub mod child;
pub mod clock;
pub mod cpu;
pub mod creds;
pub mod entry;
mod errno;
pub mod event;
pub mod exhausted;
pub mod fault;
pub mod file;
pub mod file_lock;
pub mod file_mapping;
pub mod file_system;
pub mod futex;
pub mod generation;
pub mod glibc;
#[cfg(feature = "inherited")]
pub mod inherited;
pub mod ipc;
pub mod keeper;
pub mod limits;
pub mod local;
pub mod maps;
pub mod mem;
pub mod membarrier;
pub mod memfile;
pub mod namespace;
pub mod next_id;
pub mod open_file;
pub mod page;
pub mod printable;
pub mod private;
pub mod probe;
pub mod process;
pub mod raw;
pub mod regular;
pub mod robust;
pub mod sched;
pub mod shown;
pub mod signal;
pub mod stack;
pub mod thread_exit;
pub mod tid;
pub mod timer;
pub mod tls;
mod view;

pub use errno::Errno;
