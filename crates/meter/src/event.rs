//! What can be recorded: one use of a lock, or a named occurrence that is counted.

use serde::{Deserialize, Serialize};

/// Where a sample belongs: a lock, and the place that took it.
///
/// Both are opaque to the meter; whoever records decides what they stand for and can name them afterwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    /// The lock. The top byte tells name spaces apart (`0x01`: the System V engine). 0 is no lock: a sample
    /// for it is counted as not recorded.
    pub lock: u64,
    /// Who took it.
    pub caller: u64,
}

/// How one attempt at a lock went. The discriminants are part of the recording's format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Outcome {
    /// Taken at once; a successful try-lock too.
    NoWait = 0,
    /// Taken after spinning only.
    Spun = 1,
    /// Taken after sleeping, whether or not it spun before.
    Slept = 2,
    /// Not taken: a try-lock that found it held, or a wait that was given up.
    Rejected = 3,
}

impl Outcome {
    /// Every outcome, in the order of the discriminants.
    pub const ALL: [Outcome; 4] = [Outcome::NoWait, Outcome::Spun, Outcome::Slept, Outcome::Rejected];
}

/// One attempt at a lock, recorded after it was released (or refused). Times are in
/// [ticks](unspin_sys::clock::ticks).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// How it went.
    pub outcome: Outcome,
    /// From acquisition to release; 0 if refused.
    pub hold: u64,
    /// Spent spinning before that, on a CPU.
    pub spun: u64,
    /// Spent asleep before that, off the CPU.
    pub slept: u64,
}

/// Occurrences that are counted beside the samples, as a second witness to the times: a few words per
/// thread, no clock. The discriminants are part of the recording's format, which has room for 16.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(usize)]
pub enum Event {
    /// An operation done without any lock.
    FastPath = 0,
    /// An operation that could not proceed and waited for its condition, which is not waiting for a lock.
    Blocked = 1,
    /// A waiter's operation done on its behalf by another thread.
    HandOff = 2,
    /// A grace period waited for or driven to its end.
    GracePeriod = 3,
}

impl Event {
    /// Every event, in the order of the discriminants.
    pub const ALL: [Event; 4] = [Event::FastPath, Event::Blocked, Event::HandOff, Event::GracePeriod];

    /// What the reports call it.
    pub const fn name(self) -> &'static str {
        match self {
            Event::FastPath => "operations without a lock",
            Event::Blocked => "operations that blocked",
            Event::HandOff => "hand-offs",
            Event::GracePeriod => "grace periods",
        }
    }
}
