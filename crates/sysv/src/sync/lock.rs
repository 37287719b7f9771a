//! The engine's lock: one word in shared memory that names its owner.
//!
//! | bits | meaning |
//! |---|---|
//! | 0–14 | participant index of the owner plus one; 0: free |
//! | 15–30 | low bits of the owner's generation, which tells apart the successive participants under this index |
//! | 31 | `SLEEPERS`: a thread sleeps, or was about to sleep, on this word |
//!
//! A thread that finds the owner dead can take over the lock, because the word names the owner. [`Taken::OwnerDied`]
//! tells the new owner that this happened. It must repair what the dead owner may have left incomplete *before* it
//! relies on anything that the lock protects. If it dies during the repair, the next waiter finds it as the dead owner.
//!
//! Two disciplines use the same word. [`Discipline::Park`] spins briefly and then sleeps. [`Discipline::Spin`] is the
//! kernel's lock of 2002 (Hartner 2002): it only spins. It yields the CPU every [`SPINS_PER_YIELD`] rounds, because in
//! user space the owner can be preempted; the owner of a kernel spin lock cannot.

use crate::sync::futex;
use core::time::Duration;
use unspin_sync::atomic::{AtomicU32, Ordering};
use unspin_sync::hint;
use unspin_sys::{clock, sched};

/// A lock word in shared memory. The module documentation describes its bits.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Lock {
    word: AtomicU32,
    unused: AtomicU32,
}

/// A participant that holds or requests a lock, as the lock word encodes it.
///
/// The generation makes the verdict "dead" safe to act on. A thread that found an owner dead may be slow to take over
/// the lock. Meanwhile a later participant under the same index may have acquired it; the generation then differs, and
/// the takeover fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner(u32);

impl Owner {
    /// Participant `index` (below [`MAX_OWNERS`]) with this generation.
    pub fn new(index: u32, generation: u64) -> Owner {
        Owner((generation as u32) << INDEX_BITS & (OWNER & !INDEX) | (index + 1))
    }

    fn of(word: u32) -> Option<Owner> {
        (word & INDEX != 0).then_some(Owner(word & OWNER))
    }

    /// The lock word while this owner holds the lock and no thread sleeps on it.
    #[cfg(not(loom))]
    pub(crate) fn word(self) -> u32 {
        self.0
    }

    /// The participant index.
    pub fn index(self) -> u32 {
        (self.0 & INDEX) - 1
    }
}

/// How a thread waits for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discipline {
    /// Spin briefly, then sleep.
    Park,
    /// Spin until the lock is free, with occasional yields.
    Spin,
}

/// The state in which a lock was acquired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// The previous owner released it.
    Clean,
    /// The previous owner died while it held the lock: the new owner must repair the protected state first.
    OwnerDied,
}

/// Time-stamp counter ticks spent waiting for a lock, for the meter.
#[derive(Clone, Copy, Default, Debug)]
pub struct Waited {
    /// Spinning, on a CPU.
    pub spun: u64,
    /// Asleep.
    pub slept: u64,
}

/// Callbacks used while waiting for a lock. Implemented for closures that report whether an owner is dead.
pub trait WaitHooks {
    /// Returns whether a participant is dead. It is called rarely. It may be called for the waiting participant itself:
    /// that happens only if a foreign write has put this participant into the lock word.
    fn is_dead(&self, owner: Owner) -> bool;

    /// Sleeps while the lock's word has the value `seen`. The thread does not try to take the lock meanwhile.
    fn sleep(&self, word: &AtomicU32, seen: u32, timeout: Duration) -> futex::Wake {
        futex::wait(word, seen, Some(timeout))
    }
}

impl<F: Fn(Owner) -> bool> WaitHooks for F {
    fn is_dead(&self, owner: Owner) -> bool {
        self(owner)
    }
}

