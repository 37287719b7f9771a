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

use clap::Subcommand;
use hackbench::HackbenchOptions;
use semopbench::SemopbenchOptions;

/// The workloads that are commands of unspin. The crate `unspin-launch` has a table of what other commands know about them.
#[derive(Subcommand, Debug)]
#[expect(missing_docs, reason = "the documentation of a variant would replace the help of its options")]
pub enum Workload {
    Semopbench(SemopbenchOptions),
    Hackbench(HackbenchOptions),
}

impl Workload {
    /// Runs the workload, which prints its report by `print`. The calling process must have only one thread.
    pub fn run<E>(&self, print: impl Fn(&str) -> Result<(), E>) -> Result<(), Failure<E>> {
        match self {
            Workload::Semopbench(options) => options.run(print),
            Workload::Hackbench(options) => options.run(print),
        }
    }
}

/// Why a workload has no result.
#[derive(Debug)]
pub enum Failure<E> {
    /// An option is out of range; the text names the workload, the option and the limit.
    Option(String),
    /// The workload failed; the text names it.
    Benchmark(String),
    /// The report cannot be printed.
    Print(E),
}
