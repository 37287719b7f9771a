//! The options of `unspin meter` and `unspin report`.

use super::size::bytes;
use super::{ObserveOptions, Replace};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, ValueEnum};
use regex::Regex;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use unspin_launch::command::line::parse_duration;
use unspin_launch::replace::engine::Engine;
use unspin_observe::serve::{ServeAddress, ServeFrom};
use unspin_observe::settings::{
    Lens, MeterSettings, RecordSettings, ReportSettings, ServeSettings, ViewSettings,
};
use unspin_report::COLUMNS;
use unspin_wire::Level;

const METER_HELP: &str = "\
Exit code: that of the program; 128 + n if signal n killed it; 0 with -p, or with -a and no program; or
    2  the command line is wrong, or a requested file cannot be written
  125  unspin itself failed; the results have been printed, or are kept in a file that the message names
  126  the program cannot be executed, or cannot be preloaded
  127  the program does not exist

Examples:
  unspin meter --serve 127.0.0.1:6060 ./server   # for `go tool pprof http://127.0.0.1:6060/debug/pprof/mutex`
  unspin meter -p 4711                        # a running program in any language
  unspin meter --lens futex,off-cpu --firefox server.json ./server   # each wait on a timeline, for profiler.firefox.com";

/// Run a program and print the locks on which it lost time
///
/// The program runs in the foreground, with its terminal and its signals; it receives ^C. When it has ended, unspin prints on
/// standard error the locks and waits of all its processes: pthread mutexes, read-write locks, spin locks, conditions, barriers,
/// POSIX semaphores, and other waits of libc. The most costly ones come first, with their callers.
#[derive(Args, Debug)]
#[command(after_help = METER_HELP, after_long_help = [COLUMNS, "\n", METER_HELP].concat(),
          override_usage = "unspin meter [OPTIONS] <COMMAND>...\n       unspin meter [OPTIONS] <-a|-p <PID>>",
          group(ArgGroup::new("which").args(["all_processes", "pid", "command"]).required(true).multiple(true)))]
pub struct MeterOptions {
    /// What is observed: `pthread`, the locks and waits of libc, by the preload library; `futex`, the waits of any code in futex(2);
    /// `kernel`, the kernel's own locks; `off-cpu`, where the threads' time goes. Several are separated by commas
    /// [default: pthread; with -a or -p: futex,kernel,off-cpu]
    #[arg(long, value_name = "LENS", value_delimiter = ',', value_parser = lens_parser())]
    lens: Vec<Lens>,

    #[command(flatten)]
    pub observe: ObserveOptions,

    /// Write the report to this file instead of standard error
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Keep the recording in this file, for `unspin report`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// Write the waits that futex, kernel and off-cpu see to this file, each with its time, its thread and its caller, as a timeline
    /// for profiler.firefox.com or ui.perfetto.dev. Of each lens the 200 000 longest waits are kept
    #[arg(long, value_name = "FILE")]
    pub firefox: Option<PathBuf>,

    /// Serve the recording over HTTP at this address while the program runs, as Go programs serve their profiles:
    /// /debug/pprof/mutex, /debug/pprof/block and /metrics. Port 0 takes a free port
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub serve: Option<ServeAddress>,

    /// Permit an address for --serve that other machines can reach. Any client there can read names, callers and the command line
    #[arg(long, requires = "serve")]
    pub serve_non_loopback: bool,

    #[command(flatten)]
    pub view: ViewOptions,

    #[command(flatten)]
    pub recorded: RecordOptions,
}

impl From<&MeterOptions> for MeterSettings {
    fn from(options: &MeterOptions) -> MeterSettings {
        let MeterOptions {
            lens,
            observe,
            output,
            record,
            firefox,
            serve,
            serve_non_loopback,
            view,
            recorded,
        } = options;
        let from = if *serve_non_loopback { ServeFrom::Anywhere } else { ServeFrom::Loopback };
        MeterSettings {
            lens: lens.clone(),
            observe: observe.into(),
            output: output.clone(),
            record: record.clone(),
            firefox: firefox.clone(),
            serve: serve.map(|address| ServeSettings { address, from }),
            view: view.into(),
            recorded: recorded.into(),
            words: None,
        }
    }
}

const REPORT_HELP: &str = "\
Exit code:
    0  the report has been printed
    1  the file cannot be read, is not a recording, is truncated or damaged, or has another version
    2  the command line is wrong, or a requested file cannot be written
  125  unspin itself failed

Examples:
  unspin report server.rec
  unspin report --json server.json --min-lost 10ms server.rec
  unspin report --leftovers                   # recordings of killed runs; --remove removes them";

/// Print the report of a recording, also while it is being made
///
/// Names are looked up in the current files of programs and libraries. Locks in files that have changed since are shown as file
/// and offset.
#[derive(Args, Debug)]
#[command(after_help = REPORT_HELP, after_long_help = [COLUMNS, "\n", REPORT_HELP].concat())]
pub struct ReportOptions {
    #[command(flatten)]
    pub view: ViewOptions,

    /// List the recordings that killed runs have left in memory, instead of printing a report
    #[arg(long, conflicts_with = "file")]
    pub leftovers: bool,

    /// Remove the leftover recordings that no process uses
    #[arg(long, requires = "leftovers")]
    pub remove: bool,

    /// The recording: a file of `unspin meter --record`, or one that a killed `unspin meter` has left, or its folder
    #[arg(value_name = "FILE", required_unless_present = "leftovers")]
    pub file: Option<PathBuf>,
}

