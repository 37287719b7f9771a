//! What the rounding of printed figures can do to a comparison.
//!
//! A program that prints whole milliseconds prints 1 for 1.47 ms and 2 for 1.53 ms. If its runs scatter less than a step, each run
//! is rounded in the same way, and no number of rounds averages that out. A printed figure is at most half a step from its
//! value, so a mean is at most the mean of the half steps from its own. This bound holds for any scatter.

use crate::interval::Ratio;
use crate::metric::Direction;
use crate::run::Run;
use crate::sample::{SampleSet, mean};

/// Decimals are not exact in binary. The difference of neighbouring figures must not exceed a step for that reason.
const SLACK: f64 = 1e-9;

/// The figures of both sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rounding {
    control: RoundedMean,
    candidate: RoundedMean,
}

/// A mean of printed figures.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RoundedMean {
    mean: f64,
    /// How far it may be from the mean before rounding.
    half: f64,
}

impl Rounding {
    /// Of the rounds in which both have a value. `None` without such rounds, or if no figure was printed.
    pub(crate) fn of(control: &SampleSet, candidate: &SampleSet) -> Option<Rounding> {
        let rounds = control.runs.iter().zip(&candidate.runs);
        let both =
            rounds.filter(|(control, candidate)| control.value().is_some() && candidate.value().is_some());
        let (control, candidate): (Vec<&Run>, Vec<&Run>) = both.unzip();
        let rounding =
            Rounding { control: RoundedMean::of(&control), candidate: RoundedMean::of(&candidate) };
        (rounding.control.half + rounding.candidate.half > 0.0).then_some(rounding)
    }

    /// The largest factor between the means of two sides that are equal before rounding. The means differ by both halves at most.
    pub(crate) fn factor(&self) -> f64 {
        let least = self.control.mean.min(self.candidate.mean);
        let halves = self.control.half + self.candidate.half;
        (least + halves) / least * (1.0 + SLACK)
    }

    /// The largest factor between two values that are both printed like the control's mean.
    pub(crate) fn factor_of_control(&self) -> f64 {
        let (lower, upper) = self.control.ends();
        upper / lower
    }

    /// By how much the coefficients of variation may differ because of rounding, which moves a standard deviation by less than a
    /// step.
    pub(crate) fn spread(&self) -> f64 {
        2.0 * (self.control.half / self.control.mean + self.candidate.half / self.candidate.mean)
    }

    /// The ratio with an interval that has all values before rounding.
    pub(crate) fn widen(&self, ratio: Ratio, direction: Direction) -> Ratio {
        let (control, candidate) = (self.control.ends(), self.candidate.ends());
        let plain = direction.times_as_good(self.candidate.mean, self.control.mean);
        let ends = match direction {
            Direction::LowerIsBetter => (control.0 / candidate.1, control.1 / candidate.0),
            Direction::HigherIsBetter => (candidate.0 / control.1, candidate.1 / control.0),
        };
        Ratio {
            lower: ratio.lower * ends.0 / plain * (1.0 - SLACK),
            upper: ratio.upper * ends.1 / plain * (1.0 + SLACK),
            ..ratio
        }
    }
}

impl RoundedMean {
    fn of(runs: &[&Run]) -> RoundedMean {
        let values: Vec<f64> = runs.iter().filter_map(|run| run.value()).collect();
        let halves: Vec<f64> = runs.iter().map(|run| 0.5 * run.step.unwrap_or(0.0)).collect();
        RoundedMean { mean: mean(&values), half: mean(&halves) }
    }

    /// The least and the greatest mean before rounding. A step is at most as large as its value, so that the least is positive.
    fn ends(&self) -> (f64, f64) {
        ((self.mean - self.half).max(0.25 * self.mean), self.mean + self.half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::Candidate;
    use crate::run::RunOutcome;
    use std::time::Duration;

    fn printed(values: &[f64], step: f64) -> SampleSet {
        let run =
            |&value| Run::new(Duration::from_secs(1), RunOutcome::measured(value)).with_step(Some(step));
        SampleSet { runs: values.iter().map(run).collect(), ..SampleSet::new(Candidate::new("any")) }
    }

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-8
    }

    #[test]
    fn equal_values_on_both_sides_of_a_boundary_have_the_largest_factor() {
        let rounding = Rounding::of(&printed(&[1.0; 6], 1.0), &printed(&[2.0; 6], 1.0)).unwrap();
        assert!(close(rounding.factor(), 2.0) && close(rounding.factor_of_control(), 3.0));
        let rounding = Rounding::of(&printed(&[12.0; 6], 1.0), &printed(&[11.0; 6], 1.0)).unwrap();
        assert!(close(rounding.factor(), 12.0 / 11.0) && close(rounding.factor_of_control(), 12.5 / 11.5));
        // Units that change with the size: 950.00us and 1.90ms.
        let rounding = Rounding::of(&printed(&[0.95; 6], 1e-5), &printed(&[1.90; 6], 1e-2)).unwrap();
        assert!(close(rounding.factor(), 1.0 + 5.005e-3 / 0.95), "{}", rounding.factor());
    }

    #[test]
    fn widened_interval_has_every_value_before_rounding() {
        let exact = |value| Ratio { value, lower: value, upper: value };
        let rounding = Rounding::of(&printed(&[1.0; 6], 1.0), &printed(&[3.0; 6], 1.0)).unwrap();
        let worse = rounding.widen(exact(1.0 / 3.0), Direction::LowerIsBetter);
        assert!(close(worse.lower, 0.5 / 3.5) && close(worse.upper, 1.5 / 2.5), "{worse:?}");
        let better = rounding.widen(exact(3.0), Direction::HigherIsBetter);
        assert!(close(better.lower, 2.5 / 1.5) && close(better.upper, 3.5 / 0.5), "{better:?}");
        // Neighbours may be equal: the end is 1.
        let rounding = Rounding::of(&printed(&[2.0; 6], 1.0), &printed(&[1.0; 6], 1.0)).unwrap();
        assert!(close(rounding.widen(exact(2.0), Direction::LowerIsBetter).lower, 1.0));
    }

    #[test]
    fn figures_that_are_not_printed_are_not_rounded() {
        let mut plain = printed(&[1.0; 6], 1.0);
        plain.runs.iter_mut().for_each(|run| run.step = None);
        assert_eq!(Rounding::of(&plain, &plain), None);
        assert_eq!(Rounding::of(&plain, &printed(&[], 1.0)), None);
    }
}
