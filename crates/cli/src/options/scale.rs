//! The options of `unspin scale`.

use super::prove::{Choices, direction};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use unspin_launch::command::line::parse_duration;
use unspin_launch::plan::kind::{self, KindOfFamily};
use unspin_launch::replace::engine::Engine;
use unspin_locks::{LockKind, RwLockKind, SpinKind};
use unspin_trial::ScaleSettings;
use unspin_wire::plan::LockFamily;

const SCALE_HELP: &str = "\
Exit code:
    0  the table has been printed
    2  the command line is wrong; or a plan or lock that it names was not found; or --cpus exceeds the CPUs of this machine
    4  the control failed, or no run of it yielded a figure
  125  unspin itself failed
  126  the program cannot be executed, cannot be preloaded, or has nothing to replace
  127  the program does not exist
  130  interrupted; the complete rounds until then have been reported

Examples:
  unspin scale ./bench.sh                                          # as it is: 1, 2, … CPUs here, 4, 8, 16 predicted
  unspin scale --mutex adaptive --predict 8 ./bench.sh             # libc's mutexes and adaptive ones
  unspin scale --cpus 1 --predict 2 hackbench 5 --transport queue  # what one CPU tells about two";

fn kinds_help<K: KindOfFamily>() -> String {
    format!(
        "Kinds of {} to compare with the control, separated by commas: KIND replaces all {}, KIND@LOCK one. Kinds: {} \
         [default: {}]",
        K::FAMILY.noun(),
        K::FAMILY.nouns(),
        kind::list(kind::offer_candidates::<K>(), K::name),
        if K::FAMILY == LockFamily::Mutex { "those of a workload, else none" } else { "none" }
    )
}

/// Predict what more CPUs would show, for a program as it is and with other locks
///
/// The program runs on 1, 2, … of this machine's CPUs, with its own locks through the preload library (the control) and with
/// each candidate, in rounds of random order. One metered run of each on one CPU yields the lock that is held most, and a probe
/// yields what a cache line's transfer and a wake-up cost between this machine's CPUs. A queueing model of the lock and the
/// CPUs is fitted on these, checked against the measurements that it does not use, and predicts more CPUs. Predictions are
/// marked, with their interval.
#[derive(Args, Debug)]
#[command(after_help = SCALE_HELP)]
pub struct ScaleOptions {
    #[arg(long, value_name = "KINDS", help = kinds_help::<LockKind>())]
    pub mutex: Vec<Choices>,

    #[arg(long, value_name = "KINDS", help = kinds_help::<RwLockKind>())]
    pub rwlock: Vec<Choices<RwLockKind>>,

    #[arg(long, value_name = "KINDS", help = kinds_help::<SpinKind>())]
    pub spin: Vec<Choices<SpinKind>>,

    /// A plan file to compare with the control, in the form that `unspin prove --plan` writes
    #[arg(long, value_name = "FILE")]
    pub use_plan: Vec<PathBuf>,

    #[arg(long, value_name = "ENGINES", help = super::engine::judged_help("System V engines to compare with the kernel's"),
          value_delimiter = ',', value_parser = super::engine::judged_parser())]
    pub sysv: Vec<Engine>,

    /// Numbers of CPUs to measure on, with 1 among them [default: 1, 2, 4, … as far as this machine has them]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Vec<u32>,

    /// Numbers of CPUs to predict
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "4,8,16",
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub predict: Vec<u32>,

    /// Threads that can run at the same time, if they are fewer than the threads of the program: with tokens that go round in
    /// rings of processes it is the number of tokens [default: the threads that the meter counts; without a lock as many as there are CPUs]
    #[arg(long, value_name = "THREADS", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub parallel: Option<u32>,

    /// Number of rounds. In each, every configuration runs once on each number of CPUs
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub runs: u32,

    /// Begin no round that would end after this time, such as 90s or 5m; the metered runs count too. Two rounds are run in any case
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub time_budget: Option<Duration>,

    /// The figure of a run: `wall-time`, `cpu-time`, or a figure in the program's output, given as a regular expression or as a
    /// percentile of a latency table, such as `p99` [default: the figure of a workload, else wall-time]
    #[arg(long, value_name = "REGEX")]
    pub metric: Option<String>,

    /// Higher values of the --metric figure are better: it is a rate
    #[arg(long, requires = "metric")]
    pub higher_is_better: bool,

    /// Lower values of the --metric figure are better, as is the default if it is a time
    #[arg(long, requires = "metric", conflicts_with = "higher_is_better")]
    pub lower_is_better: bool,

    /// End a run that takes longer; it counts as failed
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration)]
    pub time_limit: Duration,

    /// Write all results, including each run, to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write all results to this file as a page for browsers: the finding, pictures, tables, and the JSON, which other commands read
    /// back. It loads nothing from elsewhere
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Print no progress on standard error
    #[arg(long, short)]
    pub quiet: bool,

    #[arg(help = unspin_launch::program::workload::command_help(), required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl From<&ScaleOptions> for ScaleSettings {
    fn from(options: &ScaleOptions) -> ScaleSettings {
        let ScaleOptions {
            mutex,
            rwlock,
            spin,
            use_plan,
            sysv,
            cpus,
            predict,
            parallel,
            runs,
            time_budget,
            ..
        } = options;
        let ScaleOptions { metric, higher_is_better, lower_is_better, .. } = options;
        let ScaleOptions { time_limit, json, html, quiet, command, .. } = options;
        ScaleSettings {
            mutex: mutex.iter().flat_map(|choices| choices.0.clone()).collect(),
            rwlock: rwlock.iter().flat_map(|choices| choices.0.clone()).collect(),
            spin: spin.iter().flat_map(|choices| choices.0.clone()).collect(),
            use_plan: use_plan.clone(),
            sysv: sysv.clone(),
            cpus: cpus.clone(),
            predict: predict.clone(),
            parallel: *parallel,
            runs: *runs,
            time_budget: *time_budget,
            metric: metric.clone(),
            direction: direction(*higher_is_better, *lower_is_better),
            time_limit: *time_limit,
            json: json.clone(),
            html: html.clone(),
            quiet: *quiet,
            command: command.clone(),
            words: None,
        }
    }
}
