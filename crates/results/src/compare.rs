//! A result of `unspin compare --json`: `docs/compare-json.md`. It is read as the type that is written.

use crate::machine::{StoredBuild, StoredMachine};
use serde::{Deserialize, Serialize};
use unspin_stats::independent::{Drift, IndependentTest, IndependentVerdict};
use unspin_stats::{CpuCostUnit, Metric, NoiseFloor, Ratio, Settings, Summary};

/// The number after the slash is increased when a field changes its meaning or is removed.
pub const COMPARE_SCHEMA: &str = "unspin.compare/1";

/// Two sides compared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResultComparison {
    /// The format.
    pub schema: String,
    /// The build that compares.
    pub unspin: StoredBuild,
    /// The meaning of the exit code without a gate.
    pub conclusion: ComparisonConclusion,
    /// The quantity that decides.
    pub basis: Basis,
    /// The command of the first earlier session.
    pub command: Vec<String>,
    /// The control's name, in all sessions.
    pub control: String,
    /// The metric of all sessions.
    pub metric: Metric,
    /// Confidence, level and numbers of draws.
    pub settings: Settings,
    /// The earlier sessions.
    pub before: Vec<SessionSummary>,
    /// The later sessions.
    pub after: Vec<SessionSummary>,
    /// No smaller difference is ranked, a factor of at least 1: the largest of the sessions' noise floors, of what
    /// disturbed them and, for figures, of their drift; with several sessions what disturbed them alone. What rounding can cause
    /// ([`IndependentTest::rounding`]) is a floor of each comparison of its own. Absent if unknown, and if it is 1.
    pub floor: Option<f64>,
    /// The same for gains, in which a drift cancels.
    pub gains_floor: Option<f64>,
    /// The figures of each configuration; empty if they are not compared.
    pub figures: Vec<ComparedFigures>,
    /// The gains of each candidate.
    pub gains: Vec<ComparedGain>,
    /// What limits the comparison, and what to do about it.
    pub warnings: Vec<String>,
    /// What one session on each side does not show; absent with several.
    pub limit: Option<String>,
    /// The gate, if there is one.
    pub gate: Option<Gate>,
    /// The command that repeats the comparison.
    pub repeat: Option<String>,
    /// What is compared, in a sentence.
    pub compared: String,
    /// The conclusion in a sentence.
    pub sentence: String,
    /// How certain it is, in a sentence.
    pub certainty: String,
}

/// The outcome for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonConclusion {
    /// At least one configuration is proven better, and none worse.
    Better,
    /// At least one configuration is proven worse.
    Worse,
    /// No difference is proven.
    NothingProven,
    /// Runs failed on the later side, or nothing could be compared.
    Failed,
}

/// The quantity that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Values of the metric: the sessions are of one machine, or differences between machines are ignored on request.
    Figures,
    /// Ratios to the control of the same session.
    Gains,
}

/// A session, as far as a comparison shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// The file that it was read from.
    pub file: String,
    /// Where it was measured.
    pub machine: StoredMachine,
    /// With which build.
    pub unspin: StoredBuild,
    /// The command.
    pub command: Vec<String>,
    /// Complete rounds.
    pub rounds: u32,
    /// Duration in seconds.
    pub elapsed_s: f64,
    /// What its A/A pair shows.
    pub noise_floor: Option<NoiseFloor>,
    /// Its second half against its first; absent with too few rounds.
    pub drift: Option<Drift>,
}

/// The figures of a configuration on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedFigures {
    /// The configuration's name.
    pub name: String,
    /// The earlier side.
    pub before: Option<SideFigures>,
    /// The later side.
    pub after: Option<SideFigures>,
    /// The comparison.
    #[serde(flatten)]
    pub judged: Judged,
}

/// The figures of a configuration on one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideFigures {
    /// Of the runs of one session, or of the means of several sessions.
    pub summary: Summary,
    /// Every run, by session.
    pub sessions: Vec<Vec<f64>>,
}

/// The gain of a candidate over the control, on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedGain {
    /// The candidate's name.
    pub name: String,
    /// The earlier side.
    pub before: Option<SideGain>,
    /// The later side.
    pub after: Option<SideGain>,
    /// The comparison.
    #[serde(flatten)]
    pub judged: Judged,
}

/// The gain of a candidate on one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideGain {
    /// How many times as good as the control; of several sessions the mean.
    pub value: f64,
    /// Of each session, with its interval.
    pub sessions: Vec<Ratio>,
}

/// The comparison of the sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Ratio, interval and p; none with too few runs, or if runs failed.
    pub test: Option<IndependentTest>,
    /// p after Holm's correction over the configurations.
    pub p_corrected: Option<f64>,
    /// What is proven.
    pub verdict: ConfigurationVerdict,
    /// What the later side costs in CPU time; none if it is unknown, if CPU time is the metric, and in documents of older versions.
    #[serde(default)]
    pub cpu: Option<CpuChange>,
    /// The verdict in a sentence.
    pub sentence: String,
}

/// The CPU time (user and system, with all children) of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuChange {
    /// The unit of work.
    pub per: CpuCostUnit,
    /// Of figures CPU seconds for a unit of work; of gains how many times that of the control. With several sessions the mean.
    pub before: f64,
    /// The same of the later side.
    pub after: f64,
    /// The later side's divided by the earlier side's. Unlike in all other ratios, above 1 means *more*, thus worse.
    pub times: Ratio,
    /// Whether the sides differ: the interval excludes 1, and so does the test.
    pub differs: bool,
}

