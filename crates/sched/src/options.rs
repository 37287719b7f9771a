//! The command line.

use clap::{Parser, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Load a scheduler into the kernel (sched_ext), and run a command under it
///
/// Only tasks of the policy SCHED_EXT are scheduled by it: the command and what it starts. All others stay with the kernel's
/// own scheduler, to which the kernel returns when unspin-sched ends.
#[derive(Parser, Debug)]
#[command(name = "unspin-sched", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Options {
    /// The scheduler
    pub scheduler: Kind,

    /// End after this time; without it and without a command: at SIGINT or SIGTERM
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "command")]
    pub seconds: Option<u32>,

    /// Time for which the kernel lets a task wait before it ejects the scheduler
    #[arg(long, value_name = "MS", default_value_t = 30_000, value_parser = clap::value_parser!(u32).range(5_000..=30_000))]
    pub timeout_ms: u32,

    /// Write what the scheduler has counted, as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,

    /// Measure the contention of the queues' locks, and print it as a table
    #[arg(long)]
    pub locks: bool,

    /// The command to run, after --
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// The schedulers.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One queue for all CPUs, as in Linux 2.4
    Global,
    /// One queue for each CPU, as in the multi-queue patch for Linux 2.4
    Mq,
}

impl Kind {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Global => "global",
            Kind::Mq => "mq",
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  unspin-sched mq -- unspin hackbench -g 2
  unspin-sched global --locks --stats global.json -- unspin-lab volano
  unspin-sched mq --seconds 60";

impl Options {
    /// Reads the command line. Prints help or an error and ends the process if there is nothing to run.
    pub fn read() -> Options {
        Options::parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn definition_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn examples_are_valid_command_lines() {
        for line in EXAMPLES.lines().skip(1) {
            Options::try_parse_from(line.split_whitespace()).unwrap();
        }
    }

    #[test]
    fn wrong_command_lines_are_refused() {
        for line in [
            "unspin-sched",
            "unspin-sched cfs",
            "unspin-sched mq true",
            "unspin-sched mq --timeout-ms 4999",
            "unspin-sched mq --timeout-ms 30001",
            "unspin-sched mq --seconds 0",
            "unspin-sched mq --seconds 5 -- true",
        ] {
            assert!(Options::try_parse_from(line.split_whitespace()).is_err(), "{line}");
        }
    }
}
