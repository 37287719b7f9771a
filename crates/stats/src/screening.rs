//! A short tournament, for more candidates than there is time to judge.
//!
//! Sequential halving (Z. Karnin, T. Koren, O. Somekh: *Almost optimal exploration in multi-armed bandits*, ICML 2013):
//! the time is divided into stages of equal length. In each stage all remaining candidates run as often as time
//! permits, and the worse half is dropped at its end. So most of the time is spent on the candidates that are hard to
//! distinguish.
//!
//! A screening selects but proves nothing: a candidate that was selected because of some runs looks better in these
//! runs than it is. A verdict needs separate runs, see [`Schedule`](crate::Schedule).

use crate::candidate::Candidate;
use crate::collapse::{self, CUT_OFF_AT_LEAST, is_long_enough};
use crate::metric::{Direction, Metric, Quantity};
use crate::much_slower::{STOPPED_AT_LEAST, STOPPED_TIMES};
use crate::pairs::Pairs;
use crate::random::{Purpose, Random, stream};
use crate::run::{Run, RunOutcome};
use crate::sample::{SampleSet, mean};
use crate::schedule::FAILURES_IN_A_ROW;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Minimum number of rounds of the first stage: a single run may be an outlier.
const ROUNDS_AT_LEAST: u32 = 2;
/// Maximum number of rounds of any stage: for short programs that is enough to select.
const ROUNDS_AT_MOST: u32 = 12;

/// The state of a screening. The caller asks [`Screening::next`] what to run, runs it, and reports to
/// [`Screening::record`].
///
/// ```
/// use std::time::Duration;
/// use unspin_stats::{Candidate, Metric, RunOutcome, Run, Screening};
///
/// let candidates = ["a", "b", "c", "d"].map(Candidate::new).to_vec();
/// let budget = Duration::from_secs(60);
/// let mut screening = Screening::new(Candidate::control("system"), candidates, 1, budget, &Metric::wall_time(), 42);
/// let mut clock = Duration::ZERO;
/// while let Some(run) = screening.next(clock) {
///     let took = [1.0, 1.1, 0.9, 0.5, 1.2][run.index]; // here the program would run
///     clock += Duration::from_secs_f64(took);
///     screening.record(Run::new(Duration::from_secs_f64(took), RunOutcome::measured(took)));
/// }
/// let results = screening.results();
/// assert_eq!((results[0].name.as_str(), results[0].ratio), ("c", Some(2.0)));
/// ```
#[derive(Debug)]
pub struct Screening {
    direction: Direction,
    /// Whether a long run is a bad one.
    is_about_time: bool,
    keep: usize,
    budget: Duration,
    order: Random,
    /// The control comes first.
    samples: Vec<SampleSet>,
    /// The remaining candidates, without the control.
    active: Vec<usize>,
    /// Candidates that have not run in this round; the next one is last.
    waiting: Vec<usize>,
    running: Option<usize>,
    stage: u32,
    stages: u32,
    /// Number of complete rounds of this stage.
    rounds: u32,
    over: bool,
}

/// The next run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScreeningRun {
    /// 0 is the control, n the nth candidate.
    pub index: usize,
    /// A run that takes longer is stopped, and the candidate is dropped the second time; `None` until the control has run.
    pub limit: Option<Duration>,
}

/// The result of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScreeningResult {
    /// The number of the candidate, from 1.
    pub index: usize,
    /// The candidate's name.
    pub name: String,
    /// How many times as good as the control: the geometric mean over its rounds; `None` without rounds.
    pub ratio: Option<f64>,
    /// Number of rounds in which it ran.
    pub rounds: u32,
    /// How it ended.
    #[serde(rename = "fate")]
    pub end: ScreeningEnd,
}

/// How a candidate ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "fate")]
pub enum ScreeningEnd {
    /// It remained until the end.
    Kept,
    /// It was dropped because others were better.
    Dropped,
    /// Two of its runs were stopped at this limit, or its only one.
    Collapsed {
        /// The limit, in seconds.
        limit_s: f64,
    },
    /// The candidate took many times the control's slowest run, and no thread ran in the second half of the time.
    Hung {
        /// The limit, in seconds.
        limit_s: f64,
    },
    /// One of its runs failed.
    Failed {
        /// The reason.
        reason: String,
    },
}

