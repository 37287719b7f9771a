//! What can be recorded: one use of a lock, or a named occurrence that is counted.

use crate::kind::Kind;
use serde::{Deserialize, Serialize};

/// Where a sample belongs: a lock, and the place that took it.
///
/// Both are opaque to the meter; whoever records decides what they stand for and can name them afterwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    /// The lock: a [`Kind`] in the top byte, below it its address or whatever tells it from others. 0 is no lock: a
    /// sample for it is counted as not recorded.
    pub lock: u64,
    /// Who took it: a return address, or whatever tells it from others.
    pub caller: u64,
}

impl Key {
    /// The key of an object at an address, used by the code before `caller`.
    #[inline(always)]
    pub const fn new(kind: Kind, address: usize, caller: usize) -> Key {
        Key { lock: (kind as u64) << 56 | address as u64 & ADDRESS, caller: caller as u64 }
    }

    /// The kind, if the top byte is one.
    pub fn kind(&self) -> Option<Kind> {
        Kind::from_byte((self.lock >> 56) as u8)
    }

    /// The address; 0 for the row that takes up what had no room (see [`Table::publish`](crate::Table::publish)).
    pub fn address(&self) -> u64 {
        self.lock & ADDRESS
    }
}

/// Addresses of user space have 47 bits, with five-level paging 56.
const ADDRESS: u64 = (1 << 56) - 1;

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
    /// A lock released by another thread than the one that took it.
    HandedOver = 4,
    /// A release of a lock that no thread was seen to take.
    Unmatched = 5,
    /// A hold that was not followed: its thread held too many locks at once.
    Crowded = 6,
}

impl Event {
    /// Every event, in the order of the discriminants.
    pub const ALL: [Event; 7] = [
        Event::FastPath,
        Event::Blocked,
        Event::HandOff,
        Event::GracePeriod,
        Event::HandedOver,
        Event::Unmatched,
        Event::Crowded,
    ];

    /// What the reports call it.
    pub const fn name(self) -> &'static str {
        match self {
            Event::FastPath => "operations without a lock",
            Event::Blocked => "operations that blocked",
            Event::HandOff => "hand-offs",
            Event::GracePeriod => "grace periods",
            Event::HandedOver => "locks released by another thread",
            Event::Unmatched => "releases of locks that nobody was seen to take",
            Event::Crowded => "holds that were not timed: their threads held too many locks at once",
        }
    }
}