const SLEEPERS: u32 = 1 << 31;
const OWNER: u32 = SLEEPERS - 1;
const INDEX_BITS: u32 = 15;
const INDEX: u32 = (1 << INDEX_BITS) - 1;
/// Number of participants whose indices fit into the word.
pub const MAX_OWNERS: u32 = INDEX;
/// How often a thread tries to take the lock before it sleeps. It pauses before each attempt, without access to the
/// word. The pauses add up to some 250: about 6 us where a pause takes 60 ticks. That is longer than many critical
/// sections without preemption, and little more than a futex round trip.
///
/// Each access to the word takes its cache line away from the owner, which needs the line back to release the lock. The
/// lines that the lock protects move between CPUs with it. Two processes that do nothing but take one lock are fastest
/// if each makes many calls in turn. So the pauses grow up to the length of some calls. Measured with messages from one
/// CPU to another: 4.5 million a second with an access after every pause, 8 million with growing pauses.
#[cfg(not(loom))]
const ATTEMPTS_BEFORE_SLEEP: u32 = 6;
/// The model explores every length of spinning by itself.
#[cfg(loom)]
const ATTEMPTS_BEFORE_SLEEP: u32 = 1;
const FIRST_PAUSES: u32 = if cfg!(loom) { 1 } else { 8 };
const MOST_PAUSES: u32 = 64;
/// A critical section of the global engine takes below 1 us. After some 50 us of spinning the owner is most likely not
/// running.
const SPINS_PER_YIELD: u32 = 2_000;
/// Milliseconds that a sleeper sleeps before it first checks whether the owner is alive. Each later interval is twice
/// the one before, up to `LAST_CHECK_MS`.
const FIRST_CHECK_MS: u64 = 5;
const LAST_CHECK_MS: u64 = 320;

impl Lock {
    /// The participant that holds the lock, if any.
    pub fn owner(&self) -> Option<Owner> {
        // Acquire: partner of the Release with which each owner writes itself into the word. A thread that then asks
        // whether the owner is alive sees the owner's registration.
        Owner::of(self.word.load(Ordering::Acquire))
    }

    /// Takes the lock if it is free.
    #[inline(always)]
    pub fn try_acquire(&self, me: Owner) -> bool {
        self.exchange(0, me.0).is_ok()
    }

