//! Detects that a running candidate has collapsed or hangs and need not be waited for.
//!
//! A run that exceeds [`limit`] is *cut off*. One such run shows little: a busy machine stalls now and then, whatever it runs.
//! So the candidate runs again, later and between runs of the others. It has collapsed only if that happens a second time
//! ([`CUT_OFF_AT_LEAST`]) and in the same rounds no configuration was cut off that works otherwise.

use crate::candidate::Role;
use crate::experiment::Experiment;
use crate::run::{Run, RunOutcome};
use crate::sample::SampleSet;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A candidate that runs longer than this many times the control's slowest run has collapsed. The factor is above the
/// eleven that RCU gained in semopbench (McKenney 2003, table 5: 515.3 s to 46.7 s), because the largest difference that
/// this tool was built to show must be measured, not cut off.
pub const LIMIT_FACTOR: u32 = 20;

/// Runs that were cut off are no collapse if they took less than so many times the slowest run of the control as known at the
/// end. That is less than [`LIMIT_FACTOR`], because the control's later runs are usually somewhat slower than its first.
pub const CONFIRMED_FACTOR: u32 = 10;

/// A candidate with fewer runs that were cut off has not collapsed.
pub const CUT_OFF_AT_LEAST: u32 = 2;

/// No run counts as collapsed before this time: start-up and scheduling can slow a short program by any factor.
pub const LIMIT_AT_LEAST: Duration = Duration::from_secs(5);

/// The time limit of a run, given the durations of the control's runs; `None` before the control has run.
pub fn limit(control_runs: &[Duration]) -> Option<Duration> {
    let worst = control_runs.iter().max()?;
    Some(worst.saturating_mul(LIMIT_FACTOR).max(LIMIT_AT_LEAST))
}

/// Whether a run that has lasted `elapsed` so far should be stopped.
///
/// ```
/// use std::time::Duration;
/// use unspin_stats::collapse::is_collapsed;
/// let control = [Duration::from_secs(1), Duration::from_secs(2)];
/// assert!(!is_collapsed(Duration::from_secs(40), &control));
/// assert!(is_collapsed(Duration::from_secs(41), &control));
/// assert!(!is_collapsed(Duration::from_secs(4), &[Duration::from_millis(1)]));
/// assert!(!is_collapsed(Duration::from_secs(1000), &[])); // nothing to compare with
/// ```
pub fn is_collapsed(elapsed: Duration, control_runs: &[Duration]) -> bool {
    limit(control_runs).is_some_and(|limit| elapsed > limit)
}

/// Whether a run that was stopped after `limit_s` seconds was cut off, if the control's slowest run took `control_worst_s`.
pub(crate) fn is_long_enough(limit_s: f64, control_worst_s: f64) -> bool {
    limit_s >= LIMIT_AT_LEAST.as_secs_f64() && limit_s >= f64::from(CONFIRMED_FACTOR) * control_worst_s
}

/// What is known of a candidate with runs that were cut off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CutOff {
    /// The limit of the first of these runs, in seconds. The later ones have the same, or a longer one.
    pub limit_s: f64,
    /// The control's slowest run, in seconds.
    pub control_worst_s: f64,
    /// Number of its runs that were cut off, including the warm-up.
    pub cut_off: u32,
    /// How many of these hung: no thread ran in the second half of the run.
    pub hung: u32,
    /// Number of its runs, including the warm-up.
    pub runs: u32,
    /// Number of runs that were cut off in the same rounds, of configurations that work otherwise.
    pub others: u32,
}

impl CutOff {
    /// None if no run of the candidate was cut off.
    pub fn of(experiment: &Experiment, candidate: &SampleSet) -> Option<CutOff> {
        let limit_s = candidate.all_runs().find_map(|run| run.outcome.cut_off_at())?;
        let others = experiment.samples.iter().filter(|other| other.candidate != candidate.candidate);
        let others = others.map(|other| cut_off_and_works(other, candidate.runs.len())).sum();
        let hung = candidate.all_runs().filter(|run| matches!(run.outcome, RunOutcome::Hung { .. }));
        Some(CutOff {
            limit_s,
            control_worst_s: experiment.control_worst_s(),
            cut_off: candidate.cut_off(),
            hung: hung.count() as u32,
            runs: candidate.all_runs().count() as u32,
            others,
        })
    }

