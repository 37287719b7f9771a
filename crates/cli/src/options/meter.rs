//! The options of `unspin meter` and `unspin report`.

use super::Replace;
use crate::engine::{self, Engine};
use clap::{Args, ValueEnum};
use regex::Regex;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use unspin_meter::{COLUMNS, Level};

const METER_EXIT_CODES: &str = "\
Exit code: the program's own; 128 + n if signal n killed it; or
    2  the command line is wrong, or a file that was asked for cannot be written
  125  unspin itself failed; what was measured is printed, or kept in a file that is named
  126  the program cannot be executed, or the preload library cannot reach it
  127  there is no such program";

/// Run a program and print which locks it lost time on
///
/// The program is in the foreground, with its terminal and its signals; ^C is for it. When it has ended, in whatever
/// way, the locks that it used through libc (pthread mutexes, read-write locks, spin locks, conditions, barriers,
/// POSIX semaphores) are printed on standard error, those that time was lost on first, their callers beneath, with
/// all processes that it started.
#[derive(Args, Debug)]
#[command(after_help = METER_EXIT_CODES, after_long_help = [COLUMNS, "\n", METER_EXIT_CODES].concat())]
pub struct MeterOptions {
    /// Print the report to this file instead of standard error
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Keep the recording in this file, for `unspin report`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,

    #[command(flatten)]
    pub view: ViewOptions,

    #[command(flatten)]
    pub recorded: RecordOptions,
}

const REPORT_EXIT_CODES: &str = "\
Exit code:
    0  the report has been printed
    1  the file cannot be read, is no recording, is cut short or damaged, or is of another version
    2  the command line is wrong, or a file that was asked for cannot be written
  125  unspin itself failed";

/// Print the report of a recording, stored or just being made
///
/// Names are looked up in the programs and libraries as they are now: what has been replaced since is shown as file and
/// offset.
#[derive(Args, Debug)]
#[command(after_help = REPORT_EXIT_CODES, after_long_help = [COLUMNS, "\n", REPORT_EXIT_CODES].concat())]
pub struct ReportOptions {
    #[command(flatten)]
    pub view: ViewOptions,

    /// The recording: made by `unspin meter --record`, or left in /dev/shm by one that was killed
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// How a program is recorded, and which.
#[derive(Args, Debug)]
pub struct RecordOptions {
    /// How much is recorded: `counts` reads no clock, `sampled` times one hold in 16 (`sampled=N` one in N), drawn by
    /// lot, `full` each
    #[arg(long, value_name = "LEVEL", default_value_t = Level::Full)]
    pub level: Level,

    /// The most memory that the recording may take, such as 512M; what has no room is counted
    #[arg(long, value_name = "BYTES", default_value = "8G", value_parser = bytes)]
    pub size: u64,

    /// Serve its System V IPC by this engine, and record the engine's locks too
    #[arg(long, value_name = "ENGINE", default_value = "kernel", value_parser = engine::parser())]
    pub sysv: Engine,

    /// The file that holds the engine's objects, shared by all programs that name it [default: as of `unspin run`]
    #[arg(long, value_name = "FILE", requires = "sysv")]
    pub arena: Option<PathBuf>,

    #[command(flatten)]
    pub replace: Replace,

    /// The program and its arguments, behind all options of unspin's own; or the name of a workload: semopbench, hackbench
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// What is shown of a recording, and in which form.
#[derive(Args, Debug, Default)]
pub struct ViewOptions {
    /// Write the report to this file as JSON, without regard to the filters
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write contentions and delays to this file as a profile, for `go tool pprof` and its kin, without regard to the
    /// filters
    #[arg(long, value_name = "FILE")]
    pub pprof: Option<PathBuf>,

    /// `table`, or `lockmeter`: the layout of 2001
    #[arg(long, value_name = "FORMAT", default_value = "table", hide_possible_values = true)]
    pub format: Format,

    /// Only locks that were held for at least this share of the time, in percent
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub min_util: Option<f64>,

    /// Only locks of which at least this share of the attempts did not succeed at once, in percent
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub min_con: Option<f64>,

    /// Only locks that at least this time was lost on, such as 10ms
    #[arg(long, value_name = "TIME", value_parser = super::duration)]
    pub min_lost: Option<Duration>,

    /// Only locks whose name matches
    #[arg(long, value_name = "REGEX", value_parser = expression)]
    pub lock: Option<Regex>,

    /// Only callers whose name or place matches, and the locks that they used
    #[arg(long, value_name = "REGEX", value_parser = expression)]
    pub caller: Option<Regex>,

    /// All locks and callers [default: the first, up to what a screen or two can hold, of locks that somebody waited for]
    #[arg(long)]
    pub all: bool,

    /// Each element of an array, and each object that was initialised at one place, in a row of its own
    #[arg(long)]
    pub unfold: bool,
}

/// The layout of the printed report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Format {
    /// Ours.
    #[default]
    Table,
    /// Lockmeter's of 2001.
    Lockmeter,
}

/// A regular expression; of what is wrong with it the sentence, without the drawing above it.
fn expression(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|e| {
        let all = e.to_string();
        let last = all.lines().last().unwrap_or_default();
        last.trim_start_matches("error: ").to_owned()
    })
}

/// A share: `5` and `5%` are 0.05.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end().parse::<f64>().ok();
    let percent = number.filter(|p| p.is_finite() && *p >= 0.0);
    percent.map(|p| p / 100.0).ok_or_else(|| "give a percentage such as 5 or 0.5".into())
}

/// A number of bytes, with K, M, G or T for powers of 1024.
fn bytes(text: &str) -> Result<u64, String> {
    let upper = text.to_ascii_uppercase();
    let plain = upper.trim_end_matches('B').trim_end_matches('I');
    let (digits, shift) = match plain.chars().last() {
        Some('K') => (&plain[..plain.len() - 1], 10),
        Some('M') => (&plain[..plain.len() - 1], 20),
        Some('G') => (&plain[..plain.len() - 1], 30),
        Some('T') => (&plain[..plain.len() - 1], 40),
        _ => (plain, 0),
    };
    let parsed = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    parsed.ok_or_else(|| "give a number of bytes such as 512M or 8G".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, expected) in
            [("4096", 4096), ("64k", 64 << 10), ("512M", 512 << 20), ("8GiB", 8 << 30), ("1tb", 1 << 40)]
        {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for bad in ["", "G", "-1", "many", "8.5G", "99999999999T", "é"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shares_are_percentages() {
        assert_eq!((percent("5"), percent("0.5 %"), percent("100%")), (Ok(0.05), Ok(0.005), Ok(1.0)));
        for bad in ["", "%", "-1", "inf", "NaN", "half"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }
}
