//! What a row shows: a figure, or a value computed from the figures of one repetition.

mod figure;
mod row;
pub mod table;

pub use figure::{QuantityFigure, evaluate};
pub use row::{Bound, Note, QuantityRow};

use crate::figure::median;
use crate::measurement::Measurement;
use crate::session::BenchSession;
use std::ops::{Div, Sub};

/// A number for each repetition. Disturbances in a repetition affect both sides of a difference or a ratio.
#[derive(Clone, Debug)]
pub enum Quantity {
    /// One of the figures of a run.
    Figure(Measurement, usize),
    /// The first less the second.
    Difference(Box<Quantity>, Box<Quantity>),
    /// The first over the second.
    Ratio(Box<Quantity>, Box<Quantity>),
    /// By how many percent the first is more than the second.
    PercentMore(Box<Quantity>, Box<Quantity>),
    /// Of several, the one with the highest or lowest median. Not the extreme of each repetition, which noise alone
    /// would make more extreme.
    Extreme(Extreme, Vec<Quantity>),
}

/// Which of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// The one with the highest median.
    Highest,
    /// The one with the lowest.
    Lowest,
}

impl Quantity {
    /// By how many percent it is more than `base`.
    pub fn percent_more_than(self, base: Quantity) -> Quantity {
        Quantity::PercentMore(Box::new(self), Box::new(base))
    }

    /// What has to be measured for it.
    pub fn measurements(&self) -> Vec<&Measurement> {
        match self {
            Quantity::Figure(measurement, _) => vec![measurement],
            Quantity::Difference(a, b) | Quantity::Ratio(a, b) | Quantity::PercentMore(a, b) => {
                [a.measurements(), b.measurements()].concat()
            }
            Quantity::Extreme(_, all) => all.iter().flat_map(Quantity::measurements).collect(),
        }
    }

    /// The quantity's values, by repetition.
    pub fn values(&self, session: &BenchSession) -> Vec<f64> {
        let both = |a: &Quantity, b: &Quantity, f: fn(f64, f64) -> f64| {
            a.values(session).into_iter().zip(b.values(session)).map(|(a, b)| f(a, b)).collect()
        };
        match self {
            Quantity::Figure(measurement, figure) => session.values(measurement, *figure),
            Quantity::Difference(a, b) => both(a, b, |a, b| a - b),
            Quantity::Ratio(a, b) => both(a, b, |a, b| a / b),
            Quantity::PercentMore(a, b) => both(a, b, |a, b| 100.0 * (a / b - 1.0)),
            Quantity::Extreme(which, all) => {
                let all = all.iter().map(|quantity| quantity.values(session));
                let by_median = |a: &Vec<f64>, b: &Vec<f64>| median(a).total_cmp(&median(b));
                let found = match which {
                    Extreme::Highest => all.max_by(by_median),
                    Extreme::Lowest => all.min_by(by_median),
                };
                found.unwrap_or_default()
            }
        }
    }
}

impl Sub for Quantity {
    type Output = Quantity;

    fn sub(self, other: Quantity) -> Quantity {
        Quantity::Difference(Box::new(self), Box::new(other))
    }
}

impl Div for Quantity {
    type Output = Quantity;

    fn div(self, other: Quantity) -> Quantity {
        Quantity::Ratio(Box::new(self), Box::new(other))
    }
}
