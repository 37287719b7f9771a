//! What can be recorded: a use of a lock, or an event that is counted.

use crate::kind::RecordKind;

/// Identifies a row: a lock, and the code that took it.
///
/// Both values are opaque to the meter. The recording code chooses their meaning, and can name them later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    /// The lock: a [`RecordKind`] in the top byte, and below it the lock's address or another unique number. 0 is no
    /// lock: a sample for it is counted as not recorded.
    pub lock: u64,
    /// The caller: a return address or another unique number.
    pub caller: u64,
}

impl Key {
    /// The key of an object at a user-space address, used by the code before `caller`.
    #[inline(always)]
    pub const fn new(kind: RecordKind, address: usize, caller: usize) -> Key {
        Key { lock: (kind as u64) << 56 | address as u64, caller: caller as u64 }
    }

    /// The kind, if the top byte is one.
    pub fn kind(&self) -> Option<RecordKind> {
        RecordKind::from_byte((self.lock >> 56) as u8)
    }

    /// The address; 0 for the row that sums up keys that did not fit (see [`Table::publish`](crate::Table::publish)).
    pub fn address(&self) -> u64 {
        self.lock & ADDRESS
    }
}

/// A user-space address has 47 bits, with five-level paging 56.
const ADDRESS: u64 = (1 << 56) - 1;

/// Result of one attempt at a lock. The discriminants are part of the recording's format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum AttemptOutcome {
    /// Acquired at once; includes a successful trylock.
    NoWait = 0,
    /// Acquired after spinning only.
    Spun = 1,
    /// Acquired after sleeping, with or without spinning before.
    Slept = 2,
    /// Not acquired: a trylock that failed, or a wait that ended without the lock.
    Rejected = 3,
}

impl AttemptOutcome {
    /// Every outcome, in the order of the discriminants.
    pub const ALL: [AttemptOutcome; 4] =
        [AttemptOutcome::NoWait, AttemptOutcome::Spun, AttemptOutcome::Slept, AttemptOutcome::Rejected];
}

/// One attempt at a lock, recorded after the release (or after the refusal). Times are in
/// [ticks](unspin_sys::clock::ticks).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The result.
    pub outcome: AttemptOutcome,
    /// From acquisition to release; 0 if refused.
    pub hold: u64,
    /// Time spent spinning before the acquisition, on a CPU.
    pub spun: u64,
    /// Time spent asleep before the acquisition, off the CPU.
    pub slept: u64,
}

/// Events that are counted beside the samples, as an independent check of the times: a few words per thread, no
/// clock. The discriminants are part of the recording's format, which has room for 16.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Event {
    /// An operation done without any lock.
    FastPath = 0,
    /// An operation that could not proceed and waited for its condition. This is not a wait for a lock.
    Blocked = 1,
    /// A waiter's operation performed on its behalf by another thread.
    HandOff = 2,
    /// A grace period that was waited for or polled to its end.
    GracePeriod = 3,
    /// A lock released by a different thread than the one that acquired it.
    ForeignUnlock = 4,
    /// A release of a lock whose acquisition was not seen.
    Unmatched = 5,
    /// A hold that was not followed because the thread held too many locks at once.
    HeldListFull = 6,
    /// A seccomp filter that a thread installed. What came after it is recorded in part only.
    SeccompFilter = 7,
    /// A thread of which level `auto` times only some holds of frequent locks from now on.
    Sampled = 8,
}

impl Event {
    /// Every event, in the order of the discriminants.
    pub const ALL: [Event; 9] = [
        Event::FastPath,
        Event::Blocked,
        Event::HandOff,
        Event::GracePeriod,
        Event::ForeignUnlock,
        Event::Unmatched,
        Event::HeldListFull,
        Event::SeccompFilter,
        Event::Sampled,
    ];

    /// The event's name in the reports.
    pub const fn name(self) -> &'static str {
        match self {
            Event::FastPath => "operations without a lock",
            Event::Blocked => "operations that blocked",
            Event::HandOff => "hand-offs",
            Event::GracePeriod => "grace periods",
            Event::ForeignUnlock => "locks released by another thread",
            Event::Unmatched => "releases of locks that nobody was seen to take",
            Event::HeldListFull => "holds that were not timed: their threads held too many locks at once",
            Event::SeccompFilter => {
                "seccomp filters: locks, callers and threads that came after one are not recorded"
            }
            Event::Sampled => {
                "threads that took locks so often that of frequent locks one hold in 16 was timed"
            }
        }
    }
}
