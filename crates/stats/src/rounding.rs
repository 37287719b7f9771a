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

/// The printed figures of both sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    control: RoundedMean,
    candidate: RoundedMean,
}

/// What rounding can do to a ratio, as factors of at least 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundingBounds {
    /// By how much it can have moved the ratio away from 1: a ratio within it may be one of two sides that are equal before rounding.
    pub factor: f64,
    /// How many times smaller the ratio may be before rounding.
    pub smaller: f64,
    /// How many times larger it may be.
    pub larger: f64,
}

/// A mean of printed figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundedMean {
    mean: f64,
    /// How far it may be from the mean before rounding.
    half: f64,
}

impl Rounding {
    /// Of the rounds in which both have a value. `None` without such rounds, or if no figure was printed.
    pub fn of(control: &SampleSet, candidate: &SampleSet) -> Option<Rounding> {
        let rounds = control.runs.iter().zip(&candidate.runs);
        let both =
            rounds.filter(|(control, candidate)| control.value().is_some() && candidate.value().is_some());
        let (control, candidate): (Vec<&Run>, Vec<&Run>) = both.unzip();
        let rounding =
            Rounding { control: RoundedMean::of(control)?, candidate: RoundedMean::of(candidate)? };
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

    /// What it can do to "how many times as good as the control".
    pub fn bounds(&self, direction: Direction) -> RoundingBounds {
        let gain = times_as_good(self.control, self.candidate, direction);
        RoundingBounds {
            factor: self.factor(),
            smaller: gain.value / gain.lower * (1.0 + SLACK),
            larger: gain.upper / gain.value * (1.0 + SLACK),
        }
    }
}

impl RoundingBounds {
    /// Of the quotient of two values, `after` by `before`, whose ends are those before rounding. `None` if neither was printed.
    pub(crate) fn of_quotient(before: Ratio, after: Ratio) -> Option<RoundingBounds> {
        let is_printed = [before, after].iter().any(|side| side.lower < side.upper);
        is_printed.then(|| {
            RoundingBounds::of_ratio(Ratio {
                value: after.value / before.value,
                lower: after.lower / before.upper,
                upper: after.upper / before.lower,
            })
        })
    }

    /// Of the geometric mean of the rounds' ratios. A run of few units counts there as much as one of many, so a few disturbed rounds do
    /// not hide the rounding of the others, as they do in an arithmetic mean. `None` without rounds, or if no figure was printed.
    pub fn of_rounds(
        control: &SampleSet,
        candidate: &SampleSet,
        direction: Direction,
    ) -> Option<RoundingBounds> {
        let ratios = rounded_rounds(control, candidate);
        let ratios = ratios.map(|(control, candidate)| times_as_good(control, candidate, direction));
        geometric_mean(ratios).map(RoundingBounds::of_ratio)
    }

    /// The same for two sets of runs of the control, of which neither is the better one: the factor is that between two values that
    /// are both printed like the control's.
    pub fn of_rounds_of_pair(
        control: &SampleSet,
        again: &SampleSet,
        direction: Direction,
    ) -> Option<RoundingBounds> {
        let values = rounded_rounds(control, again).map(|(control, _)| {
            let (lower, upper) = control.ends();
            Ratio { value: control.mean, lower, upper }
        });
        let values = geometric_mean(values)?;
        let bounds = RoundingBounds::of_rounds(control, again, direction)?;
        Some(RoundingBounds { factor: values.upper / values.lower, ..bounds })
    }

    /// Of a ratio whose ends are those before rounding.
    fn of_ratio(Ratio { value, lower, upper }: Ratio) -> RoundingBounds {
        let (smaller, larger) = (value / lower * (1.0 + SLACK), upper / value * (1.0 + SLACK));
        // What brings the ratio to 1.
        let factor = if value >= 1.0 { smaller } else { larger };
        RoundingBounds { factor, smaller, larger }
    }

    /// The bounds that hold for both.
    pub(crate) fn widest(self, other: RoundingBounds) -> RoundingBounds {
        RoundingBounds {
            factor: self.factor.max(other.factor),
            smaller: self.smaller.max(other.smaller),
            larger: self.larger.max(other.larger),
        }
    }

    /// The ratio with an interval that has all values before rounding.
    pub(crate) fn widen(&self, ratio: Ratio) -> Ratio {
        Ratio { lower: ratio.lower / self.smaller, upper: ratio.upper * self.larger, ..ratio }
    }
}

impl RoundedMean {
    /// A mean that no rounding has changed.
    pub(crate) const ONE: RoundedMean = RoundedMean { mean: 1.0, half: 0.0 };

    /// Of the runs that have a value; `None` if none has.
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Option<RoundedMean> {
        let measured = runs.into_iter().filter_map(|run| Some((run.value()?, 0.5 * run.step.unwrap_or(0.0))));
        let (values, halves): (Vec<f64>, Vec<f64>) = measured.unzip();
        (!values.is_empty()).then(|| RoundedMean { mean: mean(&values), half: mean(&halves) })
    }

