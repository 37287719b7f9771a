//! The kernel's queue: priority-inheriting futexes, or a replacement in models.

#[cfg(any(loom, shuttle))]
mod model;

#[cfg(any(loom, shuttle))]
pub(super) use model::{has_waiters, lock, unlock};
pub(super) use unspin_sys::futex::pi::{OWNER, WAITERS};
#[cfg(not(any(loom, shuttle)))]
pub(super) use unspin_sys::futex::pi::{has_waiters, lock, unlock};
