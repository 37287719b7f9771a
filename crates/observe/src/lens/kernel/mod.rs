//! The kernel's own locks: waits for spin locks, mutexes, semaphores and read-write locks inside the kernel.
//!
//! `lens` takes in the events, `contention` pairs them, `naming` names locks and callers, `report` has the result as data,
//! `table` as text; `timeline` has the waits with their times.

mod contention;
mod flags;
mod lens;
mod naming;
mod report;
mod sums;
mod table;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod timeline;

pub use lens::KernelLens;
pub use naming::functions;
pub use report::KernelReport;
