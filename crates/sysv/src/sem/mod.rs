//! System V semaphores.
//!
//! The layers, top down: `calls` checks arguments in the kernel's order, finds sets and takes locks. [`fast`] performs
//! one operation without a lock. [`section`] runs under a set's lock: it decides what becomes of a vector of operations
//! and of the set's waiters. `queue` keeps the lists of waiters. [`redo`] makes changes of several words atomic.
//! [`word`] is one semaphore.
//!
//! Everything except `calls` does not depend on where the set lies: the models run it on the heap.

#[cfg(not(loom))]
pub(crate) mod calls;
mod change;
mod dead_undo;
pub mod fast;
#[cfg(all(test, loom))]
mod models;
mod monitors;
mod op;
mod overwrite;
mod queue;
pub mod redo;
pub mod section;
mod set;
mod space;
#[cfg(all(test, not(loom)))]
mod tests;
mod undo_records;
pub mod word;

pub use crate::participant::wakes::{PendingWake, WakeList};
pub use op::Op;
pub use section::{Performed, SetSection};
pub use set::{Sem, Set};
pub use space::Space;
pub use undo_records::{UndoHeader, UndoRecord};