impl CpuChange {
    /// What the later side costs, for a sentence: "1.31 times the CPU time per request". None if the sides do not differ.
    pub fn price(&self) -> Option<String> {
        self.differs.then(|| format!("{} times the CPU time{}", self.times.shown().0, self.per.of_work()))
    }
}

/// What is proven about a configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ConfigurationVerdict {
    /// It was tested.
    Tested(IndependentVerdict),
    /// It was not.
    Untested(Untested),
}

/// Why a configuration was not tested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Untested {
    /// One side has too few runs, or none of several sessions differs.
    TooFew {
        /// Number of runs, rounds or sessions on each side.
        units: [u32; 2],
    },
    /// Runs of a side failed, or were ended.
    NoValues {
        /// The obstacle of the earlier side.
        before: Option<Obstacle>,
        /// The obstacle of the later side.
        after: Option<Obstacle>,
    },
}

/// Why a configuration of a session has no values to compare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Obstacle {
    /// Runs failed.
    Failed {
        /// Number of failed runs, including the warm-up.
        failed: u32,
        /// Number of runs, including the warm-up.
        runs: u32,
        /// The reason of the first failure.
        reason: String,
    },
    /// Runs were ended because they took many times as long as the control, or hung.
    CutOff {
        /// Number of runs that were ended.
        cut_off: u32,
        /// Number of runs, including the warm-up.
        runs: u32,
        /// The time after which the first was ended, in seconds.
        limit_s: f64,
    },
    /// No round was complete.
    NoRuns,
    /// The control, with which it is compared, has no values.
    Control {
        /// The control's name.
        name: String,
        /// Why it has none.
        why: Box<Obstacle>,
    },
}

/// The gate with its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// By which share a figure may become worse: 0.05 is 5 %.
    pub limit: f64,
    /// What these sessions show.
    pub outcome: GateOutcome,
    /// The configurations that exceed the limit.
    pub exceeded: Vec<String>,
    /// The configurations that may exceed it.
    pub unsure: Vec<String>,
    /// Whether an unsure outcome fails, too.
    pub fails_if_unsure: bool,
    /// The outcome in a sentence or two.
    pub sentence: String,
}

/// What two sides show about a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// No configuration is slower by more than the limit.
    Kept,
    /// At least one is.
    Exceeded,
    /// These runs do not tell.
    Unsure,
}

impl ResultComparison {
    /// The outcome in a few words, for a heading: that of the gate if there is one.
    pub fn headline(&self) -> &'static str {
        match (self.gate.as_ref().map(|gate| gate.outcome), self.conclusion) {
            (_, ComparisonConclusion::Failed) => "failed",
            (Some(GateOutcome::Exceeded), _) => "slower than the limit permits",
            (Some(GateOutcome::Unsure), _) => "the runs do not tell whether the limit is kept",
            (Some(GateOutcome::Kept), _) => "within the limit",
            (None, ComparisonConclusion::Better) => "better",
            (None, ComparisonConclusion::Worse) => "worse",
            (None, ComparisonConclusion::NothingProven) => "no difference proven",
        }
    }

    /// The comparisons that decide.
    pub fn deciding(&self) -> Vec<(&str, &Judged)> {
        match self.basis {
            Basis::Figures => {
                self.figures.iter().map(|compared| (compared.name.as_str(), &compared.judged)).collect()
            }
            Basis::Gains => {
                self.gains.iter().map(|compared| (compared.name.as_str(), &compared.judged)).collect()
            }
        }
    }

    /// Number of sessions on each side.
    pub fn sessions(&self) -> [usize; 2] {
        [self.before.len(), self.after.len()]
    }

    /// The sentences of all configurations, the figures first.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        let figures = self.figures.iter().map(|compared| compared.judged.sentence.as_str());
        figures.chain(self.gains.iter().map(|compared| compared.judged.sentence.as_str()))
    }
}

impl Judged {
    /// Whether the later side is proven worse, or its runs were ended because they took many times as long.
    pub fn is_worse(&self) -> bool {
        match &self.verdict {
            ConfigurationVerdict::Tested(verdict) => *verdict == IndependentVerdict::ProvenWorse,
            ConfigurationVerdict::Untested(untested) => untested.has_collapsed(),
        }
    }

    /// Whether the later side is proven better.
    pub fn is_better(&self) -> bool {
        self.verdict == ConfigurationVerdict::Tested(IndependentVerdict::ProvenBetter)
    }

    /// Whether runs of the later side failed.
    pub fn has_failed(&self) -> bool {
        let failed = |obstacle: &Option<Obstacle>| matches!(obstacle, Some(Obstacle::Failed { .. }));
        matches!(&self.verdict, ConfigurationVerdict::Untested(Untested::NoValues { after, .. }) if failed(after))
    }

    /// The verdict in a word, for tables.
    pub fn word(&self, basis: Basis) -> &'static str {
        let [better, worse] = match basis {
            Basis::Figures => ["better", "worse"],
            Basis::Gains => ["larger", "smaller"],
        };
        match &self.verdict {
            ConfigurationVerdict::Tested(IndependentVerdict::ProvenBetter) => better,
            ConfigurationVerdict::Tested(IndependentVerdict::ProvenWorse) => worse,
            ConfigurationVerdict::Tested(_) => "not proven",
            ConfigurationVerdict::Untested(_) if self.is_worse() => "ended",
            ConfigurationVerdict::Untested(_) if self.has_failed() => "fails",
            ConfigurationVerdict::Untested(_) => "not compared",
        }
    }
}

impl Untested {
    /// Whether runs were ended on the later side only.
    pub fn has_collapsed(&self) -> bool {
        matches!(self, Untested::NoValues { before: None, after: Some(Obstacle::CutOff { .. }) })
    }
}
