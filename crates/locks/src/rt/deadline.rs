//! How long a waiter sleeps: until its timeout, but at most for one *nap*, after which it checks the lock again.

use crate::Until;
use core::time::Duration;

/// How long a waiter sleeps.
pub(super) struct Deadline {
    until: Option<Until>,
    nap: Duration,
}

/// A thread that wakes from a nap loses its place in the kernel's queue, and thousands of napping threads keep a CPU
/// busy. So naps are long and grow. They are needed only when a lock was revoked, which is a program error.
const FIRST_NAP: Duration = Duration::from_millis(50);
const LAST_NAP: Duration = Duration::from_millis(400);

impl Deadline {
    pub(super) fn new(until: Option<Until>) -> Deadline {
        Deadline { until, nap: FIRST_NAP }
    }

    /// The latest end of the next sleep. Models have no naps: there a sleeper that depends on a nap deadlocks.
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

    /// Whether the caller's timeout has passed.
    pub(super) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| cfg!(any(loom, shuttle)) || until.is_over())
    }
}
