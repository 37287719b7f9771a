//! How many locks a thread holds or is about to take: a word of its record, which others read.
//!
//! | bits | meaning |
//! |---|---|
//! | 0–7 | locks that the thread holds or tries to take, but for one that it sleeps for |
//! | 8–63 | how often it has let go of one, it and those who had the place before: never twice the same |
//!
//! The thread counts by itself, in memory of its own, and writes the word *before* it takes a lock and *after* it has released
//! one, or has given up trying: it does not try while it sleeps. So while it holds a lock the word says so. That tells those who bury it whether there is anything to be released, and
//! those who wait for a lock whether the one that the lock names can be its owner: see [`Busy::disproves`].

use crate::lock::{Lock, Owner};
use unspin_sync::atomic::{AtomicU64, Ordering, compiler_fence};

/// See the module's text. Zeroed: of a place that nobody had yet.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Busy(AtomicU64);

/// The count as the thread itself has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Locks(u64);

const DEPTH: u64 = 0xFF;
const RELEASE: u64 = 1 << 8;

impl Locks {
    /// One more.
    #[inline(always)]
    pub fn more(self) -> Locks {
        Locks(self.0.wrapping_add(1))
    }

    /// One less.
    #[inline(always)]
    pub fn less(self) -> Locks {
        Locks(self.0.wrapping_add(RELEASE - 1))
    }

    /// Whether there is none.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.0 & DEPTH == 0
    }

    /// None, and not one of those that there were before.
    fn anew(self) -> Locks {
        Locks((self.0 | DEPTH).wrapping_add(1))
    }
}

impl Busy {
    /// The thread is about to take a lock; `locks` has it in.
    #[inline(always)]
    pub fn enter(&self, locks: Locks) {
        // Relaxed: before the lock's exchange, which releases it to whoever reads the thread's name there. For those who read it
        // once the thread is dead the compiler's order is enough.
        self.0.store(locks.0, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    /// The thread has released a lock, or tries no more to take it; `locks` has it in no more.
    #[inline(always)]
    pub fn leave(&self, locks: Locks) {
        compiler_fence(Ordering::SeqCst);
        // Release: partner of the Acquire in `disproves`: whoever reads this finds the lock released.
        self.0.store(locks.0, Ordering::Release);
    }

    /// What a dead thread had.
    pub fn of_the_dead(&self) -> Locks {
        // Relaxed: its thread is dead.
        Locks(self.0.load(Ordering::Relaxed))
    }

    /// Makes the word ready for another thread; what that one begins with.
    pub fn renew(&self) -> Locks {
        // Relaxed: the place is nobody's, or the caller's, who holds nothing yet.
        let locks = Locks(self.0.load(Ordering::Relaxed)).anew();
        self.0.store(locks.0, Ordering::Relaxed);
        locks
    }

    /// Whether this word, of the participant that `lock` is said to be held by, proves that it is not: then nobody has
    /// taken the lock by this name, and what stands there was written by somebody who writes where he should not. `false`
    /// proves nothing.
    ///
    /// Let the word say *none*, then the lock the name, then the word the same as before. Had the name been written by its
    /// bearer, then after his `enter`, so the second look finds that or something later. It finds what the first look
    /// found, and no value comes twice: so it is later, a `leave`, and the first look had found that `leave` before the
    /// lock was looked at. But before a `leave` the lock is released, or was not taken, and who has found the one finds the other.
    pub fn disproves(&self, lock: &Lock, owner: Owner) -> bool {
        // Acquire: partner of the Release in `leave`.
        let before = self.0.load(Ordering::Acquire);
        // `owner` acquires: partner of the exchange by which the owner writes its name, or of whoever has changed the word
        // since, as exchanges go on where the owner's left off.
        if !Locks(before).is_none() || lock.owner() != Some(owner) {
            return false;
        }
        // Relaxed: behind an Acquire load, and no value comes twice.
        self.0.load(Ordering::Relaxed) == before
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn no_count_comes_twice() {
        let mut seen = std::collections::HashSet::new();
        let mut locks = Locks::default();
        let mut note = |locks: Locks| assert!(seen.insert(locks), "{locks:?}");
        note(locks);
        for round in 0..1000 {
            let before = locks;
            locks = locks.more();
            note(locks);
            assert!(!locks.is_none());
            locks = match round % 3 {
                0 => locks.anew(),
                _ => locks.less(),
            };
            note(locks);
            assert!(locks.is_none() && locks != before);
        }
    }

    #[test]
    fn who_holds_nothing_is_not_the_owner() {
        let (busy, lock, me) = (Busy::default(), Lock::default(), Owner::new(3, 9));
        let mut locks = busy.renew();
        assert!(!busy.disproves(&lock, me), "nobody's");
        locks = locks.more();
        busy.enter(locks);
        assert!(lock.try_acquire(me));
        assert!(!busy.disproves(&lock, me));
        lock.release();
        busy.leave(locks.less());
        assert!(!busy.disproves(&lock, me));
        // By a stranger's hand.
        assert!(lock.try_acquire(me));
        assert!(busy.disproves(&lock, me));
        assert!(!busy.disproves(&lock, Owner::new(3, 8)));
    }
}
