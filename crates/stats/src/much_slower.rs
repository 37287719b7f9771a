//! A candidate that is much slower than the control need not be measured as often as the others.
//!
//! The evidence is a rank test, which also holds for runs that were stopped at a limit: if the candidate equals the
//! control, each order of their runs is equally likely. So the probability that the candidate's k runs are the slowest
//! of all c + k is 1 / C(c + k, k) (the extreme case of the test of Mann and Whitney, *On a test of whether one of two
//! random variables is stochastically larger than the other*, Ann. Math. Statist. 18, 1947). The runs of the control
//! and of its A/A configuration count together. In addition each run of the candidate must take [`TIMES`] times as long
//! as the slowest of them. So the probability under equality is far below the stated one.
//!
//! The test is repeated after each round, and p decreases by a factor of about six from round to round. So a level of
//! alpha / 2 for one round keeps the sum over all rounds below alpha. It is one-sided: it can only end the measurement
//! of a candidate that is slower. `tests/suite/calibration.rs` measures the rate for equal programs.

use crate::candidate::Role;
use crate::experiment::Experiment;
use crate::metric::{Metric, Quantity};
use crate::run::{Run, RunOutcome};
use crate::sample::SampleSet;
use std::time::Duration;

/// A candidate is much slower if each of its runs takes at least this many times as long as the control's slowest run.
pub const TIMES: u32 = 3;

/// No run of a candidate is stopped before this many times the duration of the control's slowest run so far: more than
/// [`TIMES`], so that it also counts as much slower if a later run of the control is somewhat slower.
pub const STOPPED_TIMES: u32 = 4;

/// No run of a candidate is stopped before this time, except at its collapse: scheduling can slow a short program by
/// any factor.
pub const STOPPED_AT_LEAST: Duration = Duration::from_secs(1);

/// A candidate with all its runs much slower than all runs of the control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MuchSlower {
    /// Each of its runs took at least this many times as long as the control's slowest run.
    pub times: f64,
    /// Number of its runs, including the warm-up.
    pub runs: u32,
    /// The one-sided p value of the rank test, not corrected for the number of candidates.
    pub p: f64,
}

impl MuchSlower {
    /// None if a run of the candidate was not much slower, failed, or had the value of a run of the control, or if
    /// either has no run.
    pub fn of(experiment: &Experiment, candidate: &SampleSet) -> Option<MuchSlower> {
        let is_control = |samples: &&SampleSet| samples.candidate.role != Role::Candidate;
        let control = experiment.samples.iter().filter(is_control).flat_map(SampleSet::all_runs);
        let control: Vec<&Run> = control.filter(|run| run.value().is_some()).collect();
        let slowest = control.iter().map(|run| run.elapsed_s).fold(0.0, f64::max);
        let is_worse = |run: &Run| is_worse(run, &control, &experiment.metric);
        if control.is_empty() || !candidate.all_runs().all(is_worse) {
            return None;
        }
        let fastest = candidate.all_runs().map(|run| run.elapsed_s).fold(f64::INFINITY, f64::min);
        let times = fastest / slowest;
        let runs = candidate.all_runs().count() as u32;
        let much = runs > 0 && times >= f64::from(TIMES);
        much.then(|| MuchSlower { times, runs, p: p(control.len() as u32, runs) })
    }

    /// Whether these runs prove it, if `judged` candidates are tested at `alpha`.
    pub fn is_proven(&self, judged: usize, alpha: f64) -> bool {
        self.p * judged.max(1) as f64 <= 0.5 * alpha
    }
}

/// Whether a run is worse than all runs of the control: its value is worse than each of theirs, or the time is the
/// figure and the run took so long that it was stopped.
fn is_worse(run: &Run, control: &[&Run], metric: &Metric) -> bool {
    match run.outcome {
        // Of another figure nothing is known.
        RunOutcome::Stopped { .. } => metric.quantity == Quantity::WallTime,
        RunOutcome::Ok { value } => {
            let times = |other| metric.direction.times_as_good(value, other);
            control.iter().filter_map(|run| run.value()).all(|other| times(other) < 1.0)
        }
        RunOutcome::Failed { .. } | RunOutcome::Collapsed { .. } | RunOutcome::Hung { .. } => false,
    }
}

/// 1 / C(control + candidate, candidate).
fn p(control: u32, candidate: u32) -> f64 {
    (1..=candidate).map(|i| f64::from(i) / f64::from(control + i)).product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::Candidate;

    fn run(seconds: f64) -> Run {
        Run::new(Duration::from_secs_f64(seconds), RunOutcome::measured(seconds))
    }

    fn stopped_run(seconds: f64) -> Run {
        Run::new(Duration::from_secs_f64(seconds), RunOutcome::Stopped { limit_s: seconds })
    }

    fn much_slower(candidate: &[Run]) -> Option<MuchSlower> {
        let control = [run(1.0), run(1.2), run(0.9)].to_vec();
        let set = |candidate, runs: &[Run]| SampleSet { runs: runs.to_vec(), ..SampleSet::new(candidate) };
        let samples = vec![
            set(Candidate::control("system"), &control),
            set(Candidate::aa_control("system (again)"), &control),
            set(Candidate::new("fair"), candidate),
        ];
        let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples };
        MuchSlower::of(&experiment, &experiment.samples[2])
    }

    #[test]
    fn p_is_that_of_the_extreme_order() {
        assert!((p(6, 3) - 1.0 / 84.0).abs() < 1e-12);
        assert!((p(2, 1) - 1.0 / 3.0).abs() < 1e-12);
        let found = much_slower(&[run(4.8), run(3.6), run(9.0)]).unwrap();
        assert_eq!((found.runs, (found.times * 100.0).round()), (3, 300.0));
        assert!(found.is_proven(2, 0.05) && !found.is_proven(3, 0.05), "1/84 · 2 <= 0.025 < 1/84 · 3");
    }

    #[test]
    fn each_run_must_be_much_slower() {
        assert_eq!(much_slower(&[run(4.8), run(3.5), run(9.0)]), None);
        assert_eq!(much_slower(&[]), None);
        assert!(much_slower(&[stopped_run(3.6), run(9.0)]).is_some());
        let failed = Run::new(Duration::from_secs(9), RunOutcome::Failed { reason: "signal 11".into() });
        assert_eq!(much_slower(&[run(9.0), failed]), None);
    }

    /// A program that takes long and has the better figure is not worse.
    #[test]
    fn long_run_with_a_better_figure_is_not_slower() {
        let better = Run::new(Duration::from_secs(9), RunOutcome::measured(0.5));
        assert_eq!(much_slower(&[better]), None);
    }

    #[test]
    fn repeated_tests_stay_below_alpha() {
        for judged in 1..=8 {
            let proven = |k: &u32| p(2 * k, *k) * f64::from(judged) <= 0.025;
            let sum: f64 = (1..30).filter(proven).map(|k| p(2 * k, k) * f64::from(judged)).sum();
            assert!(sum <= 0.05, "{judged} candidates: {sum}");
        }
    }
}
