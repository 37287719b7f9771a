//! Sums of waits.

use super::contention::{Outcome, Wait};

/// Sums of waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sums {
    /// All waits.
    pub waits: u64,
    /// Of these, those that slept at some time.
    pub slept: u64,
    /// Of these, those that ended without the lock.
    pub gave_up: u64,
    /// Nanoseconds spun.
    pub spin_ns: u64,
    /// Nanoseconds slept.
    pub sleep_ns: u64,
    /// The longest wait.
    pub max_ns: u64,
}

impl Sums {
    /// Of one wait.
    pub fn of(wait: &Wait) -> Sums {
        Sums {
            waits: 1,
            slept: u64::from(wait.sleep_ns > 0),
            gave_up: u64::from(wait.outcome == Outcome::GaveUp),
            spin_ns: wait.spin_ns,
            sleep_ns: wait.sleep_ns,
            max_ns: wait.spin_ns + wait.sleep_ns,
        }
    }

    /// Adds other waits.
    pub fn merge(&mut self, other: &Sums) {
        self.waits += other.waits;
        self.slept += other.slept;
        self.gave_up += other.gave_up;
        self.spin_ns += other.spin_ns;
        self.sleep_ns += other.sleep_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Nanoseconds waited.
    pub fn wait_ns(&self) -> u64 {
        self.spin_ns + self.sleep_ns
    }
}
