//! The engine's lock: one word in shared memory that names its owner.
//!
//! | bits | meaning |
//! |---|---|
//! | 0–14 | participant index of the owner plus one; 0: free |
//! | 15–30 | low bits of his generation: which of the participants under this index he is |
//! | 31 | `SLEEPERS`: somebody sleeps, or was about to, on this word |
//!
//! A word that names its owner can be taken over when the owner is found dead; whoever takes it over is told
//! so by [`Taken::Inherited`] and must repair what the dead may have left half-done *before* he relies on
//! anything the lock protects. A repairer may die too: then he is the dead owner that the next one finds.
//!
//! Two disciplines use the same word. [`Discipline::Park`] spins briefly and sleeps. [`Discipline::Spin`] is
//! the kernel's lock of 2002 (report 000): it spins, and gives the CPU away only every [`SPINS_PER_YIELD`]
//! rounds, because in user space an owner can be preempted, which a kernel's spin lock never is.

use crate::futex;
use core::time::Duration;
use unspin_sync::atomic::{AtomicU32, Ordering};
use unspin_sync::hint;
use unspin_sys::{clock, sched};

/// See the module's text.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Lock {
    word: AtomicU32,
    unused: AtomicU32,
}

/// Somebody who holds a lock or wants to, as the word names him.
///
/// The generation makes the verdict "dead" safe to act on: whoever found an owner dead and is slow to take the lock
/// does not take it from a later participant of the same index, which may hold it by then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner(u32);

impl Owner {
    /// Participant `index` of this generation.
    pub fn new(index: u32, generation: u64) -> Owner {
        Owner((generation as u32) << INDEX_BITS & (OWNER & !INDEX) | (index + 1))
    }

    fn of(word: u32) -> Option<Owner> {
        (word & INDEX != 0).then_some(Owner(word & OWNER))
    }

    /// What a lock says that he holds, and for which nobody sleeps.
    #[cfg(not(loom))]
    pub(crate) fn word(self) -> u32 {
        self.0
    }

    /// The participant index.
    pub fn index(self) -> u32 {
        (self.0 & INDEX) - 1
    }
}

/// How to wait for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discipline {
    /// Spin briefly, then sleep.
    Park,
    /// Spin until it is free.
    Spin,
}

/// In what state a lock was got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// The owner before released it.
    Clean,
    /// The owner before died with it: repair first.
    Inherited,
}

/// Ticks that were waited for a lock, for the meter.
#[derive(Clone, Copy, Default, Debug)]
pub struct Waited {
    /// Spinning, on a CPU.
    pub spun: u64,
    /// Asleep.
    pub slept: u64,
}

/// Somebody who waits for a lock. Closures that say who is dead do.
pub trait Waiting {
    /// Whether a participant is dead; it is asked rarely, of the one who waits too if the lock names him, which only happens
    /// where somebody else has written into it.
    fn is_dead(&self, owner: Owner) -> bool;

    /// Sleeps while the lock's word has this value. Meanwhile he does not try to take the lock.
    fn sleep(&self, word: &AtomicU32, seen: u32, timeout: Duration) -> futex::Wake {
        futex::wait(word, seen, Some(timeout))
    }
}

impl<F: Fn(Owner) -> bool> Waiting for F {
    fn is_dead(&self, owner: Owner) -> bool {
        self(owner)
    }
}

const SLEEPERS: u32 = 1 << 31;
const OWNER: u32 = SLEEPERS - 1;
const INDEX_BITS: u32 = 15;
const INDEX: u32 = (1 << INDEX_BITS) - 1;
/// Participants whose indices fit into the word.
pub const MAX_OWNERS: u32 = INDEX;
/// How often a thread tries to get the lock before it sleeps, and for how long it leaves the word alone before each: 250 pauses
/// in all, some 6 us where a pause takes 60 ticks, longer than many critical sections without preemption and little more than a
/// futex round trip.
///
/// Each look at the word takes its cache line away from the owner, who needs it back to release it, and with the line those
/// that the lock protects go to and fro. Two processes that do nothing but take one lock get on best in turns of many
/// calls: so the pauses grow to some of them (measured: messages from one CPU to another, 4.5 million a second with a look after
/// every pause, 8 million so).
#[cfg(not(loom))]
const ATTEMPTS_BEFORE_SLEEP: u32 = 6;
/// A model tries every length of spinning by itself.
#[cfg(loom)]
const ATTEMPTS_BEFORE_SLEEP: u32 = 1;
const FIRST_PAUSES: u32 = if cfg!(loom) { 1 } else { 8 };
const MOST_PAUSES: u32 = 64;
/// A critical section of the global engine takes below 1 us; after some 50 us of spinning its owner is most
/// likely not running.
const SPINS_PER_YIELD: u32 = 2_000;
/// A sleeper looks whether the owner lives after this time, then after twice as long, and so on.
const FIRST_PATROL_MS: u64 = 5;
const LAST_PATROL_MS: u64 = 320;

impl Lock {
    /// Who holds it.
    pub fn owner(&self) -> Option<Owner> {
        // Acquire: partner of the Release with which each owner writes his name: his registration is seen by whoever
        // asks whether he lives.
        Owner::of(self.word.load(Ordering::Acquire))
    }

    /// Takes the lock if it is free.
    #[inline(always)]
    pub fn try_acquire(&self, me: Owner) -> bool {
        self.exchange(0, me.0).is_ok()
    }

