//! The options of `unspin prove`.

use super::list::split;
use super::scheduler::Schedulers;
use super::server::ServerOptions;
use clap::Args;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use unspin_launch::command::line::parse_duration;
use unspin_launch::plan::kind::{self, KindOfFamily};
use unspin_launch::plan::{Choice, WaitChoice, WaitPolicy};
use unspin_launch::replace::engine::Engine;
use unspin_launch::replace::run_queue::RunQueue;
use unspin_locks::{LockKind, RwLockKind, SpinKind};
use unspin_stats::Direction;
use unspin_trial::{CiSettings, GuestKernel, ProveSettings, STEP_SUMMARY};

const PROVE_HELP: &str = "\
Exit code:
    0  at least one candidate is proven faster (better) than the control, within --cpu-limit if that is given
    1  no candidate is proven faster, and at least one is proven slower, has collapsed or hangs
    2  the command line is wrong; or a plan, lock or call site that it names was not found
    3  no difference is proven; or no lock and no wait costs enough time to search for a better one
    4  the control failed, or all candidates failed, or the program does not use what was to be judged; or a server did not
       start, answer, bear its load or stop
    5  every candidate that is proven faster may use more CPU time than --cpu-limit allows
  125  unspin itself failed
  126  the program cannot be executed, cannot be preloaded, or has nothing to replace
  127  the program does not exist
  130  interrupted; the results until then have been reported

Examples:
  unspin prove ./server --selftest               # find what makes it faster, and prove it
  unspin prove --server './server -p 7777' --ready 'nc -z localhost 7777' --load './client -p 7777'    # a server
  unspin prove --scheduler scx_lavd,'scx_rusty --verbose' ./bench.sh                   # schedulers of the kernel (sched_ext)";

fn kinds_help<K: KindOfFamily>() -> String {
    format!(
        "Kinds of {} to judge, separated by commas: KIND replaces all {}, KIND@LOCK one, by the name that `unspin meter` prints. \
         Kinds: {}",
        K::FAMILY.noun(),
        K::FAMILY.nouns(),
        kind::list(kind::offer_candidates::<K>(), kind::describe)
    )
}

/// Measure a program with other locks and waits, and report which differences are proven
///
/// The program runs many times, one run after another, in rounds of random order: with its own locks through the preload
/// library (the control), the same again (which shows the noise), without the library, and with each candidate. The rounds end
/// when the intervals are narrow or the time budget is used up. Standard input is empty and output is not shown. Processes that
/// a run leaves behind are ended before the next run.
///
/// Without --mutex, --rwlock, --spin, --waits, --use-plan, --sysv, --runqueue, --scheduler and --kernel, prove finds the candidates itself: it meters the
/// program, picks the locks and waits that cost most time, and tries kinds and policies in short runs. It then judges the best ones by new runs, and
/// prints the plan that won. `unspin run --use-plan` applies a plan.
#[derive(Args, Debug)]
#[command(after_help = PROVE_HELP)]
pub struct ProveOptions {
    #[arg(long, value_name = "KINDS", help = kinds_help::<LockKind>())]
    pub mutex: Vec<Choices>,

    #[arg(long, value_name = "KINDS", help = kinds_help::<RwLockKind>())]
    pub rwlock: Vec<Choices<RwLockKind>>,

    #[arg(long, value_name = "KINDS", help = kinds_help::<SpinKind>())]
    pub spin: Vec<Choices<SpinKind>>,

    /// Wait policies to judge, separated by commas: `poll` lets all waits poll before they sleep, `poll@SITE` those of one call
    /// site, by the name that `unspin meter` prints
    #[arg(long, value_name = "POLICIES")]
    pub waits: Vec<JudgedWaits>,

    /// A plan file to judge, for locks and waits, in the form that `unspin prove --plan` writes
    #[arg(long, value_name = "FILE", alias = "mutex-plan")]
    pub use_plan: Vec<PathBuf>,

