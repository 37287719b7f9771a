//! Compares stored results of `unspin prove`: did the program become slower, is the gain the same elsewhere.
//!
//! Two quantities can be compared. *Figures* are the values of the metric of one configuration, such as seconds of wall time: they
//! compare sessions of one machine. *Gains* are a candidate's ratios to the control of its own session: they also compare
//! sessions of different machines. [`unspin_results::Basis`] says which of the two decides.
//!
//! 1. [`Session`] is a stored result with the name of its file; each side has one or several.
//! 2. [`compare`] refuses sides that say nothing about each other ([`Incomparable`]), and lists what limits the others.
//! 3. The statistics are those of [`unspin_stats::independent`].
//! 4. `gate` decides for a CI job.
//! 5. [`Text`] and [`Markdown`] show the result, an [`unspin_results::ResultComparison`]: its fields are the JSON document of
//!    docs/compare-json.md.
#![forbid(unsafe_code)]

mod comparability;
mod compared;
mod cpu_change;
mod floor;
mod gate;
mod markdown;
mod options;
mod result;
mod session;
mod table;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;
mod units;
mod warnings;
mod wording;

pub use comparability::Incomparable;
pub use markdown::Markdown;
pub use options::CompareOptions;
pub use result::compare;
pub use session::Session;
pub use text::Text;
