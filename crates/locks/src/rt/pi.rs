//! The kernel's queue: futexes that inherit priority, or in models something in their place.

#[cfg(any(loom, shuttle))]
mod model;

#[cfg(any(loom, shuttle))]
pub(super) use model::{has_waiters, lock, unlock};
pub(super) use unspin_sys::futex::pi::{OWNER, WAITERS};
#[cfg(not(any(loom, shuttle)))]
pub(super) use unspin_sys::futex::pi::{has_waiters, lock, unlock};
