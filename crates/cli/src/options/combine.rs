//! The options of `unspin combine`.

use clap::Args;
use std::path::PathBuf;

const COMBINE_HELP: &str = "\
Exit code:
    0  at least one candidate is proven faster (better) in the fleet, slower on no host, and was measured on all hosts
    1  none is proven faster, and at least one is proven slower, or collapsed or hangs on all hosts
    2  the command line is wrong; or a file cannot be read or is no result of `unspin prove --json`; or the results are not of
       one comparison, or one is named twice
    3  no difference is proven in the fleet, or it depends on the host, or a faster candidate failed on a host
    4  the control failed on all hosts, or every candidate did
    5  every candidate that is proven faster may use more CPU time than --cpu-limit allowed
  125  a requested file cannot be written

Examples:
  unspin combine results/*.json
  unspin combine --hosts 12 --markdown fleet.md --json fleet-verdict.json results/*.json";

/// Combine the results of one comparison from many hosts into one verdict
///
/// Each file is what `unspin prove --json` wrote on one host. Control and candidates are compared within each host, and the hosts'
/// ratios are combined: the mean over hosts with its interval, what a further host would show, and whether the effect differs
/// between hosts and with which of their properties. Runs of different hosts are never pooled.
#[derive(Args, Debug)]
#[command(after_help = COMBINE_HELP)]
pub struct CombineOptions {
    /// Number of hosts that were to measure: those that wrote no result are counted as failed [default: the number of hosts that the files name]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub hosts: Option<u32>,

    /// Write all results to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the result to this file as a page for browsers: verdict, pictures, tables, and the JSON, which other commands read
    /// back. It loads nothing from elsewhere
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write the report to this file as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Print nothing: the exit code says it
    #[arg(long, short)]
    pub quiet: bool,

    /// Results of `unspin prove --json`, one or more for each host
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}
