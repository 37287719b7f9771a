//! Waits in futex(2) and its variants. All libraries and runtimes that put threads to sleep in user space use them.
//!
//! `call` decodes the system calls, `lens` joins their beginnings and ends, `sums` adds them up, `report` has the result as
//! data, `table` as text. `kept_waits` keeps the longest waits, `timeline` names them.

mod call;
mod folded;
mod futex_use;
mod kept_waits;
mod lens;
mod origin;
mod parked;
mod recent_wakes;
mod report;
mod sums;
mod table;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod timeline;

pub use lens::FutexLens;
pub use report::FutexReport;