    /// Whether these runs show that the candidate is the cause.
    pub fn is_proven(&self) -> bool {
        self.cut_off >= CUT_OFF_AT_LEAST && self.others == 0 && self.is_long_enough()
    }

    /// Whether the first limit is still long: a later run of the control may have been slower.
    pub fn is_long_enough(&self) -> bool {
        is_long_enough(self.limit_s, self.control_worst_s)
    }

    /// Whether each run that was cut off hung.
    pub fn is_hang(&self) -> bool {
        self.hung == self.cut_off
    }
}

/// How many runs of the warm-up and of the first `rounds` rounds were cut off; 0 if none has a value, as then the
/// configuration itself may be the cause. All runs of the control's program count.
fn cut_off_and_works(samples: &SampleSet, rounds: usize) -> u32 {
    let runs = || samples.warm_up.iter().chain(samples.runs.iter().take(rounds));
    match samples.candidate.role != Role::Candidate || runs().any(|run| run.value().is_some()) {
        true => runs().filter(|run: &&Run| run.outcome.cut_off_at().is_some()).count() as u32,
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::Candidate;
    use crate::metric::Metric;

    /// One letter for each run, the warm-up first: `o` has a value, `c` was cut off, `h` hung.
    fn samples(candidate: Candidate, runs: &str) -> SampleSet {
        let outcome = |letter| match letter {
            'o' => RunOutcome::measured(1.0),
            'h' => RunOutcome::Hung { limit_s: 20.0 },
            _ => RunOutcome::Collapsed { limit_s: 20.0 },
        };
        let mut runs = runs.chars().map(|letter| Run::new(Duration::from_secs(1), outcome(letter)));
        SampleSet { warm_up: runs.next(), runs: runs.collect(), ..SampleSet::new(candidate) }
    }

    fn found(control: &str, candidate: &str, other: &str) -> Option<CutOff> {
        let samples = vec![
            samples(Candidate::control("kernel"), control),
            samples(Candidate::new("rcu"), candidate),
            samples(Candidate::new("global"), other),
        ];
        let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples };
        CutOff::of(&experiment, &experiment.samples[1])
    }

    #[test]
    fn collapse_needs_a_second_run_and_none_of_the_others() {
        let is_proven = |control, candidate, other| found(control, candidate, other).map(|c| c.is_proven());
        assert_eq!(is_proven("oooo", "oooo", "oooo"), None);
        assert_eq!(is_proven("oooo", "coco", "oooo"), Some(true));
        assert_eq!(is_proven("oooo", "oocoooo", "oooo"), Some(false), "only one run");
        assert_eq!(is_proven("ocoo", "coc", "oooo"), Some(false), "the control was cut off too");
        assert_eq!(is_proven("oooc", "coc", "oooo"), Some(true), "later than all runs of the candidate");
        assert_eq!(is_proven("oooo", "cc", "oco"), Some(false), "a candidate that works was cut off too");
        assert_eq!(is_proven("oooo", "cc", "cc"), Some(true), "two candidates that never work");
    }

    #[test]
    fn slower_run_of_the_control_that_came_later_refutes_the_collapse() {
        let found = found("oooo", "cc", "oooo").unwrap();
        let is_proven = |limit_s, control_worst_s| CutOff { limit_s, control_worst_s, ..found }.is_proven();
        assert!(is_proven(20.0, 1.0) && is_proven(20.0, 2.0) && !is_proven(20.0, 2.1), "10 times as long");
        assert!(is_proven(5.0, 0.1) && !is_proven(4.9, 0.1), "and 5 s");
        assert!(!is_proven(1.0, 1.4), "a run of the control was slower");
    }

    #[test]
    fn hang_is_a_collapse_in_which_no_thread_runs() {
        let is_hang = |candidate| found("ooo", candidate, "ooo").unwrap().is_hang();
        assert!(is_hang("hoh") && is_hang("h") && !is_hang("hc") && !is_hang("cc"));
        let all = found("ooo", "hoc", "ooo").unwrap();
        assert_eq!((all.cut_off, all.hung, all.runs, all.others), (2, 1, 3, 0));
        assert_eq!((all.limit_s, all.control_worst_s), (20.0, 1.0));
    }
}
