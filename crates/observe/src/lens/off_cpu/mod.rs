//! Where the threads' time goes: on a CPU, runnable without one, or blocked, and for what.
//!
//! `lens` follows the states of threads, `states` has the states of one, `reason` says for what a thread blocked, `report`
//! has the result as data, `table` as text. `kept_waits` keeps the longest waits, `timeline` names them.

mod kept_waits;
mod lens;
mod reason;
mod report;
mod states;
mod table;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod timeline;

pub use lens::OffCpuLens;
pub use report::OffCpuReport;
