//! Sleeping on a word of the process's own: the futex, or in models something in its place that shows whoever is never
//! woken as a deadlock.
//!
//! Spurious returns happen. Sleepers of one word are woken in order of arrival (real-time threads before others), and those
//! of other *sorts* (bits) are passed over by [`wake_as`].

#[cfg(any(loom, shuttle))]
pub(crate) mod model;

#[cfg(any(loom, shuttle))]
pub(crate) use model::{wait, wait_as, wait_shared, wake, wake_as, wake_shared};
pub(crate) use unspin_sys::futex::Wake;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use unspin_sys::futex::private::{wait, wait_as, wake, wake_as};

/// Sleeps on a word that other processes may share.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn wait_shared(word: &unspin_sync::atomic::AtomicU32, expected: u32) {
    unspin_sys::futex::wait(word, expected, None);
}

/// Wakes all sleepers of such a word.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn wake_shared(word: &unspin_sync::atomic::AtomicU32) {
    unspin_sys::futex::wake(word, i32::MAX as u32);
}
