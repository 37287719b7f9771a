//! Sleeping on a word private to the process: a futex, for the locks and for what is built on them. Models use a
//! replacement in which a thread that is never woken shows as a deadlock.
//!
//! Spurious wake-ups happen. Sleepers of one word are woken in order of arrival (real-time threads before others). A
//! sleeper has a bit mask of *sorts*; [`wake_as`] skips sleepers of other sorts (FUTEX_WAKE_BITSET).

#[cfg(any(loom, shuttle))]
pub(crate) mod model;

#[cfg(any(loom, shuttle))]
pub use model::{wait, wake};
#[cfg(any(loom, shuttle))]
pub(crate) use model::{wait_as, wait_shared, wait_shared_for, wake_as, wake_shared, wake_shared_at};
pub use unspin_sys::futex::Wake;
#[cfg(not(any(loom, shuttle)))]
pub use unspin_sys::futex::private::{wait, wake};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use unspin_sys::futex::private::{wait_as, wake_as};

/// Sleeps on a word that other processes may share.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn wait_shared(word: &unspin_sync::atomic::AtomicU32, expected: u32) {
    unspin_sys::futex::wait(word, expected, None);
}

/// [`wait_shared`], at most for this time.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn wait_shared_for(
    word: &unspin_sync::atomic::AtomicU32,
    expected: u32,
    limit: Option<core::time::Duration>,
) -> Wake {
    unspin_sys::futex::wait(word, expected, limit)
}

/// Wakes all sleepers of a word that other processes may share.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn wake_shared(word: &unspin_sync::atomic::AtomicU32) {
    unspin_sys::futex::wake(word, i32::MAX as u32);
}

/// Wakes at most `count` sleepers of such a word. Takes an address because the word may be freed already.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn wake_shared_at(word: *const unspin_sync::atomic::AtomicU32, count: u32) {
    unspin_sys::futex::wake_at(word, count);
}
