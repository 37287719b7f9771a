//! The options, and their limits.

use crate::mix::Mix;
use crate::population::Scale;
use std::path::PathBuf;
use std::time::Duration;

/// What is run, and on what.
#[derive(Clone, Debug)]
pub struct Options {
    /// `--db`: the database.
    pub database: DatabaseChoice,
    /// `--items`: number of books. None: the number in an existing database, else 10,000.
    pub items: Option<i64>,
    /// `--scale`: emulated browsers for which the population is made. None: the number in an existing database, else
    /// 10.
    pub scale: Option<i64>,
    /// `--seed`: seed of the population and of the browsers.
    pub seed: u64,
    /// `--mix`: the mix of interactions.
    pub mix: Mix,
    /// `--browsers`: emulated browsers, each a thread.
    pub browsers: usize,
    /// `--connections`: connections to the database that the browsers share.
    pub connections: Option<usize>,
    /// `--think-time`: mean time between a page and the next request.
    pub think_time: Duration,
    /// `--warm-up`: time at the start of each run that is not measured.
    pub warm_up: Duration,
    /// `--duration`: measured time of each run.
    pub duration: Duration,
    /// `--runs`: number of runs.
    pub runs: usize,
    /// `--durable`: whether a commit survives a crash of the machine.
    pub durability: Durability,
}

/// Where the tables are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DatabaseChoice {
    /// SQLite, in a file; none for one in a temporary folder.
    Sqlite(Option<PathBuf>),
    /// A PostgreSQL server that is started for the benchmark.
    PrivatePostgres,
    /// A PostgreSQL server that runs, by its URL.
    Postgres(String),
}

/// What a commit waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// A crash of the program loses no transaction; a crash of the machine may lose the last ones.
    Relaxed,
    /// The disk has the transaction.
    Full,
}

/// Books if no number is given: the second scale of the specification.
const ITEMS: i64 = 10_000;
/// Browsers of the population if no number is given: 28,800 customers.
const SCALE: i64 = 10;
/// Connections if no number is given.
const CONNECTIONS: usize = 8;

/// Each browser is a thread.
const BROWSERS_MAX: usize = 10_000;
/// PostgreSQL has a process for each.
const CONNECTIONS_MAX: usize = 1000;
/// 28,800,000 customers, some 30 GB.
const SCALE_MAX: i64 = 10_000;
const RUNS_MAX: usize = 10_000;

impl Default for Options {
    fn default() -> Options {
        Options {
            database: DatabaseChoice::Sqlite(None),
            items: None,
            scale: None,
            seed: 1,
            mix: Mix::Shopping,
            browsers: 16,
            connections: None,
            think_time: Duration::ZERO,
            warm_up: Duration::from_secs(2),
            duration: Duration::from_secs(10),
            runs: 5,
            durability: Durability::Relaxed,
        }
    }
}

impl Options {
    /// The scale of a new population.
    pub fn scale(&self) -> Scale {
        Scale { items: self.items.unwrap_or(ITEMS), browsers: self.scale.unwrap_or(SCALE), seed: self.seed }
    }

    /// Number of connections.
    pub fn connections(&self) -> usize {
        self.connections.unwrap_or(CONNECTIONS).min(self.browsers)
    }

    /// Time of all runs, without population and checks.
    pub fn whole(&self) -> Duration {
        (self.warm_up + self.duration) * self.runs as u32
    }

    /// Checks that each value makes sense. The text names the option and its limits.
    pub fn check(&self) -> Result<(), String> {
        let counts = [
            ("--browsers", self.browsers, BROWSERS_MAX),
            ("--connections", self.connections.unwrap_or(1), CONNECTIONS_MAX),
            ("--runs", self.runs, RUNS_MAX),
            ("--scale", self.scale.map_or(1, |scale| scale.max(0) as usize), SCALE_MAX as usize),
        ];
        for (option, value, greatest) in counts {
            if value < 1 || value > greatest {
                return Err(format!("{option} {value}: give a number from 1 to {greatest}"));
            }
        }
        if self.items.is_some_and(|items| !Scale::ITEMS.contains(&items)) {
            return Err(format!(
                "--items {}: TPC-W has the scales 1000, 10000, 100000, 1000000 and 10000000",
                self.items.unwrap_or_default()
            ));
        }
        if self.duration.is_zero() {
            return Err("--duration must be more than 0".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_without_sense_are_refused() {
        let refused = |options: Options| options.check().unwrap_err();
        let default = Options::default;
        assert_eq!(
            refused(Options { browsers: 0, ..default() }),
            "--browsers 0: give a number from 1 to 10000"
        );
        assert!(refused(Options { browsers: 10_001, ..default() }).starts_with("--browsers 10001: "));
        assert!(refused(Options { connections: Some(0), ..default() }).starts_with("--connections 0: "));
        assert!(refused(Options { runs: 0, ..default() }).starts_with("--runs 0: "));
        assert!(refused(Options { scale: Some(-1), ..default() }).starts_with("--scale 0: "));
        assert!(refused(Options { items: Some(999), ..default() }).starts_with("--items 999: "));
        assert!(refused(Options { duration: Duration::ZERO, ..default() }).starts_with("--duration "));
        assert!(default().check().is_ok());
    }
}
