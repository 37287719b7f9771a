//! The options of `unspin prove`.

use super::list::split;
use crate::engine::{self, Engine};
use crate::plan::{Choice, WaitChoice, WaitPolicy};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use unspin_locks::Kind;

const PROVE_EXIT_CODES: &str = "\
Exit code:
    0  at least one candidate is proven faster (better) than the control, within --cpu-limit if that is given
    1  none is proven faster, and at least one is proven slower or collapsed
    2  the command line is wrong, or a plan that it names, or a lock or call site of that name is not to be found
    3  no difference is proven; or no lock and no wait costs enough time to look for one
    4  the control failed, or every candidate did, or the program has no use for what was to be judged
    5  every candidate that is proven faster may use more CPU time than --cpu-limit allows
  125  unspin itself failed
  126  the program cannot be executed, the preload library cannot reach it, or it has nothing that could be replaced
  127  there is no such program
  130  interrupted; what was measured until then has been reported

Examples:
  unspin prove ./server --selftest               finds what helps, mutexes and waits, and proves it
  unspin prove --waits poll --cpu-limit 50 --metric 'TPS: ' --higher-is-better ./bench.sh";

/// Measure a program with other locks and waits, and say what is proven
///
/// The program runs again and again, never twice at once, in rounds of random order, until the intervals are
/// narrow or the time is spent: with the system's own locks through the preload library (the control), the
/// same once more (the noise), without the library, and with each candidate. Its standard input is empty, its
/// output is kept back. What it leaves behind is ended before the next run begins.
///
/// Without --mutex, --waits, --use-plan and --sysv the candidates are found: the program is metered, the mutexes and waits that
/// it loses most time on are picked, kinds and policies are tried on them in short runs, and the best are judged in runs of
/// their own. The plan that wins is printed; `unspin run --use-plan` applies it.
#[derive(Args, Debug)]
#[command(after_help = PROVE_EXIT_CODES)]
pub struct ProveOptions {
    /// The kinds of mutex to judge, with commas between: KIND for all mutexes, KIND@LOCK for one, named as `unspin meter`
    /// names it. Kinds: pi (libc's with priority inheritance), fair, steal, adaptive, rt-fair, rt-steal, rt-adaptive; for
    /// study: ttas, ticket, mcs
    #[arg(long, value_name = "KINDS")]
    pub mutex: Vec<Choices>,

    /// Where waits are to poll before they sleep, with commas between, each a candidate: `poll` for all waits, `poll@SITE` for
    /// those of one call site, named as `unspin meter` names it
    #[arg(long, value_name = "POLICIES")]
    pub waits: Vec<JudgedWaits>,

    /// A plan to judge, as `unspin prove --plan` writes it: mutexes and waits together
    #[arg(long, value_name = "FILE", alias = "mutex-plan")]
    pub use_plan: Vec<PathBuf>,

    /// The System V engines to judge: `global`, `rcu`
    #[arg(long, value_name = "ENGINES", value_delimiter = ',', value_parser = engine::judged_parser())]
    pub sysv: Vec<Engine>,

    /// Write the plan that wins to this file, for `unspin run --use-plan`
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,

    /// Exactly so many rounds, 5 or more, however long they take [default: as many as the time budget allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=100_000))]
    pub runs: Option<u32>,

    /// What is compared: `wall-time`, `cpu-time`, or a figure in the program's output: a regular expression
    /// whose group is the number, or which the number follows. The last match counts
    /// [default: a workload's own figure, else wall-time]
    #[arg(long, value_name = "REGEX")]
    pub metric: Option<String>,

    /// The figure named by --metric is the better the higher it is
    #[arg(long, requires = "metric")]
    pub higher_is_better: bool,

    /// Recommend no candidate whose CPU time for the same work may exceed the control's by more than this, such as 50 (percent)
    /// [default: no limit]
    #[arg(long, value_name = "PERCENT", value_parser = super::percent)]
    pub cpu_limit: Option<f64>,

    /// No round begins after this time, such as 90s or 5m
    #[arg(long, value_name = "DURATION", default_value = "40s", value_parser = super::duration)]
    pub time_budget: Duration,

    /// A run that takes longer is ended and has failed
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = super::duration)]
    pub time_limit: Duration,

    /// Write everything, each run included, to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Print also the noise in detail, where the CPUs went, and every column of the locks
    #[arg(long, short)]
    pub verbose: bool,

    /// The program and its arguments, behind all options of unspin's own; or the name of a workload: semopbench, hackbench
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Several kinds of mutex, each for all or for one lock: `adaptive,steal@cache_lock`.
#[derive(Clone, PartialEq, Debug)]
pub struct Choices(pub Vec<Choice>);

impl FromStr for Choices {
    type Err = String;

    fn from_str(text: &str) -> Result<Choices, String> {
        let parts = split(text, |word| word.parse::<Kind>().is_ok());
        parts.into_iter().map(judged).collect::<Result<_, _>>().map(Choices)
    }
}

/// Several candidates for waits: `poll`, `poll@worker_loop+0x2d`.
#[derive(Clone, PartialEq, Debug)]
pub struct JudgedWaits(pub Vec<WaitChoice>);

impl FromStr for JudgedWaits {
    type Err = String;

    fn from_str(text: &str) -> Result<JudgedWaits, String> {
        let parts = split(text, |word| word.parse::<WaitPolicy>().is_ok());
        parts.into_iter().map(judged_wait).collect::<Result<_, _>>().map(JudgedWaits)
    }
}

fn judged_wait(text: &str) -> Result<WaitChoice, String> {
    match text.parse::<WaitChoice>()? {
        WaitChoice { policy: WaitPolicy::System, .. } => {
            Err("system is the control, which takes part in any case: name poll, or poll@SITE".into())
        }
        choice => Ok(choice),
    }
}

fn judged(text: &str) -> Result<Choice, String> {
    match text.parse::<Choice>()? {
        Choice { kind: Kind::System, .. } => {
            Err("system is the control, which takes part in any case: name another kind".into())
        }
        choice => Ok(choice),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_is_no_candidate() {
        assert!("system".parse::<Choices>().unwrap_err().contains("the control"));
        assert!("adaptive,system@x".parse::<Choices>().is_err());
        assert_eq!("adaptive,fair".parse::<Choices>().unwrap().0.len(), 2);
        assert!("system".parse::<JudgedWaits>().unwrap_err().contains("the control"));
        assert!("poll,system@f".parse::<JudgedWaits>().is_err());
        assert_eq!("poll,poll@f".parse::<JudgedWaits>().unwrap().0.len(), 2);
    }
}
