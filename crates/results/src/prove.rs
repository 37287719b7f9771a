//! A result of `unspin prove --json`: `docs/prove-json.md`.

use crate::machine::{StoredBuild, StoredDisturbance, StoredMachine};
use serde::{Deserialize, Serialize};
use unspin_report::MeterReport;
use unspin_stats::{Analysis, Comparison, Conclusion, Quantity};

/// A result of `unspin prove`.
#[derive(Clone, Debug, Deserialize)]
pub struct StoredProof {
    /// The build that measured.
    pub unspin: StoredBuild,
    /// The machine.
    pub machine: StoredMachine,
    /// The command that was measured.
    pub command: Vec<String>,
    /// The commands around it, if it is a server.
    pub service: Option<StoredService>,
    /// The verdict of the session.
    pub conclusion: Conclusion,
    /// The sentences of the printed report; none in documents of older versions.
    #[serde(default)]
    pub summary: Option<StoredSummary>,
    /// Whether ^C ended the session.
    pub interrupted: bool,
    /// What else ended it early.
    pub aborted: Option<String>,
    /// What the metric rests on, if it is a percentile.
    #[serde(default)]
    pub percentile: Option<StoredPercentile>,
    /// Complete rounds.
    pub rounds: u32,
    /// Duration of the session, in seconds.
    pub elapsed_s: f64,
    /// The configurations that were compared, the control first.
    pub candidates: Vec<StoredConfiguration>,
    /// What disturbed the session.
    pub disturbance: StoredDisturbance,
    /// The statistics.
    pub analysis: Analysis,
    /// The program without the preload library, against the control.
    pub no_preload: Option<Comparison>,
    /// The schedulers compared with each other, if schedulers were judged.
    #[serde(default)]
    pub between_schedulers: Vec<StoredSchedulerPair>,
    /// The best proven plan, as a file for `unspin run --use-plan`.
    pub plan: Option<String>,
    /// The judged waits in the metered runs.
    #[serde(default)]
    pub waits: Vec<StoredJudgedWait>,
    /// The lock tables of the metered runs.
    #[serde(default)]
    pub locks: StoredLocks,
    /// Every run, in the order of execution.
    pub runs: Vec<StoredRun>,
}

impl StoredProof {
    /// Whether it is about printed figures, and of a build that did not store with how many digits they were printed.
    pub fn lacks_steps(&self) -> bool {
        let others = self.analysis.comparisons.iter().flat_map(|comparison| &comparison.runs);
        let mut measured =
            self.analysis.control_runs.iter().chain(others).filter(|run| run.value().is_some()).peekable();
        let is_printed = self.analysis.metric.quantity == Quantity::Other;
        is_printed && measured.peek().is_some() && measured.all(|run| run.step.is_none())
    }

    /// What that means for a verdict about these files.
    pub fn lack_of_steps(files: &str) -> String {
        format!(
            "An earlier build, which did not store the digits of printed figures, wrote {files}: a difference that is proven may be one of \
             rounding. Measure again."
        )
    }

    /// The call sites whose waits are judged under a configuration: there it polls.
    pub fn judged_waits(&self, configuration: &str) -> Vec<&str> {
        let is_judged = |wait: &&StoredJudgedWait| wait.runs.iter().any(|run| run.candidate == configuration);
        self.waits.iter().filter(is_judged).map(|wait| wait.name.as_str()).collect()
    }
}

/// The sentences with which the printed report begins and ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct StoredSummary {
    /// What was compared; none if no candidate was.
    pub compared: Option<String>,
    /// What is proven, or why nothing is.
    pub proven: String,
    /// How certain the proof is.
    pub how_sure: Option<String>,
    /// How many requests the runs' percentiles rest on.
    #[serde(default)]
    pub evidence: Option<String>,
    /// What makes the figures doubtful.
    pub caution: Option<String>,
    /// What disturbed the measurement, and what to do about it: a sentence each.
    pub warnings: Vec<String>,
    /// Where the program loses time, and how that changed.
    pub why: Vec<StoredReason>,
    /// Why nothing is proven better, and what to do next: a sentence each.
    pub next: Vec<String>,
    /// The command that applies what is recommended.
    pub apply: Option<String>,
    /// The command that repeats the measurement.
    pub repeat: Option<String>,
}

/// A sentence, and what it introduces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct StoredReason {
    /// The sentence.
    pub sentence: String,
    /// The locks or call sites that it is about, if it names them one by one.
    pub places: Vec<String>,
}

/// The judged waits at a call site.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredJudgedWait {
    /// The call site.
    pub name: String,
    /// The metered runs in which it waited.
    pub runs: Vec<StoredWaitRun>,
}

/// A metered run in which a call site waited. The lock tables have the figures.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredWaitRun {
    /// The configuration's name.
    pub candidate: String,
}

