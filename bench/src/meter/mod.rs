//! The meter's part of the table: the cost and the accuracy of metering.

pub mod check;
mod plan;

pub use plan::rows;

/// What stands above it.
pub const HEADING: &str = "the meter: median of all repetitions";
/// What its words mean.
pub const LEGEND: &str =
    "bare: without the preload; control: with the preload, nothing recorded; added: more than bare.";
