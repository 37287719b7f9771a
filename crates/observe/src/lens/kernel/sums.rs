//! Sums of waits.

use super::contention::{ContentionEnd, Wait};

/// Sums of waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sums {
    /// All waits.
    pub waits: u64,
    /// Of these, those that slept at some time.
    pub slept: u64,
    /// Of these, those that ended without the lock.
    pub gave_up: u64,
    /// Nanoseconds from the beginning to the end of these waits, the part before the observed time included.
    pub whole_ns: u64,
    /// Nanoseconds spun in the observed time.
    pub spin_ns: u64,
    /// Nanoseconds slept in the observed time.
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
            gave_up: u64::from(wait.outcome == ContentionEnd::GaveUp),
            whole_ns: wait.spin_ns + wait.sleep_ns,
            spin_ns: wait.spin_ns - wait.added_spin_ns,
            sleep_ns: wait.sleep_ns - wait.added_sleep_ns,
            max_ns: wait.spin_ns + wait.sleep_ns,
        }
    }

    /// The part of a wait that goes on which was not added. The wait is counted when it ends.
    pub fn part(wait: &Wait) -> Sums {
        let Sums { spin_ns, sleep_ns, .. } = Sums::of(wait);
        Sums { spin_ns, sleep_ns, ..Sums::default() }
    }

    /// Adds other waits.
    pub fn merge(&mut self, other: &Sums) {
        self.waits += other.waits;
        self.slept += other.slept;
        self.gave_up += other.gave_up;
        self.whole_ns += other.whole_ns;
        self.spin_ns += other.spin_ns;
        self.sleep_ns += other.sleep_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Nanoseconds waited.
    pub fn wait_ns(&self) -> u64 {
        self.spin_ns + self.sleep_ns
    }
}
