//! Until when a waiter sleeps: until its time is over, but at most for a nap, after which it looks around.

use crate::Until;
use core::time::Duration;

/// See the module.
pub(super) struct Deadline {
    until: Option<Until>,
    nap: Duration,
}

/// Who wakes from a nap has lost its place in the kernel's queue, and thousands that nap keep a CPU busy. So naps are long, and
/// become longer: they are for those whose lock was revoked, which is a mistake of the program's.
const FIRST_NAP: Duration = Duration::from_millis(50);
const LAST_NAP: Duration = Duration::from_millis(400);

impl Deadline {
    pub(super) fn new(until: Option<Until>) -> Deadline {
        Deadline { until, nap: FIRST_NAP }
    }

    /// When the next sleep ends at the latest. Models nap never: there a sleeper that needs a nap is lost.
    pub(super) fn next(&mut self) -> Option<Until> {
        if cfg!(any(loom, shuttle)) {
            return self.until;
        }
        let nap = self.nap;
        self.nap = (nap * 2).min(LAST_NAP);
        match self.until {
            None => Some(Until::after(nap)),
            Some(until) => Some(Until { clock: until.clock, at: until.at.min(until.clock.now() + nap) }),
        }
    }

    /// Whether the thread's own time is over.
    pub(super) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| cfg!(any(loom, shuttle)) || until.is_over())
    }
}
