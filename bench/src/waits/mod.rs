//! The waits' part of the table: programs that poll before they sleep, against the same programs through hooks that do
//! not poll.

mod kit;
mod plan;

pub use kit::Kit;
pub use plan::rows;

/// What stands above it.
pub const HEADING: &str = "the waits: median of all repetitions";
/// What its words mean.
pub const LEGEND: &str = "system: under run --waits system, the same hooks with nothing polled; poll: under run --waits poll.\nTimes as fast: poll over system. CPU: time of all processes for a unit of work, start included, as a\nmultiple of system's. Planted: policies whose loss must show (blind over bare; forced over system).";
