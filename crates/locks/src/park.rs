//! Sleeping on a word of the process's own: the futex, or in models something in its place that shows whoever is never
//! woken as a deadlock.
//!
//! Spurious returns happen. Sleepers of one word are woken in order of arrival (real-time threads before others), and those
//! of other *sorts* (bits) are passed over by [`wake_as`].

#[cfg(any(loom, shuttle))]
mod model;

#[cfg(any(loom, shuttle))]
pub(crate) use model::{wait, wait_as, wake, wake_as};
pub(crate) use unspin_sys::futex::Wake;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use unspin_sys::futex::private::{wait, wait_as, wake, wake_as};