impl Screening {
    /// A screening that has not begun. At most `keep` candidates remain at its end, after about `budget`.
    pub fn new(
        control: Candidate,
        candidates: Vec<Candidate>,
        keep: usize,
        budget: Duration,
        metric: &Metric,
        seed: u64,
    ) -> Screening {
        let active: Vec<usize> = (1..=candidates.len()).collect();
        let samples = std::iter::once(control).chain(candidates).map(SampleSet::new).collect();
        let halvings = (active.len() as f64 / keep.max(1) as f64).log2().ceil();
        Screening {
            direction: metric.direction,
            is_about_time: metric.quantity == Quantity::WallTime,
            keep: keep.max(1),
            budget,
            order: stream(seed, Purpose::Screening),
            samples,
            active,
            // The warm-up, which also shows how long a run takes.
            waiting: vec![0],
            running: None,
            stage: 0,
            stages: halvings.max(1.0) as u32,
            rounds: 0,
            over: false,
        }
    }

    /// The next run; `None` once the screening is over. `elapsed` is the time since it began. Returns the same run
    /// until it has been recorded.
    pub fn next(&mut self, elapsed: Duration) -> Option<ScreeningRun> {
        if self.over {
            return None;
        }
        if self.running.is_none() {
            while self.waiting.is_empty() {
                self.end_round(elapsed);
                if self.over {
                    return None;
                }
            }
            self.running = self.waiting.pop();
        }
        self.running.map(|index| ScreeningRun { index, limit: self.limit(index) })
    }

    /// Records the outcome of the run that [`Screening::next`] requested.
    ///
    /// # Panics
    /// If no run was requested.
    pub fn record(&mut self, run: Run) {
        let index = self.running.take().expect("record() follows next()");
        let run = match run.outcome {
            RunOutcome::Ok { value } => Run { outcome: RunOutcome::measured(value), ..run },
            RunOutcome::Failed { .. }
            | RunOutcome::Collapsed { .. }
            | RunOutcome::Hung { .. }
            | RunOutcome::Stopped { .. } => run,
        };
        let has_failed = run.value().is_none() && run.outcome.cut_off_at().is_none();
        let samples = &mut self.samples[index];
        match (index, &samples.warm_up) {
            (0, None) => samples.warm_up = Some(run),
            _ => samples.runs.push(run),
        }
        // One run that was cut off may be a stall of the machine.
        match index {
            0 => self.over |= has_failed || samples.fruitless_in_a_row() >= FAILURES_IN_A_ROW,
            _ if has_failed || samples.cut_off() >= CUT_OFF_AT_LEAST => {
                self.active.retain(|&active| active != index);
            }
            _ => (),
        }
    }

    /// The candidates: the best first, those that failed last.
    pub fn results(&self) -> Vec<ScreeningResult> {
        let mut results: Vec<ScreeningResult> =
            (1..self.samples.len()).map(|index| self.result(index)).collect();
        let rank = |result: &ScreeningResult| match result.end {
            ScreeningEnd::Kept => 0,
            ScreeningEnd::Dropped => 1,
            ScreeningEnd::Collapsed { .. } | ScreeningEnd::Hung { .. } | ScreeningEnd::Failed { .. } => 2,
        };
        results.sort_by(|a, b| {
            let worth = |result: &ScreeningResult| result.ratio.unwrap_or(0.0);
            rank(a).cmp(&rank(b)).then(worth(b).total_cmp(&worth(a)))
        });
        results
    }

    /// How the control failed, if it did: then nothing can be compared with it.
    pub fn control_failure(&self) -> Option<&RunOutcome> {
        let control = &self.samples[0];
        let is_failure = |run: &&Run| match run.outcome.cut_off_at() {
            Some(_) => control.fruitless_in_a_row() >= FAILURES_IN_A_ROW,
            None => run.value().is_none(),
        };
        control.all_runs().find(is_failure).map(|run| &run.outcome)
    }

    /// All runs so far; the control's first.
    pub fn samples(&self) -> &[SampleSet] {
        &self.samples
    }

