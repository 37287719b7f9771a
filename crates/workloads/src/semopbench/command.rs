//! `unspin semopbench`: the workload, under its own options.

use super::{Debug, Error, Options, ProfileReset, Verbosity};
use crate::Failure;
use clap::Args;

const SEMOPBENCH_HELP: &str = "\
Exit code:
    0  every token was passed round as often as requested
    1  a process ended early, a token was lost, or the system refused an operation
    2  the command line is wrong, or requests more than the kernel allows

Examples:
  unspin semopbench -g 4 -s 8                   # on the kernel's semaphores
  unspin run --sysv rcu semopbench -g 4 -s 8    # on those of another engine
  unspin prove semopbench                       # compares the engines";

/// Pass tokens round rings of processes, each asleep on its own System V semaphore
///
/// The benchmark forks one process for each semaphore, which sleeps on it. The master posts the first semaphore of each
/// group. The process that wakes up resets its semaphore, posts the next one of its group, and waits again. It is an ordinary
/// program that calls semop(2). It uses another engine only under `unspin run`, `prove`, `meter` or `top`.
#[derive(Args, std::fmt::Debug)]
#[command(after_help = SEMOPBENCH_HELP)]
pub struct SemopbenchOptions {
    /// Number of groups: each is a semaphore set with its own token
    #[arg(short, value_name = "GROUPS", default_value_t = 8)]
    pub groups: usize,

    /// Semaphores in each group, and processes; with 1, a process posts to itself and never sleeps
    #[arg(short, value_name = "SEMAPHORES", default_value_t = 16)]
    pub semaphores: usize,

    /// How many times the token goes round each group
    #[arg(short = 'n', value_name = "REPETITIONS", default_value_t = 500)]
    pub repetitions: u32,

    /// Reset the kernel's profile counters before the test starts, as `readprofile -r` does
    #[arg(short)]
    pub reset: bool,

    /// Print progress on standard error
    #[arg(short)]
    pub debug: bool,

    /// Report the time of each process
    #[arg(short)]
    pub verbose: bool,
}

impl SemopbenchOptions {
    /// Runs the benchmark and prints its report.
    pub fn run<E>(&self, print: impl Fn(&str) -> Result<(), E>) -> Result<(), Failure<E>> {
        let options = Options {
            groups: self.groups,
            semaphores: self.semaphores,
            repetitions: self.repetitions,
            profile_reset: if self.reset { ProfileReset::Yes } else { ProfileReset::No },
            debug: if self.debug { Debug::On } else { Debug::Off },
            verbosity: if self.verbose { Verbosity::Processes } else { Verbosity::Summary },
        };
        match super::run(&options) {
            Ok(report) => print(&report.to_string()).map_err(Failure::Print),
            Err(Error::Option(text)) => Err(Failure::Option(format!("semopbench: {text}"))),
            Err(error) => Err(Failure::Benchmark(format!("semopbench: {error}"))),
        }
    }
}
