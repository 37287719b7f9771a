//! The options of `unspin compare`.

use super::percent;
use clap::Args;
use std::path::PathBuf;
use unspin_comparison::CompareOptions as Comparison;

const COMPARE_HELP: &str = "\
Exit code:
    0  something is proven better than before, and nothing worse. With --fail-if-slower: nothing is shown to be slower by more than
       the limit
    1  something is proven worse. With --fail-if-slower: slower by more than the limit
    2  the command line is wrong, a file cannot be read or is no result of `unspin prove --json`, or the results do not compare
    3  no difference is proven. With --fail-if-slower: only if --fail-if-unsure is given, and the runs do not tell
    4  runs failed after, or nothing could be compared
  125  a requested file could not be written at the end

Examples:
  unspin compare before.json after.json      # what `unspin prove --json` stored at two commits, or on two machines
  unspin compare --fail-if-slower 5 --markdown comment.md before.json after.json    # in a CI job
  unspin compare --before a1.json a2.json a3.json --after b1.json b2.json b3.json   # several sessions of each, measured in turns";

/// Compare stored results: is the program slower than before, is the gain the same elsewhere
///
/// Reads what `unspin prove --json` wrote. Of sessions of one machine the figures of each configuration are compared, and the gains
/// over the control; of different machines only the gains. Results of different commands or metrics are refused. One session on each
/// side does not show how much sessions differ from each other: with several on each side, the session is the unit.
#[derive(Args, Debug)]
#[command(after_help = COMPARE_HELP, override_usage = "unspin compare [OPTIONS] <BEFORE.json> <AFTER.json>\n       unspin compare [OPTIONS] --before <FILE>... --after <FILE>...")]
pub struct CompareOptions {
    /// The earlier result, then the later one
    #[arg(value_name = "FILE", num_args = 2, required_unless_present = "before", conflicts_with_all = ["before", "after"])]
    pub results: Vec<PathBuf>,

    /// The results of several earlier sessions
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "after")]
    pub before: Vec<PathBuf>,

    /// The results of several later sessions
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "before")]
    pub after: Vec<PathBuf>,

    /// Compare only this configuration; can be given several times. Fewer configurations need fewer runs for a proof [default: all that
    /// all results have]
    #[arg(long, value_name = "NAME")]
    pub configuration: Vec<String>,

    /// Exit with 1 if a configuration's figure is proven to be worse than before by more than this, in percent: if all of the interval
    /// lies beyond it
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub fail_if_slower: Option<f64>,

    /// Exit with 3 if the runs do not tell whether --fail-if-slower is kept: if its limit lies within the interval
    #[arg(long, requires = "fail_if_slower")]
    pub fail_if_unsure: bool,

    /// Compare the figures though the machines differ, or only their host names, as those of containers do
    #[arg(long)]
    pub across_machines: bool,

    /// Compare results of different commands
    #[arg(long)]
    pub different_commands: bool,

    /// Write the result to this file as JSON, as docs/compare-json.md describes it
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the result to this file as a page for browsers: verdict, pictures, tables, and the JSON, which other commands read
    /// back. It loads nothing from elsewhere
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write the result to this file as Markdown, for a comment on a pull request
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Print nothing: the exit code says it
    #[arg(long, short)]
    pub quiet: bool,
}

impl CompareOptions {
    /// The files of both sides, the earlier first.
    pub fn sides(&self) -> [&[PathBuf]; 2] {
        match self.results.as_slice() {
            [before, after] => [std::slice::from_ref(before), std::slice::from_ref(after)],
            _ => [&self.before, &self.after],
        }
    }
}

impl From<&CompareOptions> for Comparison {
    fn from(options: &CompareOptions) -> Comparison {
        Comparison {
            configurations: options.configuration.clone(),
            across_machines: options.across_machines,
            different_commands: options.different_commands,
            fail_if_slower: options.fail_if_slower,
            fail_if_unsure: options.fail_if_unsure,
        }
    }
}