    fn result(&self, index: usize) -> ScreeningResult {
        let samples = &self.samples[index];
        let logs = self.log_ratios(index);
        let cut_off =
            samples.all_runs().map(|run| &run.outcome).find(|outcome| outcome.cut_off_at().is_some());
        let is_out = samples.cut_off() >= CUT_OFF_AT_LEAST || logs.is_empty();
        let end = match (cut_off.filter(|_| is_out), samples.failures()) {
            (Some(&RunOutcome::Hung { limit_s }), _)
                if is_long_enough(limit_s, self.samples[0].worst_s()) =>
            {
                ScreeningEnd::Hung { limit_s }
            }
            (Some(outcome), _) => {
                ScreeningEnd::Collapsed { limit_s: outcome.cut_off_at().unwrap_or_default() }
            }
            (None, (_, Some(reason))) => ScreeningEnd::Failed { reason: reason.to_owned() },
            _ if self.active.contains(&index) => ScreeningEnd::Kept,
            _ => ScreeningEnd::Dropped,
        };
        ScreeningResult {
            index,
            name: samples.candidate.name.clone(),
            ratio: (!logs.is_empty()).then(|| mean(&logs).exp()),
            rounds: logs.len() as u32,
            end,
        }
    }

    fn log_ratios(&self, index: usize) -> Vec<f64> {
        Pairs::of(&self.samples[0], &self.samples[index], self.direction).log_ratios()
    }

    /// A candidate is stopped before its collapse if it is much slower than the control, and takes more than its share of
    /// half the budget. If the figure is not the time, a long run may have a good figure, and may take half the budget.
    fn limit(&self, index: usize) -> Option<Duration> {
        let control = self.samples[0].all_runs().filter(|run| run.value().is_some());
        let elapsed: Vec<Duration> = control.map(|run| Duration::from_secs_f64(run.elapsed_s)).collect();
        let (collapse, slowest) = (collapse::limit(&elapsed)?, elapsed.into_iter().max()?);
        let sharing = if self.is_about_time { self.samples.len() as u32 - 1 } else { 1 };
        let share = self.budget / (2 * sharing.max(1));
        let patience = share.max(slowest * STOPPED_TIMES).max(STOPPED_AT_LEAST);
        Some(if index == 0 { collapse } else { collapse.min(patience) })
    }

    /// Ends a round: then comes another round, another stage, or the end.
    fn end_round(&mut self, elapsed: Duration) {
        if !self.samples[0].runs.is_empty() {
            self.rounds += 1;
        }
        if self.active.is_empty() {
            self.over = true;
            return;
        }
        let until = self.budget * (self.stage + 1) / self.stages;
        let enough = if self.stage == 0 { ROUNDS_AT_LEAST } else { 1 };
        if self.rounds >= enough && (elapsed >= until || self.rounds >= ROUNDS_AT_MOST) {
            self.end_stage();
        }
        if !self.over {
            self.waiting = self.active.iter().copied().chain([0]).collect();
            self.waiting.shuffle(&mut self.order);
        }
    }

