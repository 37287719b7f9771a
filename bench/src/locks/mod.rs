//! The locks' part of the table: unspin's locks against glibc's mutexes and against other lock libraries.

mod plan;

pub use plan::rows;

/// What stands above it.
pub const HEADING: &str = "the locks: median of all repetitions";
/// What its words mean.
pub const LEGEND: &str =
    "glibc: its mutex, without the preload; control: the same through the preload's hooks.";
