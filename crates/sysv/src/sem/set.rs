//! Layout of a semaphore set and its semaphores in shared memory.

use crate::registry::Perm;
use crate::store::list::List;
use crate::sync::lock::Lock;
use unspin_sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Header of a set; its semaphores follow it in memory.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Set {
    /// Key, id, owner and mode, and whether the set is removed.
    pub perm: Perm,
    /// Number of semaphores. Immutable once published.
    pub(crate) nsems: AtomicU32,
    /// Bitwise complement of `nsems`. GETALL writes `nsems` numbers into the program's memory, so it must not trust the
    /// count in an arena that was overwritten. Immutable once published.
    inverse: AtomicU32,
    /// Time of the last successful `semop`, in seconds since the epoch.
    pub otime: AtomicI64,
    /// Time of creation or of the last change by `semctl`, in seconds since the epoch.
    pub ctime: AtomicI64,
    pub(crate) contended: Contended,
}

/// The fields that change as waiters come and go. They have cache lines of their own, apart from the fields that every
/// operation reads.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Contended {
    /// Protects everything below, the lists of the semaphores, and every word whose `SLOW` bit is set.
    pub lock: Lock,
    /// Which semaphores are being overwritten with their tentative values, with their adjustments dropped: see
    /// [`super::overwrite`].
    pub overwriting: AtomicU32,
    /// The pid that the overwritten semaphores get as `sempid`.
    pub overwriter: AtomicU32,
    /// 1 if the engine has no fast path: then all words stay `SLOW`. Immutable once published.
    pub always_slow: AtomicU32,
    /// Number of waiters in all lists.
    pub waiters: AtomicU32,
    /// First semaphore in the list of marked semaphores, as index plus one; 0 if the list is empty.
    pub marked_slow: AtomicU32,
    /// Ticket (order of arrival) of the last waiter.
    pub ticket: AtomicU64,
    /// Counts evaluations, so that scratch values need not be cleared.
    pub round: AtomicU64,
    /// Waiters with several operations, at least one of which changes a value.
    pub complex_alter: List,
    /// Waiters with several operations that only wait for zero.
    pub complex_zero: List,
    /// Offset of the first record of adjustments ([`super::undo_records`]).
    pub records: AtomicU64,
    /// Offset of the first record with an adjustment that is not zero. Derived from the records.
    pub active: AtomicU64,
}

impl Set {
    /// Fills in a new, zeroed set that is not yet published. `now` is in seconds since the epoch.
    pub(super) fn init(&self, nsems: u32, now: i64) {
        // Relaxed: published by the Release store of the set's offset in the table.
        self.nsems.store(nsems, Relaxed);
        self.inverse.store(!nsems, Relaxed);
        self.ctime.store(now, Relaxed);
    }

    /// Number of semaphores; 0 if the two copies of the count do not agree, so that this is not a set.
    #[inline(always)]
    pub fn count(&self) -> usize {
        // Relaxed (both): immutable once published.
        let nsems = self.nsems.load(Relaxed);
        if self.inverse.load(Relaxed) == !nsems { nsems as usize } else { 0 }
    }

    /// The set's own lock.
    pub fn lock(&self) -> &Lock {
        &self.contended.lock
    }

    /// Whether a process has an adjustment that is not zero. Changes only under the lock.
    pub fn has_adjustments(&self) -> bool {
        // Relaxed: only a hint for a caller without the lock.
        self.contended.active.load(Relaxed) != 0
    }

    /// Records the time of a successful operation. It stores only if the time differs, at most once a second, so that
    /// the cache line stays shared between CPUs.
    #[inline(always)]
    pub fn set_otime(&self, now: i64) {
        // Relaxed: a time of day orders nothing.
        if self.otime.load(Relaxed) != now {
            self.otime.store(now, Relaxed);
        }
    }

    /// Records the time of a change by `semctl`.
    pub fn set_ctime(&self, now: i64) {
        // Relaxed: as above.
        self.ctime.store(now, Relaxed);
    }
}

/// One semaphore. It fills one cache line, so that neighbours do not share a line.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Sem {
    /// Value, pid of the last operation, and flag: see [`super::word`].
    pub word: AtomicU64,
    /// Waiters with one operation that decreases this semaphore.
    pub alter: List,
    /// Waiters with one operation that waits for this semaphore to be zero.
    pub zero: List,
    /// Number of operations, over all waiters of the set, that name this semaphore.
    pub named: AtomicU32,
    /// Number of processes with an adjustment for this semaphore that is not zero. Derived from the records.
    pub adjusted: AtomicU32,
    /// Scratch of an evaluation: the `Change` computed so far.
    pub tentative: AtomicU64,
    /// The round in which `tentative` was written. `tentative` is valid only if this is the set's current round.
    pub round: AtomicU64,
    /// Link in the list of marked semaphores. 0: not in the list; `u32::MAX`: last; else index of the next plus one.
    pub next_marked_slow: AtomicU32,
}

/// Size in bytes of a set with `nsems` semaphores.
pub fn bytes(nsems: u32) -> u64 {
    (size_of::<Set>() + nsems as usize * size_of::<Sem>()) as u64
}
