//! A figure of one side of a comparison: runs, their moments, a single value, or words.

use serde::Serialize;
use unspin_stats::{Direction, Moments, Ratio, welch_ratio};

/// The confidence of the intervals of published ratios; that of [`unspin_stats::Settings`].
const CONFIDENCE: f64 = 0.95;

/// What a source states of one side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Each run.
    Runs(Vec<f64>),
    /// Count, mean and standard deviation of runs that are not listed.
    Moments(Moments),
    /// One value. The source does not state the number of runs behind it.
    Single(f64),
    /// No number.
    Words(&'static str),
}

impl Figure {
    /// The mean; none for words.
    pub fn mean(&self) -> Option<f64> {
        match self {
            Figure::Runs(runs) => Some(runs.iter().sum::<f64>() / runs.len() as f64),
            Figure::Moments(moments) => Some(moments.mean),
            Figure::Single(value) => Some(*value),
            Figure::Words(_) => None,
        }
    }

    /// The moments; none if the source does not say how much the runs vary.
    pub fn moments(&self) -> Option<Moments> {
        match self {
            Figure::Runs(runs) => Moments::of(runs),
            Figure::Moments(moments) => Some(*moments),
            Figure::Single(_) | Figure::Words(_) => None,
        }
    }

    /// Number of runs, if it is known.
    pub fn count(&self) -> Option<u32> {
        match self {
            Figure::Runs(runs) => Some(runs.len() as u32),
            Figure::Moments(moments) => Some(moments.count),
            Figure::Single(_) | Figure::Words(_) => None,
        }
    }
}

/// How many times as good one side is as the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Improvement {
    /// Ratio of the means; above 1 is better.
    pub value: f64,
    /// The ratio with its interval, if the spread of both sides is known.
    pub interval: Option<Ratio>,
}

impl Improvement {
    /// Of two figures; none if one of them is no number, or not positive.
    pub fn of(before: &Figure, after: &Figure, direction: Direction) -> Option<Improvement> {
        let (from, to) = (before.mean()?, after.mean()?);
        if from <= 0.0 || to <= 0.0 {
            return None;
        }
        let interval = before
            .moments()
            .zip(after.moments())
            .and_then(|(before, after)| welch_ratio(&before, &after, direction, CONFIDENCE));
        Some(Improvement { value: direction.times_as_good(to, from), interval })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn improvement_has_an_interval_only_where_the_spread_is_known() {
        let (wide, narrow) = (Figure::Runs(vec![4.0, 4.2]), Figure::Runs(vec![2.0, 2.1]));
        let improvement = Improvement::of(&wide, &narrow, Direction::LowerIsBetter).unwrap();
        assert!((improvement.value - 2.0).abs() < 1e-9 && improvement.interval.is_some());
        let single = Improvement::of(&Figure::Single(4.0), &narrow, Direction::LowerIsBetter).unwrap();
        assert_eq!(single.interval, None);
        assert_eq!(Improvement::of(&Figure::Words("gone"), &narrow, Direction::LowerIsBetter), None);
        assert_eq!(Improvement::of(&Figure::Single(0.0), &narrow, Direction::LowerIsBetter), None);
    }
}
