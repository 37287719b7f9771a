//! A row of the table: a quantity and its goal.

use super::Quantity;
use crate::measurement::Measurement;
use serde::Serialize;

/// What the figure is to be.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
}

/// One figure.
#[derive(Clone, Debug)]
pub struct QuantityRow {
    /// What is measured.
    pub name: String,
    /// The row's unit.
    pub unit: &'static str,
    /// The figure.
    pub quantity: Quantity,
    /// What it is to be.
    pub bound: Option<Bound>,
    /// What else is shown.
    pub notes: Vec<Note>,
    /// Why it cannot be measured here.
    pub missing: Option<String>,
}

/// Another figure, beneath the row's.
#[derive(Clone, Debug)]
pub struct Note {
    /// What it is.
    pub name: String,
    /// The figure.
    pub quantity: Quantity,
    /// The row's unit, with a space before it.
    pub unit: &'static str,
}

impl Note {
    /// A note.
    pub fn new(name: impl Into<String>, quantity: Quantity, unit: &'static str) -> Note {
        Note { name: name.into(), quantity, unit }
    }
}

impl QuantityRow {
    /// Everything that the row shows.
    pub fn measurements(&self) -> impl Iterator<Item = &Measurement> {
        let notes = self.notes.iter().flat_map(|note| note.quantity.measurements());
        self.quantity.measurements().into_iter().chain(notes).filter(|_| self.missing.is_none())
    }
}
