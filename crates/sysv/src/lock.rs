//! The engine's lock: one word in shared memory that names its owner.
//!
//! | bits | meaning |
//! |---|---|
//! | 0–30 | participant index of the owner plus one; 0: free |
//! | 31 | `SLEEPERS`: somebody sleeps, or was about to, on this word |
//!
//! A word that names its owner can be taken over when the owner is found dead; whoever takes it over is told
//! so by [`Taken::Inherited`] and must repair what the dead may have left half-done *before* he relies on
//! anything the lock protects. A repairer may die too: then he is the dead owner that the next one finds.
//!
//! Two disciplines use the same word. [`Discipline::Park`] spins briefly and sleeps. [`Discipline::Spin`] is
//! the kernel's lock of 2002 (report 000): it spins, and gives the CPU away only every [`SPINS_PER_YIELD`]
//! rounds, because in user space an owner can be preempted, which a kernel's spin lock never is.

use unspin_sync::atomic::{AtomicU32, Ordering};
use unspin_sync::hint;
use unspin_sys::{clock, futex, sched};

/// See the module's text.
#[repr(C)]
#[derive(Debug)]
pub struct Lock {
    word: AtomicU32,
    unused: AtomicU32,
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

const SLEEPERS: u32 = 1 << 31;
const OWNER: u32 = SLEEPERS - 1;
/// Longer than a critical section without preemption (some hundred ns), shorter than a futex round trip.
const SPINS_BEFORE_SLEEP: u32 = 128;
/// A critical section of the global engine takes below 1 us; after some 50 us of spinning its owner is most
/// likely not running.
const SPINS_PER_YIELD: u32 = 2_000;
/// A sleeper looks whether the owner lives after this time, then after twice as long, and so on.
const FIRST_PATROL_MS: u64 = 5;
const LAST_PATROL_MS: u64 = 320;

impl Lock {
    /// A free lock.
    #[cfg(any(test, loom))]
    pub fn new() -> Lock {
        Lock { word: AtomicU32::new(0), unused: AtomicU32::new(0) }
    }

    /// The owner's participant index.
    pub fn owner(&self) -> Option<u32> {
        // Acquire: partner of the Release in `release` and of the AcqRel exchanges below; who acts on a dead
        // owner's behalf sees what he wrote.
        (self.word.load(Ordering::Acquire) & OWNER).checked_sub(1)
    }

    /// Takes the lock if it is free.
    #[inline(always)]
    pub fn try_acquire(&self, me: u32) -> bool {
        // Acquire: partner of the Release in `release`: we see all that earlier owners did.
        self.word.compare_exchange(0, me + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Waits for the lock. `dead(owner)` says whether a participant is dead; it is asked rarely.
    #[cold]
    pub fn acquire_slow(
        &self,
        me: u32,
        discipline: Discipline,
        dead: &dyn Fn(u32) -> bool,
    ) -> (Taken, Waited) {
        let start = clock::ticks();
        let taken = match discipline {
            Discipline::Spin => self.spin(me, dead),
            Discipline::Park => match self.spin_briefly(me) {
                true => Taken::Clean,
                false => return self.sleep(me, dead, start),
            },
        };
        (taken, Waited { spun: clock::ticks().wrapping_sub(start), slept: 0 })
    }

    fn spin_briefly(&self, me: u32) -> bool {
        (0..SPINS_BEFORE_SLEEP).any(|_| {
            hint::spin_loop();
            // Relaxed: a peek; try_acquire orders.
            self.word.load(Ordering::Relaxed) == 0 && self.try_acquire(me)
        })
    }

    fn spin(&self, me: u32, dead: &dyn Fn(u32) -> bool) -> Taken {
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
            if yields.is_multiple_of(64) && self.inherit(me, dead) {
                return Taken::Inherited;
            }
            sched::yield_now();
        }
    }

    fn sleep(&self, me: u32, dead: &dyn Fn(u32) -> bool, start: u64) -> (Taken, Waited) {
        let sleeping = clock::ticks();
        let waited =
            |_| Waited { spun: sleeping.wrapping_sub(start), slept: clock::ticks().wrapping_sub(sleeping) };
        let mut patrol = FIRST_PATROL_MS;
        loop {
            // Relaxed: the exchanges below order.
            let seen = self.word.load(Ordering::Relaxed);
            if seen & OWNER == 0 {
                // Others may sleep still, so the bit stays set: one needless wake-up at the worst.
                // Acquire: as in try_acquire.
                let free = self.word.compare_exchange(
                    seen,
                    (me + 1) | SLEEPERS,
                    Ordering::Acquire,
                    Ordering::Relaxed,
                );
                if free.is_ok() {
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
            let timeout = std::time::Duration::from_millis(patrol);
            if futex::wait(futex_word(&self.word), seen | SLEEPERS, Some(timeout)) == futex::Wake::TimedOut {
                patrol = (patrol * 2).min(LAST_PATROL_MS);
                if self.inherit(me, dead) {
                    return (Taken::Inherited, waited(()));
                }
            }
        }
    }

    /// Takes the lock from its owner if that one is dead.
    pub fn inherit(&self, me: u32, dead: &dyn Fn(u32) -> bool) -> bool {
        // Relaxed: only the exchange below acts on it.
        let seen = self.word.load(Ordering::Relaxed);
        let Some(owner) = (seen & OWNER).checked_sub(1) else { return false };
        // The exchange succeeds only if the word still names the participant that was found dead; his index is
        // not given away before the locks he holds are inherited (see `crate::sweep`).
        // Acquire: we see what the dead owner had written when he was last seen as the owner; what he wrote
        // after that is in memory too, since he no longer runs.
        owner != me
            && dead(owner)
            && self
                .word
                .compare_exchange(seen, (me + 1) | SLEEPERS, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
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
        futex::wake(futex_word(&self.word), 1);
    }
}

#[cfg(not(loom))]
pub(crate) fn futex_word(word: &AtomicU32) -> &unspin_sync::machine::AtomicU32 {
    word
}

/// Models never sleep: they contain no futex, and reaching one is a mistake in the model.
#[cfg(loom)]
pub(crate) fn futex_word(_: &AtomicU32) -> &unspin_sync::machine::AtomicU32 {
    unreachable!("a loom model went to sleep on a futex")
}
