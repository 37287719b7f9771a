//! The benchmarks that the historical reports used, rebuilt as ordinary programs.
//!
//! Nothing in here knows about unspin's engines: a workload calls the C library, and whether the kernel
//! or a preloaded engine answers is decided by whoever starts it. That is why `libc_sem` names libc's own
//! symbols although everywhere else in the workspace system calls are made by `unspin-sys`: a call made by
//! the `syscall` instruction could not be interposed, and a workload that cannot be interposed measures
//! nothing.
#![warn(missing_docs)]

mod libc_sem;
pub mod semopbench;
