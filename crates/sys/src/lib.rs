//! The only crate of unspin that makes system calls.
//!
//! Calls are made by the `syscall` instruction itself, not through libc, for two reasons. The preload
//! exports libc's `syscall()`, so a call through libc would come back to us; and libc's wrappers write
//! `errno`, which a hook must leave as its caller had it. Every call answers with [`Errno`] instead.
//!
//! One noun per module: [`futex`], [`robust`] (words that tell of the end of a thread), [`membarrier`], [`mem`] (mappings), [`page`] (a thread's own), [`entry!`] (who called a hook), [`event`] (what epoll_wait waits for), [`process`] (who is alive), [`child`]
//! (processes of ours), [`clock`], [`cpu`] (where the calling thread runs), [`generation`] (whether it is a fork's child that reads), [`sched`], [`signal`], [`creds`], [`ipc`] (the kernel's System V calls and
//! their C types), [`limits`] (the live `kernel.*` settings), [`memfile`] (files in memory), [`namespace`] (of IPC), [`local`] (words that one
//! thread writes), [`maps`] (what is mapped into this process), [`tid`] (who the calling thread is) and [`tls`] (initial-exec thread-local words).
#![warn(missing_docs)]

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!(
    "unspin runs on Linux on x86-64: its system-call and thread-local layers are written for that ABI"
);

pub mod child;
pub mod clock;
pub mod cpu;
pub mod creds;
pub mod entry;
mod errno;
pub mod event;
pub mod fault;
pub mod file;
pub mod futex;
pub mod generation;
pub mod ipc;
pub mod limits;
pub mod local;
pub mod maps;
pub mod mem;
pub mod membarrier;
pub mod memfile;
pub mod namespace;
pub mod page;
pub mod process;
pub mod raw;
pub mod robust;
pub mod sched;
pub mod signal;
pub mod tid;
pub mod tls;
mod view;

pub use errno::Errno;
