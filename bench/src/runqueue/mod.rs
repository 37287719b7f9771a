//! The run queues' part of the table: unspin's executor with one run queue and with one for each worker, and those of
//! others.

mod plan;

pub use plan::rows;

/// What stands above it.
pub const HEADING: &str = "the run queues: median of all repetitions";
/// What its words mean.
pub const LEGEND: &str = "global, percpu: unspin-runqueue with one run queue, and with one for each worker.";
