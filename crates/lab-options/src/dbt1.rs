//! The options of `unspin dbt1`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use unspin_launch::command::line::parse_duration;

const DBT1_HELP: &str = "\
Exit code:
    0  all runs ended, and after each the database was consistent
    1  the database was not consistent after a run (a lost update, a wrong total), it ended early, or its disk is full
    2  the command line is wrong, or does not fit the population of the database
  125  there is no folder for the database
  127  --db postgres, and no PostgreSQL server is installed
  130  interrupted (SIGINT, SIGTERM, SIGHUP)

Examples:
  unspin dbt1                                     # SQLite, 16 browsers, five runs of 10 s
  unspin dbt1 --db postgres --mix ordering        # on a PostgreSQL server of its own
  unspin meter dbt1 --browsers 50 --runs 1        # the locks of SQLite and of the pool of connections";

/// Let emulated browsers use a web shop on a database, and print the transactions per second
///
/// The bookshop of TPC-W, as OSDL's Database Test 1 ran it: eight tables, fourteen interactions, three mixes. After each run the
/// tables are checked against each other and against what the browsers did. The database is SQLite, which is built in, or
/// PostgreSQL. It is an ordinary program that calls libc. Its locks are replaced only under `unspin run`, `prove`, `meter` or `top`.
#[derive(Args, Debug)]
#[command(after_help = DBT1_HELP)]
pub struct Dbt1Options {
    /// The database: `sqlite`; `postgres`, which starts a private server; or the URL of a running PostgreSQL server
    #[arg(long, value_name = "DATABASE", default_value = "sqlite")]
    pub db: String,

    /// The file of the SQLite database, which is populated once and kept [default: in a temporary folder]
    #[arg(long, value_name = "FILE")]
    pub database: Option<PathBuf>,

    /// Books in the shop: 1000, 10000, 100000, 1000000 or 10000000 [default: 10000, or those of the database]
    #[arg(long, value_name = "NUM")]
    pub items: Option<i64>,

    /// Browsers for which the shop is populated; 2880 customers for each [default: 10, or those of the database]
    #[arg(long, value_name = "NUM")]
    pub scale: Option<i64>,

    /// Seed of the population and of the browsers
    #[arg(long, value_name = "NUM", default_value_t = 1)]
    pub seed: u32,

    /// How many of the interactions order
    #[arg(long, value_name = "MIX", default_value = "shopping")]
    pub mix: Dbt1Mix,

    /// Emulated browsers, each a thread
    #[arg(long, value_name = "NUM", default_value_t = 16)]
    pub browsers: usize,

    /// Connections to the database that the browsers share [default: 8]
    #[arg(long, value_name = "NUM")]
    pub connections: Option<usize>,

    /// Mean time that a browser waits after each page; TPC-W has 7s
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = time)]
    pub think_time: Duration,

    /// Time at the start of each run that is not measured
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time)]
    pub warm_up: Duration,

    /// Measured time of each run
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub duration: Duration,

    /// Number of runs
    #[arg(long, value_name = "NUM", default_value_t = 5)]
    pub runs: usize,

    /// Let each commit wait for the disk, so that it survives a crash of the machine
    #[arg(long)]
    pub durable: bool,
}

/// A mix of interactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Dbt1Mix {
    /// 5 % of the interactions order
    Browsing,
    /// 20 % order
    Shopping,
    /// 50 % order
    Ordering,
}

/// A time with a unit, which may be 0.
fn time(text: &str) -> Result<Duration, String> {
    match text.trim_end_matches(char::is_alphabetic) {
        "0" => Ok(Duration::ZERO),
        _ => parse_duration(text),
    }
}
