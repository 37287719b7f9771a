//! Sums of waits and of wakes.

use super::call::CallEnd;
use serde::Serialize;

/// Sums of waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct FutexWaits {
    /// All waits.
    pub waits: u64,
    /// Of these, those whose thread was woken.
    pub woken: u64,
    /// Of these, those that did not sleep, because the value had changed (EAGAIN).
    pub value_changed: u64,
    /// Of these, those that a signal ended (EINTR).
    pub interrupted: u64,
    /// Of these, those that ended by their timeout (ETIMEDOUT).
    pub timed_out: u64,
    /// Of these, those that failed.
    pub failed: u64,
    /// Of these, those that had not ended. They count until the end of the observation, or of their thread.
    pub unfinished: u64,
    /// Of the woken, those whose thread waited at the same address again at once.
    pub waited_again: u64,
    /// Nanoseconds waited in the observed time.
    #[serde(skip)]
    pub wait_ns: u64,
    /// Nanoseconds from the beginning to the end of these waits, the part before the observed time included.
    #[serde(skip)]
    pub whole_ns: u64,
    /// The longest wait.
    #[serde(skip)]
    pub max_ns: u64,
}

impl FutexWaits {
    /// One wait that has ended, or none of which only the time until now is known.
    pub fn one(outcome: Option<CallEnd>, wait_ns: u64) -> FutexWaits {
        let mut one =
            FutexWaits { waits: 1, wait_ns, whole_ns: wait_ns, max_ns: wait_ns, ..FutexWaits::default() };
        match outcome {
            Some(CallEnd::Woken) => one.woken = 1,
            Some(CallEnd::ValueChanged) => one.value_changed = 1,
            Some(CallEnd::Interrupted) => one.interrupted = 1,
            Some(CallEnd::TimedOut) => one.timed_out = 1,
            Some(CallEnd::Failed) => one.failed = 1,
            None => one.unfinished = 1,
        }
        one
    }

    /// A part of a wait that goes on: the wait is counted when it ends.
    pub fn part(wait_ns: u64) -> FutexWaits {
        FutexWaits { wait_ns, ..FutexWaits::default() }
    }

    /// Adds other waits.
    pub fn merge(&mut self, other: &FutexWaits) {
        self.waits += other.waits;
        self.woken += other.woken;
        self.value_changed += other.value_changed;
        self.interrupted += other.interrupted;
        self.timed_out += other.timed_out;
        self.failed += other.failed;
        self.unfinished += other.unfinished;
        self.waited_again += other.waited_again;
        self.wait_ns += other.wait_ns;
        self.whole_ns += other.whole_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// Sums of calls that wake threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Wakes {
    /// All calls.
    pub calls: u64,
    /// Threads that they woke, or moved to another futex.
    pub woken: u64,
    /// Calls that woke no thread.
    pub none: u64,
    /// Calls that do not say whether they woke a thread: FUTEX_UNLOCK_PI.
    pub unknown: u64,
}

impl Wakes {
    /// One call that returned the number of threads, or an error.
    pub fn one(returned: i64) -> Wakes {
        let woken = returned.max(0) as u64;
        Wakes { calls: 1, woken, none: u64::from(woken == 0), unknown: 0 }
    }

    /// One FUTEX_UNLOCK_PI, which returns 0, or an error.
    pub fn unlock(returned: i64) -> Wakes {
        match returned {
            0 => Wakes { calls: 1, unknown: 1, ..Wakes::default() },
            _ => Wakes { calls: 1, none: 1, ..Wakes::default() },
        }
    }

    /// Adds other calls.
    pub fn merge(&mut self, other: &Wakes) {
        self.calls += other.calls;
        self.woken += other.woken;
        self.none += other.none;
        self.unknown += other.unknown;
    }
}