    /// The least and the greatest mean before rounding. The least is positive, as the values were, also where a step is larger than
    /// the mean.
    fn ends(&self) -> (f64, f64) {
        ((self.mean - self.half).max(0.25 * self.mean), self.mean + self.half)
    }
}

/// The printed figures of each round in which both sides have one.
fn rounded_rounds<'a>(
    control: &'a SampleSet,
    candidate: &'a SampleSet,
) -> impl Iterator<Item = (RoundedMean, RoundedMean)> + 'a {
    let rounds = control.runs.iter().zip(&candidate.runs);
    rounds
        .filter_map(|(control, candidate)| Some((RoundedMean::of([control])?, RoundedMean::of([candidate])?)))
}

/// The geometric mean of values, and of their ends. `None` without values, or if no ends differ.
fn geometric_mean(values: impl Iterator<Item = Ratio>) -> Option<Ratio> {
    let values: Vec<Ratio> = values.collect();
    let of = |part: fn(&Ratio) -> f64| {
        let logs: Vec<f64> = values.iter().map(|value| part(value).ln()).collect();
        mean(&logs).exp()
    };
    let is_printed = values.iter().any(|value| value.lower < value.upper);
    is_printed.then(|| Ratio { value: of(|v| v.value), lower: of(|v| v.lower), upper: of(|v| v.upper) })
}

/// How many times as good the candidate is, between the ends before rounding.
pub(crate) fn times_as_good(control: RoundedMean, candidate: RoundedMean, direction: Direction) -> Ratio {
    let value = direction.times_as_good(candidate.mean, control.mean);
    let (control, candidate) = (control.ends(), candidate.ends());
    let (lower, upper) = match direction {
        Direction::LowerIsBetter => (control.0 / candidate.1, control.1 / candidate.0),
        Direction::HigherIsBetter => (candidate.0 / control.1, candidate.1 / control.0),
    };
    Ratio { value, lower, upper }
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
        let worse = rounding.bounds(Direction::LowerIsBetter).widen(exact(1.0 / 3.0));
        assert!(close(worse.lower, 0.5 / 3.5) && close(worse.upper, 1.5 / 2.5), "{worse:?}");
        let better = rounding.bounds(Direction::HigherIsBetter).widen(exact(3.0));
        assert!(close(better.lower, 2.5 / 1.5) && close(better.upper, 3.5 / 0.5), "{better:?}");
        // Neighbours may be equal: the end is 1.
        let rounding = Rounding::of(&printed(&[2.0; 6], 1.0), &printed(&[1.0; 6], 1.0)).unwrap();
        assert!(close(rounding.bounds(Direction::LowerIsBetter).widen(exact(2.0)).lower, 1.0));
    }

    #[test]
    fn quotient_of_gains_is_known_to_the_digits_of_all_four() {
        let gain = |control: f64, candidate: f64| {
            let mean = |value| RoundedMean::of(&printed(&[value; 6], 1.0).runs).unwrap();
            times_as_good(mean(control), mean(candidate), Direction::LowerIsBetter)
        };
        let bounds = RoundingBounds::of_quotient(gain(12.0, 3.0), gain(12.0, 2.0)).unwrap();
        // 11.5 / 2.5 by 12.5 / 2.5.
        assert!(close(1.5 / bounds.smaller, 11.5 / 12.5) && bounds.factor == bounds.smaller, "{bounds:?}");
        assert!(close(1.5 * bounds.larger, (12.5 / 1.5) / (11.5 / 3.5)), "{bounds:?}");
        let exact = Ratio { value: 2.0, lower: 2.0, upper: 2.0 };
        assert_eq!(RoundingBounds::of_quotient(exact, exact), None);
        let worse = RoundingBounds::of_quotient(gain(12.0, 2.0), gain(12.0, 3.0)).unwrap();
        assert_eq!(worse.factor, worse.larger);
    }

    #[test]
    fn disturbed_round_does_not_hide_the_rounding_of_the_others() {
        let [mut control, mut candidate] = [[1.0; 20], [2.0; 20]];
        (control[7], candidate[7]) = (50.0, 50.0);
        let sides = (printed(&control, 1.0), printed(&candidate, 1.0));
        let bounds = RoundingBounds::of_rounds(&sides.0, &sides.1, Direction::LowerIsBetter).unwrap();
        // The values before rounding may all have been equal: 1.5 in the 19 rounds.
        assert!(bounds.factor >= 2f64.powf(0.95), "{bounds:?}");
        let exact = 0.5f64.powf(0.95);
        let widened = bounds.widen(Ratio { value: exact, lower: exact, upper: exact });
        assert!(widened.upper >= 1.0 && widened.lower <= 0.2f64.powf(0.95), "{widened:?}");
        let pair = RoundingBounds::of_rounds_of_pair(&sides.0, &sides.0, Direction::LowerIsBetter).unwrap();
        assert!(pair.factor >= 3f64.powf(0.95) && pair.factor < 3.0, "{pair:?}");
    }

    #[test]
    fn figures_that_are_not_printed_are_not_rounded() {
        let mut plain = printed(&[1.0; 6], 1.0);
        plain.runs.iter_mut().for_each(|run| run.step = None);
        assert_eq!(Rounding::of(&plain, &plain), None);
        assert_eq!(Rounding::of(&plain, &printed(&[], 1.0)), None);
        assert_eq!(RoundingBounds::of_rounds(&plain, &plain, Direction::LowerIsBetter), None);
        assert_eq!(RoundingBounds::of_rounds(&plain, &printed(&[], 1.0), Direction::LowerIsBetter), None);
    }
}