    fn end_stage(&mut self) {
        // A candidate whose runs were cut off has no ratio.
        let worth = |&index: &usize| match self.log_ratios(index) {
            logs if logs.is_empty() => f64::NEG_INFINITY,
            logs => mean(&logs),
        };
        let mut ranked: Vec<(f64, usize)> = self.active.iter().map(|index| (worth(index), *index)).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        ranked.truncate(ranked.len().div_ceil(2).max(self.keep));
        self.active = ranked.into_iter().map(|(_, index)| index).collect();
        self.active.sort_unstable();
        (self.stage, self.rounds) = (self.stage + 1, 0);
        self.over = self.stage >= self.stages || self.active.len() <= self.keep && self.stage > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screening(names: &[&str], keep: usize, budget_s: f64) -> Screening {
        let candidates = names.iter().map(|&name| Candidate::new(name)).collect();
        let budget = Duration::from_secs_f64(budget_s);
        Screening::new(Candidate::control("system"), candidates, keep, budget, &Metric::wall_time(), 7)
    }

    /// Runs the screening with the times from `took`. Returns how often each candidate ran, and the total time.
    fn hold(screening: &mut Screening, took: &dyn Fn(usize) -> Option<f64>) -> (Vec<u32>, f64) {
        let mut runs = vec![0; screening.samples().len()];
        let mut clock = 0.0;
        while let Some(run) = screening.next(Duration::from_secs_f64(clock)) {
            assert_eq!(screening.next(Duration::from_secs_f64(clock)), Some(run), "until it is recorded");
            runs[run.index] += 1;
            let limit = run.limit.map_or(f64::INFINITY, |limit| limit.as_secs_f64());
            let (elapsed, outcome) = match took(run.index) {
                Some(s) if s > limit => (limit, RunOutcome::Collapsed { limit_s: limit }),
                Some(s) => (s, RunOutcome::measured(s)),
                None => (0.1, RunOutcome::Failed { reason: "no luck".into() }),
            };
            clock += elapsed;
            screening.record(Run::new(Duration::from_secs_f64(elapsed), outcome));
            assert!(runs.iter().sum::<u32>() < 10_000, "it ends");
        }
        (runs, clock)
    }

    #[test]
    fn better_candidates_are_kept_and_run_most() {
        let times = [1.0, 1.2, 0.7, 1.1, 0.6, 1.0, 1.3, 0.95, 1.4];
        let mut screening = screening(&["a", "b", "c", "d", "e", "f", "g", "h"], 2, 40.0);
        let (runs, clock) = hold(&mut screening, &|index| Some(times[index]));
        let results = screening.results();
        let kept: Vec<&str> =
            results.iter().filter(|s| s.end == ScreeningEnd::Kept).map(|s| s.name.as_str()).collect();
        assert_eq!(kept, ["d", "b"]);
        assert!(runs[4] > runs[8], "{runs:?}");
        assert!(clock < 60.0, "about the budget: {clock}");
        assert_eq!(results[0].rounds + 1, runs[0], "the control runs in every round, and once before");
    }

    #[test]
    fn candidate_is_dropped_at_its_first_failure_or_second_collapse() {
        let mut screening = screening(&["good", "stuck", "broken"], 2, 30.0);
        let (runs, _) = hold(&mut screening, &|index| [Some(1.0), Some(0.9), Some(1e9), None][index]);
        assert_eq!((runs[2], runs[3]), (2, 1));
        let ends: Vec<ScreeningEnd> = screening.results().into_iter().map(|s| s.end).collect();
        assert_eq!(ends[0], ScreeningEnd::Kept);
        assert!(ends.contains(&ScreeningEnd::Collapsed { limit_s: 5.0 }));
        assert!(ends.contains(&ScreeningEnd::Failed { reason: "no luck".into() }));
        assert_eq!(screening.control_failure(), None);
    }

    #[test]
    fn failed_control_ends_the_screening() {
        let mut screening = screening(&["a"], 1, 30.0);
        let (runs, _) = hold(&mut screening, &|index| (index > 0).then_some(1.0));
        assert_eq!(runs, [1, 0]);
        assert!(screening.control_failure().is_some());
    }

    #[test]
    fn zero_budget_runs_two_rounds_of_all_and_one_of_each_half() {
        let mut screening = screening(&["a", "b", "c", "d"], 1, 0.0);
        let (runs, _) = hold(&mut screening, &|index| Some(1.0 + 0.1 * index as f64));
        assert_eq!(runs, [4, 3, 3, 2, 2]);
        assert_eq!(screening.results()[0].name, "a");
    }

    #[test]
    fn single_candidate_is_screened_too() {
        let mut screening = screening(&["a"], 2, 1.0);
        let (runs, _) = hold(&mut screening, &|_| Some(1.0));
        assert!(runs[1] >= 2, "{runs:?}");
        assert_eq!(screening.results()[0].end, ScreeningEnd::Kept);
    }

    #[test]
    fn screening_ends_when_no_candidate_is_left() {
        let mut screening = screening(&["a", "b"], 1, 1e6);
        let (runs, _) = hold(&mut screening, &|index| (index == 0).then_some(1.0));
        assert_eq!((runs[1], runs[2]), (1, 1));
    }
}
