//! Pairs of runs: control and candidate of a round, close together in time.

use crate::metric::Direction;
use crate::sample::SampleSet;

/// The result of one round for a candidate and the control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pair {
    /// Both ended successfully.
    Values {
        /// The control's value.
        control: f64,
        /// The candidate's value.
        candidate: f64,
    },
    /// Only the candidate failed: it is worse than any ratio can express.
    CandidateFailed,
    /// Only the control failed: the candidate is better than any ratio can express.
    ControlFailed,
    /// Both failed: no difference.
    BothFailed,
}

/// The pairs of all rounds in which both took part.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// One per round, without the rounds in which the control's run was cut off.
    pub rounds: Vec<Pair>,
    direction: Direction,
}

impl Pairs {
    /// Pairs the runs of equal rounds. A round in which the control's run was cut off says nothing about the candidate: the
    /// program is the same in all other rounds, so the machine stalled.
    pub fn of(control: &SampleSet, candidate: &SampleSet, direction: Direction) -> Pairs {
        let rounds = control.runs.iter().zip(&candidate.runs);
        let rounds = rounds.filter(|(control, _)| control.outcome.cut_off_at().is_none());
        let rounds = rounds.map(|(control, candidate)| match (control.value(), candidate.value()) {
            (Some(control), Some(candidate)) => Pair::Values { control, candidate },
            (Some(_), None) => Pair::CandidateFailed,
            (None, Some(_)) => Pair::ControlFailed,
            (None, None) => Pair::BothFailed,
        });
        Pairs { rounds: rounds.collect(), direction }
    }

    /// (control, candidate) of the rounds in which both ended successfully.
    pub fn values(&self) -> Vec<(f64, f64)> {
        let values = self.rounds.iter().filter_map(|pair| match *pair {
            Pair::Values { control, candidate } => Some((control, candidate)),
            Pair::CandidateFailed | Pair::ControlFailed | Pair::BothFailed => None,
        });
        values.collect()
    }

    /// ln(times as good) of the rounds in which both ended successfully: positive where the candidate was better.
    pub fn log_ratios(&self) -> Vec<f64> {
        let ratio =
            |&(control, candidate): &(f64, f64)| self.direction.times_as_good(candidate, control).ln();
        self.values().iter().map(ratio).collect()
    }

    /// The differences for the sign-flip test. Without failures: the log ratios. With failures: the signed ranks of the
    /// log ratios (Wilcoxon), where a failed run is worse than any value.
    pub fn differences(&self) -> Vec<f64> {
        let all = self.rounds.iter().map(|pair| match *pair {
            Pair::Values { control, candidate } => self.direction.times_as_good(candidate, control).ln(),
            Pair::CandidateFailed => f64::NEG_INFINITY,
            Pair::ControlFailed => f64::INFINITY,
            Pair::BothFailed => 0.0,
        });
        let all: Vec<f64> = all.collect();
        if all.iter().all(|difference| difference.is_finite()) { all } else { signed_ranks(&all) }
    }
}

/// Rank of |d| with the sign of d. Equal magnitudes share the mean of their ranks; zero stays zero.
fn signed_ranks(differences: &[f64]) -> Vec<f64> {
    let rank = |d: f64| {
        let below = differences.iter().filter(|other| other.abs() < d.abs()).count() as f64;
        let equal = differences.iter().filter(|other| other.abs() == d.abs()).count() as f64;
        below + 0.5 * (equal + 1.0)
    };
    differences.iter().map(|&d| if d == 0.0 { 0.0 } else { d.signum() * rank(d) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_run_is_worse_than_any_value() {
        let inf = f64::INFINITY;
        assert_eq!(signed_ranks(&[0.5, -0.1, 0.0, -inf, 0.1]), [4.0, -2.5, 0.0, -5.0, 2.5]);
    }
}
