//! A semaphore set and its semaphores, as they lie in shared memory.

use crate::ipc::Perm;
use crate::lock::Lock;
use unspin_sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Ends of a list of participants, as indices plus one; 0 is none. Protected by the set's lock.
#[repr(C)]
#[derive(Debug, Default)]
pub struct List {
    pub(super) head: AtomicU32,
    pub(super) tail: AtomicU32,
}

/// Header of a set; its semaphores follow it in memory.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Set {
    /// Key, id, owner, mode; and whether the set is removed.
    pub perm: Perm,
    /// Semaphores. Immutable once published.
    pub nsems: AtomicU32,
    /// Last successful `semop`, seconds since the epoch.
    pub otime: AtomicI64,
    /// Creation or last change by `semctl`.
    pub ctime: AtomicI64,
    pub(super) contended: Contended,
}

/// What changes while waiters come and go, on lines of its own, away from what every operation reads.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Contended {
    /// Protects everything below, the lists of the semaphores, and every word whose `SLOW` bit is set.
    pub lock: Lock,
    /// 1 while all values are being overwritten with the semaphores' tentative ones (SETALL), by `overwriter`.
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
}

impl Set {
    /// Fills in a new, zeroed set, not yet published.
    pub(super) fn init(&self, nsems: u32, now: i64) {
        // Relaxed: published by the Release store of the set's offset in the table.
        self.nsems.store(nsems, Relaxed);
        self.ctime.store(now, Relaxed);
    }

    /// Semaphores.
    #[inline(always)]
    pub fn count(&self) -> usize {
        // Relaxed: immutable once published.
        self.nsems.load(Relaxed) as usize
    }

    /// The set's own lock.
    pub fn lock(&self) -> &Lock {
        &self.contended.lock
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
    /// Scratch of an evaluation: the value so far ...
    pub tentative: AtomicU32,
    /// ... valid if this is the set's round.
    pub round: AtomicU64,
    /// 0: not in the list of touched semaphores; `u32::MAX`: its last; else the next one's index plus one.
    pub next_touched: AtomicU32,
}

/// Bytes of a set with `nsems` semaphores.
pub fn bytes(nsems: u32) -> u64 {
    (size_of::<Set>() + nsems as usize * size_of::<Sem>()) as u64
}
