//! The benchmarks of the historical reports, rebuilt as ordinary programs.
//!
//! This crate does not depend on unspin's engines and locks. A workload calls the C library; the environment in which
//! it is started decides whether libc or a preloaded library serves the call. Therefore the modules `libc_*` call
//! libc's own symbols, although elsewhere in the workspace `unspin-sys` makes system calls: a call by the `syscall`
//! instruction cannot be interposed, and a workload that cannot be interposed measures nothing. For the same reason the
//! workloads use pthread mutexes and conditions instead of those of Rust's standard library, which call futex(2)
//! directly. The workloads of other crates, volano and dbt1, use the same modules.
#![warn(missing_docs)]

pub mod hackbench;
mod libc_io;
pub mod libc_limits;
pub mod libc_pthread;
mod libc_sem;
pub mod machine_limits;
pub mod semopbench;
