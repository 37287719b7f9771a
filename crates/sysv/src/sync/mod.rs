//! Locks in shared memory, and wake-ups of the threads that sleep there.

pub(crate) mod lock;
pub(crate) mod lock_count;

#[cfg(loom)]
#[path = "models/futex.rs"]
pub(crate) mod futex;
#[cfg(not(loom))]
pub(crate) use unspin_sys::futex;
