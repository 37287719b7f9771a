//! The sleep of one worker, and its wake-up.

use unspin_locks::park;
use unspin_sync::atomic::{AtomicU32, Ordering};

/// A worker sleeps until it has been unparked. An unpark before the sleep is not lost: the sleep ends at once.
#[derive(Debug)]
pub struct Parker {
    /// One of the states below, and the futex on which the worker sleeps.
    state: AtomicU32,
}

/// The worker is awake, and no unpark has come. Set by the worker.
const AWAKE: u32 = 0;
/// The worker sleeps on the futex, or is about to. Set by the worker.
const ON_FUTEX: u32 = 1;
/// The worker sleeps in a driver, or is about to. Set by the worker.
const IN_DRIVER: u32 = 2;
/// An unpark has come. Set by other threads, cleared by the worker.
const NOTIFIED: u32 = 3;

/// What has to be done so that an unpark reaches the worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Reached {
    /// Nothing: it is awake, or is being woken by the futex.
    Yes,
    /// The driver in which it sleeps has to be interrupted.
    SleepsInDriver,
}

impl Parker {
    pub(crate) fn new() -> Parker {
        Parker { state: AtomicU32::new(AWAKE) }
    }

    /// Sleeps until the worker has been unparked, and takes the notification.
    pub fn park(&self) {
        if self.announce(ON_FUTEX) {
            // Acquire: partner of the Release in `unpark`.
            while self.state.load(Ordering::Acquire) == ON_FUTEX {
                park::wait(&self.state, ON_FUTEX, None);
            }
        }
        self.take();
    }

    /// Sleeps until the worker has been unparked, at most for this time. Returns whether it was, and then takes the
    /// notification.
    #[cfg(not(any(loom, shuttle)))]
    pub fn park_for(&self, time: core::time::Duration) -> bool {
        if self.announce(ON_FUTEX) {
            let until = unspin_locks::Until::after(time);
            // Acquire: partner of the Release in `unpark`.
            while self.state.load(Ordering::Acquire) == ON_FUTEX && !until.is_over() {
                park::wait(&self.state, ON_FUTEX, Some(until));
            }
        }
        // Acquire: as above.
        self.state.swap(AWAKE, Ordering::Acquire) == NOTIFIED
    }

    /// Announces a sleep in a driver, which [`unpark`](Parker::unpark) then asks to be interrupted. False: an unpark
    /// has come already. After the sleep the worker calls [`leave_driver`](Parker::leave_driver).
    pub fn enter_driver(&self) -> bool {
        self.announce(IN_DRIVER)
    }

    /// Ends a sleep in a driver. Returns whether an unpark has come.
    pub fn leave_driver(&self) -> bool {
        // Acquire: partner of the Release in `unpark`. An unpark from now on does not interrupt the driver.
        self.state.swap(AWAKE, Ordering::Acquire) == NOTIFIED
    }

    fn announce(&self, sleep: u32) -> bool {
        // Acquire on failure: partner of the Release in `unpark`. Relaxed on success: nothing is read.
        self.state.compare_exchange(AWAKE, sleep, Ordering::Relaxed, Ordering::Acquire).is_ok()
    }

    fn take(&self) {
        // Acquire: partner of the Release in `unpark`, of which there may have been another one since.
        self.state.swap(AWAKE, Ordering::Acquire);
    }

    /// Ends the worker's sleep, or its next one.
    pub fn unpark(&self) -> Reached {
        // Release: partner of the Acquire loads of the worker.
        match self.state.swap(NOTIFIED, Ordering::Release) {
            ON_FUTEX => _ = park::wake(&self.state, 1),
            IN_DRIVER => return Reached::SleepsInDriver,
            _ => {}
        }
        Reached::Yes
    }
}
