//! How many locks a thread holds or is about to take: a word of its shared record, which other threads read.
//!
//! | bits | meaning |
//! |---|---|
//! | 0–7 | locks that the thread holds or tries to take, except one that it sleeps for |
//! | 8–63 | locks released or given up by this thread and earlier owners of the slot; so no value occurs twice |
//!
//! The thread keeps the count in its own memory. It writes the word *before* it takes a lock, and *after* it has
//! released one or has given up trying (it does not try while it sleeps). So the word counts every lock that the thread
//! holds. Two kinds of readers use it. A thread that recovers a dead participant learns whether there is anything to
//! release. A thread that waits for a lock learns whether the owner that the lock names can be its owner: see
//! [`LockCount::disproves_owner`].

use crate::sync::lock::{Lock, Owner};
use unspin_sync::atomic::{AtomicU64, Ordering, compiler_fence};

/// The published count: see the module's text. Zero in a slot that was never used.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct LockCount(AtomicU64);

/// The count as the thread itself keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct OwnLockCount(u64);

const DEPTH: u64 = 0xFF;
const RELEASE: u64 = 1 << 8;

impl OwnLockCount {
    /// The count with one more lock.
    #[inline(always)]
    pub fn more(self) -> OwnLockCount {
        OwnLockCount(self.0.wrapping_add(1))
    }

    /// The count with one lock less.
    #[inline(always)]
    pub fn less(self) -> OwnLockCount {
        OwnLockCount(self.0.wrapping_add(RELEASE - 1))
    }

    /// Whether the count is zero.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.0 & DEPTH == 0
    }

    /// A count of zero that differs from all earlier values.
    fn next_zero(self) -> OwnLockCount {
        OwnLockCount((self.0 | DEPTH).wrapping_add(1))
    }
}

impl LockCount {
    /// The thread is about to take a lock, which `locks` includes.
    #[inline(always)]
    pub fn enter(&self, locks: OwnLockCount) {
        // Relaxed: the lock's exchange, which follows, publishes it to threads that read this thread's name in the
        // lock. For threads that read it after this thread's death compiler order is enough.
        self.0.store(locks.0, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    /// The thread has released a lock, or no longer tries to take it. `locks` does not include it.
    #[inline(always)]
    pub fn leave(&self, locks: OwnLockCount) {
        compiler_fence(Ordering::SeqCst);
        // Release: partner of the Acquire in `disproves_owner`: a thread that reads this value finds the lock released.
        self.0.store(locks.0, Ordering::Release);
    }

    /// The count of a dead thread.
    pub fn of_dead(&self) -> OwnLockCount {
        // Relaxed: its thread is dead.
        OwnLockCount(self.0.load(Ordering::Relaxed))
    }

    /// Prepares the word for another thread. Returns the count that it begins with.
    pub fn renew(&self) -> OwnLockCount {
        // Relaxed: the slot belongs to no thread, or to the caller, which holds no lock yet.
        let locks = OwnLockCount(self.0.load(Ordering::Relaxed)).next_zero();
        self.0.store(locks.0, Ordering::Relaxed);
        locks
    }

    /// Whether this word proves that its participant, which `lock` names as its owner, does not hold the lock. Then the
    /// participant has not taken the lock, and a foreign write has put its name there. `false` proves nothing.
    ///
    /// The proof: the word says *none*, then the lock has the name, then the word has the same value as before. Suppose
    /// that the participant had written the name. It did so after its `enter`, so the second read of the word finds
    /// that `enter` or a later value. The second read finds the value of the first read, and no value occurs twice; the
    /// value says *none*, so a later `leave` has written it. The first read, before the lock was read, had then found
    /// that `leave`. But a thread releases the lock, or gives up taking it, before its `leave`. A reader that has found
    /// the `leave` finds that too, so it would not have found the name.
    pub fn disproves_owner(&self, lock: &Lock, owner: Owner) -> bool {
        // Acquire: partner of the Release in `leave`.
        let before = self.0.load(Ordering::Acquire);
        // `owner` loads with Acquire: partner of the exchange with which the owner writes its name. If other threads
        // have changed the word since by exchanges, these continue the release sequence of the owner's exchange.
        if !OwnLockCount(before).is_none() || lock.owner() != Some(owner) {
            return false;
        }
        // Relaxed: it follows an Acquire load, and no value occurs twice.
        self.0.load(Ordering::Relaxed) == before
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn lock_count_never_repeats() {
        let mut seen = std::collections::HashSet::new();
        let mut locks = OwnLockCount::default();
        let mut note = |locks: OwnLockCount| assert!(seen.insert(locks), "{locks:?}");
        note(locks);
        for round in 0..1000 {
            let before = locks;
            locks = locks.more();
            note(locks);
            assert!(!locks.is_none());
            locks = match round % 3 {
                0 => locks.next_zero(),
                _ => locks.less(),
            };
            note(locks);
            assert!(locks.is_none() && locks != before);
        }
    }

    #[test]
    fn lock_count_disproves_non_holder() {
        let (count, lock, me) = (LockCount::default(), Lock::default(), Owner::new(3, 9));
        let mut locks = count.renew();
        assert!(!count.disproves_owner(&lock, me), "the lock is free");
        locks = locks.more();
        count.enter(locks);
        assert!(lock.try_acquire(me));
        assert!(!count.disproves_owner(&lock, me));
        lock.release();
        count.leave(locks.less());
        assert!(!count.disproves_owner(&lock, me));
        // As by a foreign write.
        assert!(lock.try_acquire(me));
        assert!(count.disproves_owner(&lock, me));
        assert!(!count.disproves_owner(&lock, Owner::new(3, 8)));
    }
}