impl From<&ReportOptions> for ReportSettings {
    fn from(options: &ReportOptions) -> ReportSettings {
        // Without a file the parser demands --leftovers.
        let ReportOptions { view, leftovers: _, remove, file } = options;
        ReportSettings { view: view.into(), remove: *remove, file: file.clone() }
    }
}

/// Parses the name of a lens. Clap lists the names with their meanings in the help.
fn lens_parser() -> impl TypedValueParser<Value = Lens> {
    let lenses = Lens::all();
    let values = lenses.iter().map(|lens| PossibleValue::new(lens.name()).help(lens.help()));
    PossibleValuesParser::new(values).map(move |name| {
        *lenses.iter().find(|lens| lens.name() == name).expect("clap lets no other name through")
    })
}

/// Which program is recorded, and how.
#[derive(Args, Debug)]
pub struct RecordOptions {
    /// How much to record: `counts` records no times, `sampled` times a random hold in 16 (`sampled=N`: in N), `full` times all,
    /// `auto` times all until that costs a thread 3 % of the time, and then samples the thread's frequent locks
    #[arg(long, value_name = "LEVEL", default_value_t = Level::Full)]
    pub level: Level,

    /// Maximum size of the recording, such as 512M; records that do not fit are counted as dropped
    /// [default: 8G, with --serve 256M, or what `ulimit -f` permits]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub size: Option<u64>,

    /// Use this engine for System V IPC, and record also the engine's locks
    #[arg(long, value_name = "ENGINE", default_value = "kernel", value_parser = super::engine::parser())]
    pub sysv: Engine,

    /// The arena: the file that holds the engine's objects [default: that of `unspin run`]
    #[arg(long, value_name = "FILE", requires = "sysv")]
    pub arena: Option<PathBuf>,

    #[command(flatten)]
    pub replace: Replace,

    #[arg(help = unspin_launch::program::workload::command_help(), trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl From<&RecordOptions> for RecordSettings {
    fn from(options: &RecordOptions) -> RecordSettings {
        let RecordOptions { level, size, sysv, arena, replace, command } = options;
        RecordSettings {
            level: *level,
            size: *size,
            sysv: *sysv,
            arena: arena.clone(),
            replace: replace.into(),
            command: command.clone(),
        }
    }
}

/// What is printed of a recording, and in which form.
#[derive(Args, Debug, Default)]
pub struct ViewOptions {
    /// Write the whole report, without the filters, to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the whole report, without the filters, to this file as a page for browsers: the finding, pictures, tables, and the JSON,
    /// which other commands read back. It loads nothing from elsewhere
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write contentions and delays, without the filters, to this file as a profile for `go tool pprof`
    #[arg(long, value_name = "FILE")]
    pub pprof: Option<PathBuf>,

    /// Write contentions and delays, without the filters, to this file as the profiles signal of OpenTelemetry. That signal is an
    /// alpha: the file follows v1development of opentelemetry-proto 1.10.0, and later versions may read it differently
    #[arg(long, value_name = "FILE")]
    pub otlp: Option<PathBuf>,

    /// `table`, or `lockmeter`: the layout of 2001
    #[arg(long, value_name = "FORMAT", default_value = "table", hide_possible_values = true)]
    pub format: Format,

    /// Print only locks that were held for at least this share of the time, in percent
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub min_util: Option<f64>,

    /// Print only locks for which at least this share of the attempts had to wait, in percent
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub min_con: Option<f64>,

    /// Print only locks on which at least this time was lost, such as 10ms
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub min_lost: Option<Duration>,

    /// Print only locks whose name matches
    #[arg(long, value_name = "REGEX", value_parser = expression)]
    pub lock: Option<Regex>,

    /// Print only callers whose name or source line matches, and the locks that they used
    #[arg(long, value_name = "REGEX", value_parser = expression)]
    pub caller: Option<Regex>,

    /// Print all locks and callers [default: those with waits, up to one or two screens]
    #[arg(long)]
    pub all: bool,

    /// Print a row for each element of an array and for each object of one initialisation site, instead of one for all
    #[arg(long)]
    pub unfold: bool,
}

impl From<&ViewOptions> for ViewSettings {
    fn from(options: &ViewOptions) -> ViewSettings {
        let ViewOptions { json, html, pprof, otlp, format, min_util, min_con, min_lost, .. } = options;
        let ViewOptions { lock, caller, all, unfold, .. } = options;
        ViewSettings {
            json: json.clone(),
            html: html.clone(),
            pprof: pprof.clone(),
            otlp: otlp.clone(),
            format: (*format).into(),
            min_util: *min_util,
            min_con: *min_con,
            min_lost: *min_lost,
            lock: lock.clone(),
            caller: caller.clone(),
            all: *all,
            unfold: *unfold,
        }
    }
}

/// The layout of the printed report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Format {
    /// The table of this program.
    #[default]
    Table,
    /// That of Lockmeter, 2001.
    Lockmeter,
}

impl From<Format> for unspin_observe::settings::Format {
    fn from(format: Format) -> unspin_observe::settings::Format {
        match format {
            Format::Table => unspin_observe::settings::Format::Table,
            Format::Lockmeter => unspin_observe::settings::Format::Lockmeter,
        }
    }
}

/// A regular expression. Of the error message only the last line is kept, without the marked pattern above it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_become_shares() {
        assert_eq!((percent("5"), percent("0.5 %"), percent("100%")), (Ok(0.05), Ok(0.005), Ok(1.0)));
        for bad in ["", "%", "-1", "inf", "NaN", "half"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }
}