    #[arg(long, value_name = "ENGINES", help = super::engine::judged_help("System V engines to judge"), value_delimiter = ',',
          value_parser = super::engine::judged_parser())]
    pub sysv: Vec<Engine>,

    /// Run queues to compare, `global,percpu`, of a program that is built on the crate unspin-runqueue; the first is the
    /// control. One alone is compared with the program's own
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = super::run_queue::parser(),
          conflicts_with_all = ["mutex", "rwlock", "spin", "waits", "use_plan", "sysv", "plan"])]
    pub runqueue: Vec<RunQueue>,

    /// Commands that load a scheduler of sched_ext (Linux 6.12) and keep running, separated by commas outside quotes. Each is started
    /// before a run and ended after it; the control is the kernel's own scheduler. Several are also compared with each other. Only
    /// schedulers can be judged together with schedulers. Needs root, unless --kernel names a kernel to load them on
    #[arg(long, value_name = "CMD",
          conflicts_with_all = ["mutex", "rwlock", "spin", "waits", "use_plan", "sysv", "runqueue", "plan"])]
    pub scheduler: Vec<Schedulers>,

    /// Kernels to compare, as `unspin vm --kernel` takes them. Each is booted in a virtual machine for each of its runs, and the times
    /// are those that the guest takes. The first is the control. Only kernels can be judged together with kernels; with --scheduler one
    /// kernel is named, on which the schedulers are loaded
    #[arg(long, value_name = "KERNEL", value_delimiter = ',',
          conflicts_with_all = ["mutex", "rwlock", "spin", "waits", "use_plan", "sysv", "runqueue", "plan", "server"])]
    pub kernel: Vec<String>,

    /// Further options of `unspin vm` for --kernel, such as '--cpus 4 --file data'
    #[arg(long, value_name = "OPTIONS", requires = "kernel", value_parser = words_of_vm, allow_hyphen_values = true)]
    pub vm_options: Option<VmWords>,

    /// Write the plan that won to this file, for `unspin run --use-plan`
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,

    /// Run exactly this many rounds, whatever time they take. A proof needs 6 rounds, and more with several candidates: 7 for
    /// two, 8 for three or four [default: as many as the time budget allows]
    #[arg(long, value_name = "N", value_parser = rounds)]
    pub runs: Option<u32>,

    /// What to compare: `wall-time`, `cpu-time`, or a figure in the program's output, given as a regular expression whose group
    /// is the number, or after which the number follows. `^` is the beginning of a line. The last match counts. A percentile
    /// such as `p99` or `p99.9` is read from the latency table of wrk, memtier_benchmark, redis-benchmark and others, if the
    /// output has one [default: the figure of a workload, else wall-time]
    #[arg(long, value_name = "REGEX")]
    pub metric: Option<String>,

    /// Higher values of the --metric figure are better, as is the default with --server if it is a rate
    #[arg(long, requires = "metric")]
    pub higher_is_better: bool,

    /// Lower values of the --metric figure are better, as is the default if it is a percentile, and without --server if it is a
    /// time
    #[arg(long, requires = "metric", conflicts_with = "higher_is_better")]
    pub lower_is_better: bool,

    /// Do not recommend a candidate that may use this many percent more CPU time than the control for the same work [default: no
    /// limit]
    #[arg(long, value_name = "PERCENT", value_parser = super::percent)]
    pub cpu_limit: Option<f64>,

    /// Start no run after this time, such as 90s or 5m: the search, the rounds and the metered runs together. If a proof
    /// does not fit, prove says how much time it needs [default: 60s; 5m for volano and servers, 10m for dbt1]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub time_budget: Option<Duration>,

    /// First wait until other programs use next to nothing of the CPUs, for this time at most; if they go on, nothing is measured
    /// [a time that is not given: 10m]
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = "10m",
        value_parser = parse_duration)]
    pub wait_for_quiet: Option<Duration>,

    /// End a run that takes longer; it counts as failed
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration)]
    pub time_limit: Duration,

    /// Write all results, including each run, to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write all results to this file as a page for browsers: verdict, pictures, tables, and the JSON, which other commands read
    /// back. It loads nothing from elsewhere
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// For a CI job: progress as plain lines, and a summary in Markdown, which is added to the file that GITHUB_STEP_SUMMARY names;
    /// without it, it is printed after the report, or goes to the file of --markdown
    #[arg(long)]
    pub ci: bool,

    /// Write a summary in Markdown to this file: the verdict, the candidates, the machine, the command to repeat it
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Write the verdict on each candidate to this file as JUnit XML: proven worse is a failure, nothing proven is skipped
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Print also the noise in detail, the use of the CPUs, and the full lock tables
    #[arg(long, short)]
    pub verbose: bool,

    /// Print no progress on standard error
    #[arg(long, short)]
    pub quiet: bool,

    #[arg(help = unspin_launch::program::workload::command_help(), required_unless_present = "server", trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,

    /// A server instead of a program.
    #[command(flatten)]
    pub server: ServerOptions,
}

