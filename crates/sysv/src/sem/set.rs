//! A semaphore set and its semaphores, as they lie in shared memory.

use crate::ipc::Perm;
use crate::list::List;
use crate::lock::Lock;
use unspin_sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Header of a set; its semaphores follow it in memory.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Set {
    /// Key, id, owner, mode; and whether the set is removed.
    pub perm: Perm,
    /// Semaphores. Immutable once published.
    pub(crate) nsems: AtomicU32,
    /// The inverse of that: GETALL writes as many numbers into a program's memory, and must not believe an arena that was
    /// overwritten. Immutable once published.
    inverse: AtomicU32,
    /// Last successful `semop`, seconds since the epoch.
    pub otime: AtomicI64,
    /// Creation or last change by `semctl`.
    pub ctime: AtomicI64,
    pub(crate) contended: Contended,
}

/// What changes while waiters come and go, on lines of its own, away from what every operation reads.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Contended {
    /// Protects everything below, the lists of the semaphores, and every word whose `SLOW` bit is set.
    pub lock: Lock,
    /// What is being overwritten with tentative values, and adjustments dropped: see [`super::overwrite`].
    pub overwriting: AtomicU32,
    /// Pid for `sempid`.
    pub overwriter: AtomicU32,
    /// 1 if the engine has no fast path: then all words stay slow. Immutable once published.
    pub always_slow: AtomicU32,
    /// Waiters in all lists.
    pub waiters: AtomicU32,
    /// First semaphore marked as touched, as index plus one.
    pub touched: AtomicU32,
    /// Order of arrival of the last waiter.
    pub ticket: AtomicU64,
    /// Counts evaluations, so that scratch values need no clearing.
    pub round: AtomicU64,
    /// Waiters with several operations, at least one of which changes a value.
    pub complex_alter: List,
    /// Waiters with several operations that only wait for zero.
    pub complex_zero: List,
    /// First record of adjustments ([`super::undo`]), as an offset.
    pub records: AtomicU64,
    /// First of those with an adjustment that is not zero. Derived.
    pub active: AtomicU64,
}

impl Set {
    /// Fills in a new, zeroed set, not yet published.
    pub(super) fn init(&self, nsems: u32, now: i64) {
        // Relaxed: published by the Release store of the set's offset in the table.
        self.nsems.store(nsems, Relaxed);
        self.inverse.store(!nsems, Relaxed);
        self.ctime.store(now, Relaxed);
    }

    /// Semaphores; none of what is no set.
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

    /// Whether a process has an adjustment that is not zero. Changes under the lock.
    pub fn has_adjustments(&self) -> bool {
        // Relaxed: a hint, for those without the lock.
        self.contended.active.load(Relaxed) != 0
    }

    /// Notes the time of a successful operation. Written only if it differs, once a second at most, so that the
    /// line stays shared between the CPUs.
    #[inline(always)]
    pub fn operated_at(&self, now: i64) {
        // Relaxed: a time of day orders nothing.
        if self.otime.load(Relaxed) != now {
            self.otime.store(now, Relaxed);
        }
    }

    /// Notes the time of a change.
    pub fn changed_at(&self, now: i64) {
        // Relaxed: as above.
        self.ctime.store(now, Relaxed);
    }
}

/// One semaphore: a cache line, so that neighbours do not disturb each other.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Sem {
    /// See [`super::word`].
    pub word: AtomicU64,
    /// Waiters with one operation that takes from this semaphore.
    pub alter: List,
    /// Waiters with one operation that waits for zero.
    pub zero: List,
    /// Operations of all waiters of the set that name this semaphore.
    pub named: AtomicU32,
    /// Processes with an adjustment for this semaphore that is not zero. Derived from the records.
    pub adjusted: AtomicU32,
    /// Scratch of an evaluation: the `Change` so far ...
    pub tentative: AtomicU64,
    /// ... valid if this is the set's round.
    pub round: AtomicU64,
    /// 0: not in the list of touched semaphores; `u32::MAX`: its last; else the next one's index plus one.
    pub next_touched: AtomicU32,
}

/// Bytes of a set with `nsems` semaphores.
pub fn bytes(nsems: u32) -> u64 {
    (size_of::<Set>() + nsems as usize * size_of::<Sem>()) as u64
}
