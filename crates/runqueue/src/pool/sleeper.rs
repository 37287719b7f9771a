//! What a worker does while it has no task.

use crate::pool::Parker;
use unspin_waiting::SiteHistory;

/// How idle workers spend their time.
pub trait Sleeper: Send + Sync {
    /// Waits without sleeping until `is_ready` returns true, for as long as that pays. Only one worker at a time does
    /// so, most of the time. The history tells whether this has paid for the worker.
    fn linger(&self, history: &SiteHistory, is_ready: &mut dyn FnMut() -> bool);

    /// Sleeps until the worker is unparked, and takes the notification: by [`Parker::park`], or by
    /// [`Parker::enter_driver`] and [`Parker::leave_driver`]. It may return before.
    fn sleep(&self, history: &SiteHistory, parker: &Parker) -> Slept;

    /// Interrupts a worker that sleeps in a driver, or is about to.
    fn interrupt(&self);
}

/// Why a worker no longer sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slept {
    /// It was unparked.
    Unparked,
    /// Something else: a driver has events. Tasks may have been pushed to the worker's queue.
    Early,
}

/// Sleeps on a futex at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct FutexSleeper;

impl Sleeper for FutexSleeper {
    fn linger(&self, _: &SiteHistory, _: &mut dyn FnMut() -> bool) {}

    fn sleep(&self, _: &SiteHistory, parker: &Parker) -> Slept {
        parker.park();
        Slept::Unparked
    }

    fn interrupt(&self) {
        unreachable!("no worker sleeps in a driver")
    }
}