/// The words of `--vm-options`.
#[derive(Clone, Default, Debug)]
pub struct VmWords(pub Vec<OsString>);

fn words_of_vm(line: &str) -> Result<VmWords, String> {
    GuestKernel::options_of(line).map(VmWords).map_err(|error| error.to_string())
}

impl From<&ProveOptions> for ProveSettings {
    fn from(options: &ProveOptions) -> ProveSettings {
        let ProveOptions { mutex, rwlock, spin, waits, use_plan, sysv, runqueue, plan, runs, metric, .. } =
            options;
        let ProveOptions { scheduler, kernel, vm_options, .. } = options;
        let ProveOptions { higher_is_better, lower_is_better, cpu_limit, time_budget, .. } = options;
        let ProveOptions { wait_for_quiet, time_limit, json, html, verbose, quiet, command, server, .. } =
            options;
        let ProveOptions { ci, markdown, junit, .. } = options;
        ProveSettings {
            mutex: mutex.iter().flat_map(|choices| choices.0.clone()).collect(),
            rwlock: rwlock.iter().flat_map(|choices| choices.0.clone()).collect(),
            spin: spin.iter().flat_map(|choices| choices.0.clone()).collect(),
            waits: waits.iter().flat_map(|choices| choices.0.clone()).collect(),
            use_plan: use_plan.clone(),
            sysv: sysv.clone(),
            run_queues: runqueue.clone(),
            schedulers: scheduler.iter().flat_map(|list| list.0.clone()).collect(),
            kernels: kernel
                .iter()
                .map(|name| GuestKernel {
                    name: name.clone(),
                    options: vm_options.clone().unwrap_or_default().0,
                })
                .collect(),
            plan: plan.clone(),
            runs: *runs,
            metric: metric.clone(),
            direction: direction(*higher_is_better, *lower_is_better),
            cpu_limit: *cpu_limit,
            time_budget: *time_budget,
            wait_for_quiet: *wait_for_quiet,
            time_limit: *time_limit,
            json: json.clone(),
            html: html.clone(),
            ci: CiSettings {
                is_ci: *ci,
                markdown: markdown.clone(),
                step_summary: env::var_os(STEP_SUMMARY)
                    .filter(|file| *ci && !file.is_empty())
                    .map(Into::into),
                junit: junit.clone(),
            },
            verbose: *verbose,
            quiet: *quiet,
            command: command.clone(),
            server: server.into(),
            words: None,
            preparation: None,
        }
    }
}

/// Which values of the figure are better, if an option says so.
pub fn direction(higher_is_better: bool, lower_is_better: bool) -> Option<Direction> {
    match (higher_is_better, lower_is_better) {
        (true, _) => Some(Direction::HigherIsBetter),
        (false, true) => Some(Direction::LowerIsBetter),
        (false, false) => None,
    }
}

/// A number of rounds.
fn rounds(text: &str) -> Result<u32, String> {
    /// Fewer prove nothing about a single candidate, see [`unspin_stats::rounds_for_proof`].
    const AT_LEAST: u32 = 6;
    const AT_MOST: u32 = 100_000;
    match text.parse::<u32>() {
        Ok(rounds) if rounds < AT_LEAST => {
            let rounds = if rounds == 1 { "1 round" } else { &format!("{rounds} rounds") };
            Err(format!("{rounds} cannot prove anything: use {AT_LEAST} or more"))
        }
        Ok(rounds) if rounds <= AT_MOST => Ok(rounds),
        _ => Err(format!("give a number of rounds, {AT_LEAST} to {AT_MOST}")),
    }
}

/// A list of kinds of one family, each for all locks or for one: `adaptive,steal@cache_lock`.
#[derive(Clone, PartialEq, Debug)]
pub struct Choices<K = LockKind>(pub Vec<Choice<K>>);

impl<K: KindOfFamily> FromStr for Choices<K> {
    type Err = String;

    fn from_str(text: &str) -> Result<Choices<K>, String> {
        // A kind of another family begins an element, too, which is refused.
        let parts = split(text, kind::is_known);
        parts.into_iter().map(parse_candidate).collect::<Result<_, _>>().map(Choices)
    }
}

/// A list of candidates for waits: `poll`, `poll@worker_loop+0x2d`.
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
            Err("system is the control, which is always measured: use poll or poll@SITE".into())
        }
        choice => Ok(choice),
    }
}

