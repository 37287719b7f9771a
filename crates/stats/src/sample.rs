//! All runs of one candidate, in order, and their summary.

use crate::candidate::Candidate;
use crate::metric::Direction;
use crate::run::{Run, RunOutcome};
use serde::{Deserialize, Serialize};

/// All runs of one candidate. `runs[i]` belongs to round `i`, so the runs of two candidates with the same index were
/// made close together in time and form a pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleSet {
    /// The candidate.
    #[serde(flatten)]
    pub candidate: Candidate,
    /// The warm-up run. Its value enters no statistic; its failure counts as a failed run.
    pub warm_up: Option<Run>,
    /// The measured runs, one per round, until the end or until the candidate was excluded.
    pub runs: Vec<Run>,
}

impl SampleSet {
    /// No runs yet.
    pub fn new(candidate: Candidate) -> SampleSet {
        SampleSet { candidate, warm_up: None, runs: Vec::new() }
    }

    /// The values of the successful measured runs, in order.
    pub fn values(&self) -> Vec<f64> {
        self.runs.iter().filter_map(Run::value).collect()
    }

    /// Every run, the warm-up first.
    pub fn all_runs(&self) -> impl DoubleEndedIterator<Item = &Run> + Clone {
        self.warm_up.iter().chain(&self.runs)
    }

    /// The wall time of the slowest run that has a value, in seconds; 0 without one.
    pub(crate) fn worst_s(&self) -> f64 {
        let ended = self.all_runs().filter(|run| run.value().is_some());
        ended.map(|run| run.elapsed_s).fold(0.0, f64::max)
    }

    /// The number of failed runs (including the warm-up), and the first reason.
    pub fn failures(&self) -> (u32, Option<&str>) {
        let mut reasons = self.all_runs().filter_map(|run| match &run.outcome {
            RunOutcome::Failed { reason } => Some(reason.as_str()),
            RunOutcome::Ok { .. }
            | RunOutcome::Collapsed { .. }
            | RunOutcome::Hung { .. }
            | RunOutcome::Stopped { .. } => None,
        });
        let first = reasons.next();
        (u32::from(first.is_some()) + reasons.count() as u32, first)
    }

    /// The number of runs that were cut off because they took many times as long as the control, or hung.
    pub fn cut_off(&self) -> u32 {
        self.all_runs().filter(|run| run.outcome.cut_off_at().is_some()).count() as u32
    }

    /// The number of runs without a value since the last one with a value.
    pub(crate) fn fruitless_in_a_row(&self) -> usize {
        self.all_runs().rev().take_while(|run| run.value().is_none()).count()
    }

    /// The number of runs that were stopped because of the time budget.
    pub fn stopped_runs(&self) -> u32 {
        self.all_runs().filter(|run| matches!(run.outcome, RunOutcome::Stopped { .. })).count() as u32
    }

    /// The summary of the successful runs; `None` if there are none.
    pub fn summary(&self, direction: Direction) -> Option<Summary> {
        Summary::of(&self.values(), direction)
    }
}

/// Moments and order statistics of some values, in the unit of the metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of values.
    pub count: u32,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (divisor n − 1); absent for a single value.
    pub standard_deviation: Option<f64>,
    /// Standard deviation over mean; absent for a single value.
    pub coefficient_of_variation: Option<f64>,
    /// Median; for an even count the mean of the two middle values.
    pub median: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// The mean without the single worst value, as in the historical reports. Only for comparison with them: dropping
    /// the worst run hides exactly the effect of contention, so no decision uses it.
    pub mean_of_best_n_minus_1: Option<f64>,
}

impl Summary {
    /// Summarises `values`; `None` if there are none.
    ///
    /// ```
    /// use unspin_stats::{Direction, Summary};
    /// let s = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], Direction::LowerIsBetter).unwrap();
    /// assert_eq!((s.mean, s.median, s.min, s.max), (5.0, 4.5, 2.0, 9.0));
    /// assert_eq!(s.mean_of_best_n_minus_1, Some(31.0 / 7.0));
    /// ```
    pub fn of(values: &[f64], direction: Direction) -> Option<Summary> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let mean = mean(values);
        let standard_deviation = standard_deviation(values);
        let best = match direction {
            Direction::LowerIsBetter => &sorted[..sorted.len() - 1],
            Direction::HigherIsBetter => &sorted[1..],
        };
        Some(Summary {
            count: values.len() as u32,
            mean,
            standard_deviation,
            coefficient_of_variation: standard_deviation.map(|sd| sd / mean),
            median: median_of_sorted(&sorted),
            min,
            max,
            mean_of_best_n_minus_1: (!best.is_empty()).then(|| self::mean(best)),
        })
    }
}

/// Arithmetic mean; NaN if there are no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sample standard deviation; `None` below two values. Two passes avoid cancellation for close values.
pub(crate) fn standard_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Median; NaN if there are no values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}
