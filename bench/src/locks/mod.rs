//! The locks' part of the table: unspin's locks against glibc's mutexes, read-write locks and spin locks, and against other lock libraries.

mod plan;
mod rwlock;

use crate::quantity::QuantityRow;
use crate::session::SessionSize;

/// All rows.
pub fn rows(extent: &SessionSize) -> Vec<QuantityRow> {
    plan::rows(extent).into_iter().chain(rwlock::rows(extent)).collect()
}

/// What stands above it.
pub const HEADING: &str = "the locks: median of all repetitions";
/// What its words mean.
pub const LEGEND: &str =
    "glibc: its lock, without the preload; control: the same through the preload's hooks.";
