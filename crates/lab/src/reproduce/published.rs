//! What a report published: two sides, with their figures and where they stand.

use super::figure::{Figure, Improvement};
use serde::Serialize;
use unspin_stats::Direction;

/// A published comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Published {
    /// What is compared, in a few words.
    pub what: &'static str,
    /// Where the figures stand: the report, and its table or list.
    pub source: &'static str,
    /// Number of CPUs.
    pub cpus: u32,
    /// The unit of the figures.
    pub unit: &'static str,
    /// Which direction is better.
    pub direction: Direction,
    /// The first side.
    pub before: Side,
    /// The second side.
    pub after: Side,
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// The side's name.
    pub name: String,
    /// The side's figure.
    pub figure: Figure,
}

impl Side {
    /// A side.
    pub fn new(name: &str, figure: Figure) -> Side {
        Side { name: name.to_owned(), figure }
    }
}

impl Published {
    /// How many times as good the second side is.
    pub fn improvement(&self) -> Option<Improvement> {
        Improvement::of(&self.before.figure, &self.after.figure, self.direction)
    }
}
