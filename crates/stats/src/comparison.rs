//! One candidate against the control.

use crate::candidate::Role;
use crate::cpu::CpuCost;
use crate::interval::Ratio;
use crate::p_value::PValue;
use crate::permutation::rounds_for_proof;
use crate::plan::HALF_WIDTH_TARGET;
use crate::run::Run;
use crate::sample::Summary;
use crate::settings::Settings;
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// A factor below which it is of no interest what rounding hides.
pub const NEGLIGIBLE_ROUNDING: f64 = 1.005;

/// A candidate's runs and their comparison with the control's. A field is absent if there are too few runs for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The candidate's name.
    pub name: String,
    /// The candidate's role. The A/A configuration is compared like any candidate, but no verdict counts it.
    pub role: Role,
    /// The warm-up run.
    pub warm_up: Option<Run>,
    /// All measured runs, in the order of the rounds.
    pub runs: Vec<Run>,
    /// Number of failed runs, including the warm-up.
    pub failed_runs: u32,
    /// Summary of the successful runs.
    pub summary: Option<Summary>,
    /// Number of rounds in which both this candidate and the control yielded a value.
    pub rounds: u32,
    /// How many times as good as the control; above 1 is better. If runs failed, it describes only the rounds without
    /// failures.
    pub ratio: Option<Ratio>,
    /// Paired permutation test of "no difference". A failed run counts as worse than any value.
    pub difference: Option<PValue>,
    /// `difference.p` after Holm's correction over all candidates; absent for the A/A configuration.
    pub difference_p_corrected: Option<f64>,
    /// The smallest true effect, as a factor of at least 1, that this comparison would find with 80 % power.
    pub minimum_detectable_effect: Option<f64>,
    /// The largest factor between the means of two sides that are equal before their figures are rounded. No difference within it
    /// is proven, and the interval of the ratio has all values before rounding. Absent if no figure was printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<f64>,
    /// The test of spread.
    pub spread: Option<Spread>,
    /// The candidate's cost in CPU time.
    #[serde(default)]
    pub cpu: Option<CpuCost>,
    /// Whether these runs fail to show that it stays within [`Settings::cpu_limit`](crate::Settings::cpu_limit).
    #[serde(default)]
    pub over_cpu_limit: bool,
    /// What was proven.
    pub verdict: Verdict,
    /// The verdict in one English sentence.
    pub sentence: String,
    /// What was proven about the spread, in one English sentence.
    pub spread_sentence: Option<String>,
}

impl Comparison {
    /// Whether there are enough rounds for an interval of this confidence. The interval never exceeds the range of the
    /// rounds' ratios, and that of n rounds misses the true ratio with a probability of 2 / 2ⁿ.
    pub fn has_interval(&self, confidence: f64) -> bool {
        self.rounds >= rounds_for_proof(1, 1.0 - confidence)
    }

    /// The p value to print, after the correction if there is one. A proof needs a small p and an interval that excludes 1. The
    /// two are different tests, and a small p beside an interval that includes 1 would contradict the verdict: none is
    /// printed then.
    pub fn shown_p(&self, settings: &Settings) -> Option<f64> {
        let p = self.difference_p_corrected.or(self.difference.map(|difference| difference.p))?;
        let includes_one = self.ratio.is_some_and(|ratio| ratio.includes_one());
        let contradicts = includes_one && self.has_interval(settings.confidence) && p <= settings.alpha;
        (!contradicts).then_some(p)
    }

    /// Whether the digits of the figures hide more than their noise does, so that more rounds show no more.
    pub fn is_limited_by_digits(&self) -> bool {
        self.rounding
            .is_some_and(|rounding| self.minimum_detectable_effect.is_none_or(|noise| rounding >= noise))
    }

    /// Whether the digits make the interval wider than one that is narrow enough.
    pub fn has_interval_of_digits(&self) -> bool {
        let is_wide = self.rounding.is_some_and(|rounding| rounding >= 1.0 + HALF_WIDTH_TARGET);
        is_wide && self.is_limited_by_digits()
    }

    /// The ratio, if the candidate is proven faster and does not exceed the limit of CPU time.
    pub fn recommended(&self) -> Option<Ratio> {
        match self.verdict {
            Verdict::ProvenFaster { ratio } if !self.over_cpu_limit => Some(ratio),
            _ => None,
        }
    }
}

/// Whether the candidate's runs scatter differently from the control's, see [`crate::spread`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Standard deviation of the control's runs, in the metric's unit.
    pub control_standard_deviation: f64,
    /// Standard deviation of the candidate's runs, in the metric's unit.
    pub candidate_standard_deviation: f64,
    /// The control's standard deviation over its mean.
    pub control_coefficient_of_variation: f64,
    /// The candidate's standard deviation over its mean.
    pub candidate_coefficient_of_variation: f64,
    /// Brown and Forsythe's F; absent if no run varies.
    pub brown_forsythe: Option<f64>,
    /// The permutation test of F.
    pub difference: PValue,
    /// `difference.p` after Holm's correction over the spreads of all candidates; absent for the A/A configuration.
    pub difference_p_corrected: Option<f64>,
    /// What was proven.
    pub verdict: SpreadVerdict,
}

impl Spread {
    /// The p value that decides: after the correction if there is one.
    pub(crate) fn p(&self) -> f64 {
        self.difference_p_corrected.unwrap_or(self.difference.p)
    }
}

/// What was proven about the spread. A difference is proven only if p is at most alpha and the difference exceeds that
/// between the halves of the A/A pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpreadVerdict {
    /// The candidate's runs scatter less.
    ProvenSteadier,
    /// The candidate's runs scatter more.
    ProvenMoreErratic,
    /// No difference was proven.
    NothingProven,
}
