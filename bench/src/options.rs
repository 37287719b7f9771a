//! The command line.

use crate::inner::Task;
use crate::session::{SessionSize, Validity};
use clap::{Parser, Subcommand};
use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
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

    /// Only the rows whose names contain this, and one of the names behind it: waits=redis,pgbench
    #[arg(long, value_name = "TEXT[=NAME,...]")]
    pub only: Option<Only>,

    /// Two short repetitions: shows that everything runs, and claims nothing
    #[arg(long, conflicts_with_all = ["repetitions", "time_budget"])]
    pub quick: bool,

    /// An `unspin` that is built already; else it is built, optimised. Its preload library is the same in each profile
    #[arg(long, value_name = "PATH")]
    pub unspin: Option<PathBuf>,

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

    /// Fail if a count of instructions exceeds this file's by 3 %
    #[arg(long, value_name = "FILE", requires = "instructions")]
    pub budget: Option<PathBuf>,

    /// Write the counts of instructions to this file
    #[arg(long, value_name = "FILE", requires = "instructions")]
    pub update_budget: Option<PathBuf>,

    /// What is measured
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Which rows are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Only {
    text: String,
    names: Vec<String>,
}

impl FromStr for Only {
    type Err = Infallible;

    fn from_str(words: &str) -> Result<Only, Infallible> {
        let (text, names) = words.split_once('=').unwrap_or((words, ""));
        let names = names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Ok(Only { text: text.to_owned(), names })
    }
}

impl Only {
    /// Whether a row of this name is.
    pub fn includes(&self, name: &str) -> bool {
        let named = self.names.is_empty() || self.names.iter().any(|wanted| name.contains(wanted));
        name.contains(&self.text) && named
    }
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.names.as_slice() {
            [] => f.write_str(&self.text),
            names => write!(f, "{}={}", self.text, names.join(",")),
        }
    }
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
    pub fn extent(&self) -> SessionSize {
        match self.quick {
            true => SessionSize {
                repetitions: 2,
                budget: Duration::MAX,
                loop_ms: 10,
                shorter: 10,
                longer: 1,
                claims: Validity::TooShort,
            },
            false => SessionSize {
                repetitions: self.repetitions,
                budget: Duration::from_secs(self.time_budget),
                loop_ms: 100,
                shorter: 1,
                longer: self.longer,
                claims: Validity::Valid,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn only_selects_by_text_and_names() {
        let only = |words: &str| words.parse::<Only>().unwrap_or_else(|never| match never {});
        assert!(only("waits").includes("waits: pgbench -S -c 1"));
        assert!(only("waits=redis,pgbench").includes("waits: pgbench -S -c 1"));
        assert!(!only("waits=redis").includes("waits: pgbench -S -c 1"));
        assert!(!only("waits=pgbench").includes("ipc: pgbench -S -c 4"));
        assert_eq!(only("waits=redis,pgbench").to_string(), "waits=redis,pgbench");
    }

    #[test]
    fn the_definition_is_consistent() {
        Options::command().debug_assert();
    }
}