    #[inline(always)]
    fn exchange(&self, seen: u32, new: u32) -> Result<u32, u32> {
        // Acquire: partner of the Release in `release`. We see all that earlier owners did. For an owner that died we
        // see what it had done before it took the lock by this ordering; we see the rest because it no longer runs.
        // Release: partner of the Acquire in `owner` and `take_over`. A thread that reads our identity in the word sees
        // that we are registered, and does not take us for dead.
        self.word.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Relaxed)
    }

    /// Waits until the caller (`me`) has the lock. Returns the state it was acquired in and the time waited.
    #[cold]
    pub fn acquire_slow(&self, me: Owner, discipline: Discipline, hooks: &dyn WaitHooks) -> (Taken, Waited) {
        let start = clock::ticks();
        let taken = match discipline {
            Discipline::Spin => self.spin(me, hooks),
            Discipline::Park => match self.spin_briefly(me) {
                true => Taken::Clean,
                false => return self.sleep(me, hooks, start),
            },
        };
        (taken, Waited { spun: clock::ticks().wrapping_sub(start), slept: 0 })
    }

    fn spin_briefly(&self, me: Owner) -> bool {
        let mut pauses = FIRST_PAUSES;
        (0..ATTEMPTS_BEFORE_SLEEP).any(|_| {
            (0..pauses).for_each(|_| hint::spin_loop());
            pauses = (pauses * 2).min(MOST_PAUSES);
            // No load of the word comes first. After a load that finds it free, the exchange would have to fetch the
            // cache line a second time; it would come too late if the last owner is about to take the lock again.
            self.try_acquire(me)
        })
    }

    fn spin(&self, me: Owner, hooks: &dyn WaitHooks) -> Taken {
        let mut yields = 0u32;
        loop {
            for _ in 0..SPINS_PER_YIELD {
                hint::spin_loop();
                // Relaxed: only a hint; try_acquire orders.
                if self.word.load(Ordering::Relaxed) == 0 && self.try_acquire(me) {
                    return Taken::Clean;
                }
            }
            yields += 1;
            if yields.is_multiple_of(64) && self.take_over(me, &|owner| hooks.is_dead(owner)) {
                return Taken::OwnerDied;
            }
            sched::yield_or_sleep();
        }
    }

    fn sleep(&self, me: Owner, hooks: &dyn WaitHooks, start: u64) -> (Taken, Waited) {
        let sleeping = clock::ticks();
        let waited =
            |_| Waited { spun: sleeping.wrapping_sub(start), slept: clock::ticks().wrapping_sub(sleeping) };
        let mut interval = FIRST_CHECK_MS;
        loop {
            // Relaxed: the exchanges below provide the ordering.
            let seen = self.word.load(Ordering::Relaxed);
            if Owner::of(seen).is_none() {
                // Other threads may still sleep, so the bit stays set. At worst that costs one needless wake-up.
                if self.exchange(seen, me.0 | SLEEPERS).is_ok() {
                    return (Taken::Clean, waited(()));
                }
                continue;
            }
            // Relaxed: announces a sleeper to `release`, which reads the same word; it orders nothing else.
            let announced = seen & SLEEPERS != 0
                || self
                    .word
                    .compare_exchange(seen, seen | SLEEPERS, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok();
            if !announced {
                continue;
            }
            let timeout = Duration::from_millis(interval);
            if hooks.sleep(&self.word, seen | SLEEPERS, timeout) == futex::Wake::TimedOut {
                interval = (interval * 2).min(LAST_CHECK_MS);
                if self.take_over(me, &|owner| hooks.is_dead(owner)) {
                    return (Taken::OwnerDied, waited(()));
                }
            }
        }
    }

    /// Takes the lock over if its owner is dead, or if the word is not free but names no owner. Returns whether it did.
    pub fn take_over(&self, me: Owner, dead: &dyn Fn(Owner) -> bool) -> bool {
        // Acquire: as in `owner`.
        let seen = self.word.load(Ordering::Acquire);
        // A word that is not free but names no owner was overwritten by foreign code. No participant will release it.
        let is_dead = match Owner::of(seen) {
            Some(owner) => dead(owner),
            None => seen != 0,
        };
        // The exchange succeeds only if the word still names the participant that was found dead, with the same
        // generation.
        is_dead && self.exchange(seen, me.0 | SLEEPERS).is_ok()
    }

    /// Releases the lock. Wakes one sleeper if the word says that there may be one.
    #[inline(always)]
    pub fn release(&self) {
        // Release: partner of the Acquire with which the next owner takes the lock.
        if self.word.swap(0, Ordering::Release) & SLEEPERS != 0 {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        futex::wake(&self.word, 1);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// While one thread decides to take over a dead owner's lock, a sweeper takes it over and releases it, and a later
    /// participant under the same index acquires it. The first thread's takeover fails.
    #[test]
    fn takeover_fails_after_reuse_of_dead_owners_index() {
        let lock = Lock::default();
        let (dead, successor, sweeper, late) =
            (Owner::new(0, 1), Owner::new(0, 2), Owner::new(1, 1), Owner::new(2, 1));
        assert!(lock.try_acquire(dead));
        let verdict = |owner| {
            assert!(lock.take_over(sweeper, &|owner| owner == dead));
            lock.release();
            assert!(lock.try_acquire(successor));
            owner == dead
        };
        assert!(!lock.take_over(late, &verdict));
        assert_eq!(lock.owner(), Some(successor));
    }

    /// A word in which a bit was flipped is neither free nor held by a participant: a waiter takes it over.
    #[test]
    fn lock_word_without_owner_is_taken_over() {
        for word in [1 << INDEX_BITS, 1 << 30, SLEEPERS | 1 << 30, SLEEPERS] {
            for discipline in [Discipline::Park, Discipline::Spin] {
                let lock = Lock { word: AtomicU32::new(word), ..Lock::default() };
                let me = Owner::new(2, 1);
                lock.acquire_slow(me, discipline, &|_: Owner| -> bool {
                    unreachable!("the word names no owner")
                });
                assert_eq!(lock.owner(), Some(me));
            }
        }
    }

    #[test]
    fn owners_differ_by_index_and_generation() {
        let owners = [Owner::new(0, 1), Owner::new(0, 2), Owner::new(MAX_OWNERS - 1, u64::MAX)];
        for (i, &owner) in owners.iter().enumerate() {
            let lock = Lock::default();
            assert_eq!(lock.owner(), None);
            assert!(lock.try_acquire(owner));
            assert!(!lock.try_acquire(owners[0]));
            assert_eq!(lock.owner(), Some(owner));
            assert!(owners[..i].iter().all(|&other| other != owner));
            lock.release();
            assert_eq!(lock.owner(), None);
        }
        assert_eq!(owners[2].index(), MAX_OWNERS - 1);
    }
}