/// What the percentile of a run rests on.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredPercentile {
    /// The percentile in percent.
    pub percent: f64,
    /// The tool that printed it; none if it was found by the word alone.
    pub tool: Option<String>,
    /// The smallest number of requests of a run; none if the tool does not print it.
    pub samples_min: Option<u64>,
}

/// The commands around a server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct StoredService {
    /// Succeeds once the server answers.
    pub ready: String,
    /// Loads it, and is timed.
    pub load: String,
    /// Stops it; none if SIGTERM does.
    pub stop: Option<String>,
}

/// Two schedulers of a session, compared by its runs.
#[derive(Clone, Debug, Deserialize)]
pub struct StoredSchedulerPair {
    /// The scheduler that is the control of this comparison.
    pub control: String,
    /// The other one, compared with it.
    pub comparison: Comparison,
}

/// The kernel of a configuration. Without a boot that reached the program's end only the name is known.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredBootedKernel {
    /// As the command line names it.
    pub name: String,
    /// The kernel's release.
    #[serde(default)]
    pub release: Option<String>,
    /// What executed the instructions: `kvm` or `tcg`.
    #[serde(default)]
    pub accelerator: Option<String>,
    /// CPUs of the virtual machine.
    #[serde(default)]
    pub cpus: Option<u16>,
}

impl StoredBootedKernel {
    /// "7.3.4+deb13-rt-amd64, tcg, 2 CPUs". None if no boot reached the program's end.
    pub fn booted(&self) -> Option<String> {
        Some(format!("{}, {}, {} CPUs", self.release.as_ref()?, self.accelerator.as_ref()?, self.cpus?))
    }
}

/// The scheduler of a configuration.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredScheduler {
    /// The command that loads it.
    pub command: String,
    /// The name that the kernel shows; none if it was never enabled; with `--kernel`, if it was not enabled to the end of any run.
    pub ops: Option<String>,
    /// Which tasks it schedules: `machine` or `program`.
    pub reach: Option<String>,
}

/// A configuration that was compared.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredConfiguration {
    /// Its name.
    pub name: String,
    /// The engine of System V IPC; none without the preload library.
    pub engine: Option<String>,
    /// The compiled plan.
    pub plan: Option<String>,
    /// The run queue, if the command line set one.
    pub run_queue: Option<String>,
    /// The scheduler of the kernel that its runs loaded, if it is judged.
    #[serde(default)]
    pub scheduler: Option<StoredScheduler>,
    /// The kernel that was booted for each of its runs, if kernels are compared.
    #[serde(default)]
    pub kernel: Option<StoredBootedKernel>,
    /// What a candidate changes, in words; none in documents of older versions.
    #[serde(default)]
    pub summary: Option<String>,
    /// Where the CPU time of its runs went.
    pub cpu: StoredCpuShares,
}

/// Means over the successful measured runs of one configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredCpuShares {
    /// Percent of wall time × CPUs in user mode.
    pub user_percent: f64,
    /// Percent of wall time × CPUs in the kernel.
    pub system_percent: f64,
    /// The rest: idle, or used by other programs.
    pub idle_percent: f64,
    /// CPU seconds of a run.
    pub cpu_s: f64,
    /// Wall-clock seconds of a run.
    pub wall_s: f64,
    /// Voluntary context switches of a run.
    pub voluntary_switches: f64,
    /// Involuntary context switches of a run.
    pub involuntary_switches: f64,
}

/// The lock tables.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct StoredLocks {
    /// One for each configuration that was metered, the control's first.
    pub metered: Vec<StoredLockTable>,
    /// Why a table is missing.
    pub missing: Vec<String>,
}

/// The locks of one metered run, which is not among the results.
#[derive(Clone, Debug, Deserialize)]
pub struct StoredLockTable {
    /// The configuration's name.
    pub candidate: String,
    /// Wall-clock time of the metered run, in seconds.
    pub elapsed_s: f64,
    /// CPU time of the metered run, in seconds.
    pub cpu_s: f64,
    /// The locks and waits.
    pub report: MeterReport,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredRun {
    /// Index into [`StoredProof::candidates`].
    pub candidate: usize,
    /// Round, counted from 1; 0 is the warm-up.
    pub round: u32,
    /// Seconds since the session began.
    pub started_s: f64,
    /// Wall time, in seconds; of a server, of the load.
    pub elapsed_s: f64,
    /// CPU time in user mode, in seconds.
    pub user_s: f64,
    /// CPU time in the kernel, in seconds.
    pub system_s: f64,
    /// The value of the metric; none if the run failed.
    pub value: Option<f64>,
    /// Of a percentile, the number of requests on which it rests, if the program prints it.
    #[serde(default)]
    pub samples: Option<u64>,
    /// Why it failed.
    pub failure: Option<String>,
    /// What disturbed it.
    pub disturbance: StoredDisturbance,
    /// The end of its output, if the program itself failed.
    #[serde(default)]
    pub output_tail: String,
}
