//! One of the two samples.

use crate::interval::Ratio;
use crate::metric::Direction;
use crate::rounding::{RoundedMean, times_as_good};

/// The units of one side: pairs (control, candidate). Of plain figures the control is 1.
#[derive(Clone, Debug, PartialEq)]
pub struct IndependentSample {
    pairs: Vec<(f64, f64)>,
    direction: Direction,
    /// The control's and the candidate's means as they were printed; none if they were not.
    printed: Option<[RoundedMean; 2]>,
}

/// The logarithm of "how many times as good as the control", and the variance of that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    pub(super) log: f64,
    pub(super) variance: f64,
}

impl IndependentSample {
    /// The figures of the runs of one configuration, positive and finite.
    pub fn of_figures(values: &[f64], direction: Direction) -> IndependentSample {
        let pairs = values.iter().map(|&value| (1.0, value)).collect();
        IndependentSample { pairs, direction, printed: None }
    }

    /// The rounds of one session, as (control, candidate), positive and finite.
    pub fn of_gains(rounds: &[(f64, f64)], direction: Direction) -> IndependentSample {
        // In units of the session's control: relabelled rounds of a slow and of a fast machine count alike then.
        let mean = rounds.iter().map(|(control, _)| control).sum::<f64>() / rounds.len().max(1) as f64;
        let pairs = rounds.iter().map(|(control, candidate)| (control / mean, candidate / mean));
        IndependentSample { pairs: pairs.collect(), direction, printed: None }
    }

    /// Of figures that were printed so.
    #[must_use]
    pub fn with_printed_figures(self, figures: RoundedMean) -> IndependentSample {
        self.with_printed_gains(RoundedMean::ONE, figures)
    }

    /// Of a control and a candidate whose figures were printed so.
    #[must_use]
    pub fn with_printed_gains(self, control: RoundedMean, candidate: RoundedMean) -> IndependentSample {
        IndependentSample { printed: Some([control, candidate]), ..self }
    }

    /// This sample as it would be if it were so many times as good.
    #[must_use]
    pub fn times_as_good(&self, times: f64) -> IndependentSample {
        let factor = match self.direction {
            Direction::LowerIsBetter => 1.0 / times,
            Direction::HigherIsBetter => times,
        };
        let pairs = self.pairs.iter().map(|&(control, candidate)| (control, candidate * factor)).collect();
        IndependentSample { pairs, ..self.clone() }
    }

    /// Number of units.
    pub fn units(&self) -> u32 {
        self.pairs.len() as u32
    }

    /// How many times as good as the control: the figures' mean (its inverse if less is better), or the gain. NaN without units.
    pub fn value(&self) -> f64 {
        log_of(self.direction, &self.pairs).exp()
    }

    /// [`IndependentSample::value`], between the ends that it may have had before rounding.
    pub fn before_rounding(&self) -> Ratio {
        let value = self.value();
        let exact = Ratio { value, lower: value, upper: value };
        self.printed.map_or(exact, |[control, candidate]| {
            let printed = times_as_good(control, candidate, self.direction);
            let scale = value / printed.value;
            Ratio { value, lower: printed.lower * scale, upper: printed.upper * scale }
        })
    }

    pub(super) fn pairs(&self) -> &[(f64, f64)] {
        &self.pairs
    }

    pub(super) fn direction(&self) -> Direction {
        self.direction
    }

    pub(super) fn estimate(&self) -> Estimate {
        estimate(self.direction, &self.pairs)
    }
}

/// The logarithm of the ratio of means.
pub(super) fn log_of(direction: Direction, pairs: &[(f64, f64)]) -> f64 {
    let (control, candidate) = sums(pairs);
    direction.times_as_good(candidate, control).ln()
}

/// The logarithm with its variance by the delta method, from how far each unit moves the ratio of means.
pub(super) fn estimate(direction: Direction, pairs: &[(f64, f64)]) -> Estimate {
    let n = pairs.len() as f64;
    let (control, candidate) = sums(pairs);
    let moved = |pair: &(f64, f64)| (pair.1 / candidate - pair.0 / control) * n;
    let squares: f64 = pairs.iter().map(|pair| moved(pair).powi(2)).sum();
    Estimate { log: direction.times_as_good(candidate, control).ln(), variance: squares / (n * (n - 1.0)) }
}

fn sums(pairs: &[(f64, f64)]) -> (f64, f64) {
    pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_gains_over_one() {
        let sample = IndependentSample::of_figures(&[1.0, 2.0, 3.0], Direction::LowerIsBetter);
        assert!((sample.value() - 0.5).abs() < 1e-12);
        // The variance of the mean, relative to the mean: (1/3) / 4.
        assert!((sample.estimate().variance - 1.0 / 12.0).abs() < 1e-12);
        let better = sample.times_as_good(2.0);
        assert!((better.value() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn gain_is_free_of_the_machines_speed() {
        let rounds = [(2.0, 1.0), (4.0, 2.1), (3.0, 1.4)];
        let slow = rounds.map(|(control, candidate)| (7.0 * control, 7.0 * candidate));
        let gain = |rounds: &[(f64, f64)]| IndependentSample::of_gains(rounds, Direction::LowerIsBetter);
        assert!((gain(&rounds).value() - 9.0 / 4.5).abs() < 1e-12);
        let (one, other) = (gain(&rounds).estimate(), gain(&slow).estimate());
        assert!((one.log - other.log).abs() < 1e-12 && (one.variance - other.variance).abs() < 1e-12);
    }
}