    #[inline(always)]
    fn exchange(&self, seen: u32, new: u32) -> Result<u32, u32> {
        // Acquire: partner of the Release in `release`: we see all that earlier owners did; of an owner who died, what
        // he had done when he took the lock, and the rest because he no longer runs. Release: partner of the Acquire in
        // `owner` and `inherit`: whoever reads our name sees that we are registered, and does not take us for dead.
        self.word.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Relaxed)
    }

    /// Waits for the lock.
    #[cold]
    pub fn acquire_slow(&self, me: Owner, discipline: Discipline, who: &dyn Waiting) -> (Taken, Waited) {
        let start = clock::ticks();
        let taken = match discipline {
            Discipline::Spin => self.spin(me, who),
            Discipline::Park => match self.spin_briefly(me) {
                true => Taken::Clean,
                false => return self.sleep(me, who, start),
            },
        };
        (taken, Waited { spun: clock::ticks().wrapping_sub(start), slept: 0 })
    }

    fn spin_briefly(&self, me: Owner) -> bool {
        let mut pauses = FIRST_PAUSES;
        (0..ATTEMPTS_BEFORE_SLEEP).any(|_| {
            (0..pauses).for_each(|_| hint::spin_loop());
            pauses = (pauses * 2).min(MOST_PAUSES);
            // Without a peek: behind one that finds it free the exchange has to fetch the word a second time, and comes late if
            // its last owner is about to take it again.
            self.try_acquire(me)
        })
    }

    fn spin(&self, me: Owner, who: &dyn Waiting) -> Taken {
        let mut yields = 0u32;
        loop {
            for _ in 0..SPINS_PER_YIELD {
                hint::spin_loop();
                // Relaxed: a peek; try_acquire orders.
                if self.word.load(Ordering::Relaxed) == 0 && self.try_acquire(me) {
                    return Taken::Clean;
                }
            }
            yields += 1;
            if yields.is_multiple_of(64) && self.inherit(me, &|owner| who.is_dead(owner)) {
                return Taken::Inherited;
            }
            sched::give_way();
        }
    }

    fn sleep(&self, me: Owner, who: &dyn Waiting, start: u64) -> (Taken, Waited) {
        let sleeping = clock::ticks();
        let waited =
            |_| Waited { spun: sleeping.wrapping_sub(start), slept: clock::ticks().wrapping_sub(sleeping) };
        let mut patrol = FIRST_PATROL_MS;
        loop {
            // Relaxed: the exchanges below order.
            let seen = self.word.load(Ordering::Relaxed);
            if Owner::of(seen).is_none() {
                // Others may sleep still, so the bit stays set: one needless wake-up at the worst.
                if self.exchange(seen, me.0 | SLEEPERS).is_ok() {
                    return (Taken::Clean, waited(()));
                }
                continue;
            }
            // Relaxed: announces a sleeper to `release`, which reads the same word; nothing else is ordered.
            let announced = seen & SLEEPERS != 0
                || self
                    .word
                    .compare_exchange(seen, seen | SLEEPERS, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok();
            if !announced {
                continue;
            }
            let timeout = Duration::from_millis(patrol);
            if who.sleep(&self.word, seen | SLEEPERS, timeout) == futex::Wake::TimedOut {
                patrol = (patrol * 2).min(LAST_PATROL_MS);
                if self.inherit(me, &|owner| who.is_dead(owner)) {
                    return (Taken::Inherited, waited(()));
                }
            }
        }
    }

    /// Takes the lock from its owner if that one is dead, or none.
    pub fn inherit(&self, me: Owner, dead: &dyn Fn(Owner) -> bool) -> bool {
        // Acquire: as in `owner`.
        let seen = self.word.load(Ordering::Acquire);
        // No owner at all in a word that is not free: somebody else has written into it, and nobody will release it.
        let is_dead = match Owner::of(seen) {
            Some(owner) => dead(owner),
            None => seen != 0,
        };
        // The exchange succeeds only if the word still names the participant that was found dead, of that generation.
        is_dead && self.exchange(seen, me.0 | SLEEPERS).is_ok()
    }

    /// Releases the lock, and wakes a sleeper if there may be one.
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

    /// While somebody makes up his mind to take a dead owner's lock, it is released for the dead one, and a later
    /// participant of the same index takes it.
    #[test]
    fn a_late_heir_does_not_rob_a_namesake() {
        let lock = Lock::default();
        let (dead, namesake, sweeper, late) =
            (Owner::new(0, 1), Owner::new(0, 2), Owner::new(1, 1), Owner::new(2, 1));
        assert!(lock.try_acquire(dead));
        let verdict = |owner| {
            assert!(lock.inherit(sweeper, &|owner| owner == dead));
            lock.release();
            assert!(lock.try_acquire(namesake));
            owner == dead
        };
        assert!(!lock.inherit(late, &verdict));
        assert_eq!(lock.owner(), Some(namesake));
    }

    /// A word in which a bit was flipped is neither free nor anybody's.
    #[test]
    fn what_names_nobody_is_inherited() {
        for word in [1 << INDEX_BITS, 1 << 30, SLEEPERS | 1 << 30, SLEEPERS] {
            for discipline in [Discipline::Park, Discipline::Spin] {
                let lock = Lock { word: AtomicU32::new(word), ..Lock::default() };
                let me = Owner::new(2, 1);
                lock.acquire_slow(me, discipline, &|_: Owner| -> bool { unreachable!("nobody is named") });
                assert_eq!(lock.owner(), Some(me));
            }
        }
    }

    #[test]
    fn owners_are_told_apart_by_index_and_generation() {
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