fn parse_candidate<K: KindOfFamily>(text: &str) -> Result<Choice<K>, String> {
    let choice = text.parse::<Choice<K>>()?;
    match choice.kind == K::LIBCS {
        true => Err("system is the control, which is always measured: use another kind".into()),
        false => Ok(choice),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, CommandLine};
    use super::*;
    use clap::Parser;
    use unspin_trial::{Candidates, ProveCommand};

    /// `unspin reproduce` measures the settings, and prints the words.
    #[test]
    fn words_of_a_prove_command_mean_its_settings() {
        fn fields(settings: ProveSettings) -> impl PartialEq + std::fmt::Debug {
            // All of them: a new one is to be compared.
            let ProveSettings {
                mutex,
                rwlock,
                spin,
                waits,
                use_plan,
                sysv,
                run_queues,
                schedulers,
                kernels,
                plan,
                runs,
                metric,
                direction,
                cpu_limit,
                time_budget,
                wait_for_quiet,
                time_limit,
                json,
                html,
                ci,
                verbose,
                quiet,
                command,
                server,
                words,
                preparation,
            } = settings;
            let candidates = (mutex, rwlock, spin, waits, use_plan, sysv, run_queues, schedulers, kernels);
            let times = (runs, time_budget, wait_for_quiet, time_limit);
            let output = (plan, json, html, ci, verbose, quiet);
            // `main` adds the preparation.
            (
                candidates,
                times,
                output,
                metric,
                direction,
                cpu_limit,
                command,
                format!("{server:?}"),
                (preparation.is_none(), words),
            )
        }
        let all = [
            (Candidates::Mutexes(&[LockKind::RtFair, LockKind::Adaptive]), None),
            (
                Candidates::Engines(&[Engine::Global, Engine::Rcu]),
                Some(("not spinning", Direction::HigherIsBetter)),
            ),
            (
                Candidates::RunQueues(&[RunQueue::Global, RunQueue::Percpu]),
                Some(("took: ", Direction::LowerIsBetter)),
            ),
            (Candidates::Kernels(&["plain", "rt"]), None),
            (Candidates::Schedulers { kernel: "cloud", commands: &["scx_a --b 1", "scx_c"] }, None),
        ];
        for (candidates, metric) in all {
            let command = ["/opt/a server", "profile", "--user", "-n", "3"].map(String::from).to_vec();
            let command = ProveCommand { time_budget_s: 90, candidates, metric, command };
            let parsed = |words| match CommandLine::try_parse_from(words).unwrap().command {
                Command::Prove(options) => ProveSettings::from(&options),
                other => panic!("{other:?}"),
            };
            assert_eq!(fields(parsed(command.words())), fields(command.settings()));
            let longer = parsed(command.words_within("2h"));
            assert_eq!(longer.time_budget, Some(Duration::from_secs(7200)));
        }
    }

    #[test]
    fn rounds_that_prove_nothing_are_refused() {
        assert_eq!(rounds("6"), Ok(6));
        assert!(rounds("5").unwrap_err().contains("cannot prove anything: use 6 or more"));
        for bad in ["abc", "", "-1", "1.5", "99999999999"] {
            assert_eq!(rounds(bad).unwrap_err(), "give a number of rounds, 6 to 100000", "{bad}");
        }
    }

    #[test]
    fn kind_of_another_family_is_refused_after_a_name() {
        let refused = "steal@a,rw-fair@b".parse::<Choices>().unwrap_err();
        assert!(refused.contains("\"rw-fair\" (it is a kind of read-write lock, for --rwlock)"), "{refused}");
    }

    #[test]
    fn control_is_refused_as_candidate() {
        assert!("system".parse::<Choices>().unwrap_err().contains("the control"));
        assert!("adaptive,system@x".parse::<Choices>().is_err());
        assert_eq!("adaptive,fair".parse::<Choices>().unwrap().0.len(), 2);
        assert!("rw-fair,system".parse::<Choices<RwLockKind>>().unwrap_err().contains("the control"));
        assert_eq!("rw-biased,rw-fair@a".parse::<Choices<RwLockKind>>().unwrap().0.len(), 2);
        assert_eq!("adaptive@a".parse::<Choices<SpinKind>>().unwrap().0.len(), 1);
        assert!("system".parse::<JudgedWaits>().unwrap_err().contains("the control"));
        assert!("poll,system@f".parse::<JudgedWaits>().is_err());
        assert_eq!("poll,poll@f".parse::<JudgedWaits>().unwrap().0.len(), 2);
    }
}
