//! The benchmarks that the historical reports used, rebuilt as ordinary programs.
//!
//! Nothing in here knows about unspin's engines and locks: a workload calls the C library, and whether that
//! or a preloaded library answers is decided by whoever starts it. That is why the modules `libc_*` name
//! libc's own symbols although everywhere else in the workspace system calls are made by `unspin-sys`: a call
//! made by the `syscall` instruction could not be interposed, and a workload that cannot be interposed
//! measures nothing. For the same reason they have pthread's mutexes and conditions, not those of Rust's
//! standard library, which are futexes of its own.
#![warn(missing_docs)]

pub mod hackbench;
mod libc_io;
mod libc_pthread;
mod libc_sem;
pub mod semopbench;
