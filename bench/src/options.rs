//! The command line.

use crate::inner::Task;
use crate::sitting::{Claims, Extent};
use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// Measures unspin against the kernel, crossbeam-epoch and liburcu, and prints one table.
#[derive(Parser, Debug)]
#[command(name = "unspin-bench", max_term_width = 100)]
pub struct Options {
    /// How often everything is measured, in random order
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub repetitions: u32,

    /// No repetition begins after this many seconds, but at least five are made
    #[arg(long, value_name = "SECONDS", default_value_t = 420)]
    pub time_budget: u64,

    /// Only the rows whose names contain this
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,

    /// Two short repetitions: shows that everything runs, and claims nothing
    #[arg(long, conflicts_with_all = ["repetitions", "time_budget"])]
    pub quick: bool,

    /// mutrace's library (libmutrace.so), to be compared with; else that row is left out
    #[arg(long, value_name = "PATH")]
    pub mutrace: Option<PathBuf>,

    /// Real programs under the meter do so many times as much: shorter intervals on a machine that is not quiet
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub longer: u32,

    /// Write everything, each run included, to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Count instructions per call under valgrind instead: the same on a busy machine as on an idle one
    #[arg(long, conflicts_with_all = ["repetitions", "time_budget", "only", "quick", "json"])]
    pub instructions: bool,

    /// What is measured
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// How this program starts itself.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Do one thing, and print its one figure
    #[command(subcommand, hide = true)]
    Inner(Task),
}

impl Options {
    /// How much is to be measured.
    pub fn extent(&self) -> Extent {
        match self.quick {
            true => Extent {
                repetitions: 2,
                budget: Duration::MAX,
                loop_ms: 10,
                shorter: 10,
                longer: 1,
                claims: Claims::None,
            },
            false => Extent {
                repetitions: self.repetitions,
                budget: Duration::from_secs(self.time_budget),
                loop_ms: 100,
                shorter: 1,
                longer: self.longer,
                claims: Claims::Made,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Options::command().debug_assert();
    }
}
