//! Lateral stealing: whoever comes while the lock is free takes it, whoever waits for it. An owner who releases lets the lock
//! go and then wakes one sleeper, so the lock is not idle while that one wakes up; who has waited long is handed it.
//!
//! **The duty to wake.** While somebody sleeps, either the word says so (`PARKED`), or a thread that is awake has the *duty*
//! to say so again as soon as it owns the lock or goes to sleep. Whoever is woken has the duty; and a spinner that announces
//! itself (`SPINNER`) takes it over from the owner that releases, who then need not wake anybody. So an owner that comes
//! back again and again finds a word without `PARKED`, and neither wakes nor is slowed down, while a waiter looks on.
//!
//! **Hand-off.** A waiter that has waited for [`LONG`] sets `STARVING`. The next owner to release leaves the lock held and
//! sets `GRANTED` in place of it, which starving waiters only may clear, one of them. Any number of waiters may share the
//! claim: whoever sees neither bit claims again.

use crate::host;
use crate::park::{self, Wake};
use crate::raw::free;
use crate::stamp::{LONG, is_due};
use crate::waiting::{Ended, Next, Park, SpinThenPark, Waiting};
use crate::{RawLock, Until, Waited};
use core::marker::PhantomData;
use unspin_sync::atomic::{AtomicU16, AtomicU32, Ordering};

/// Stealing, asleep: see the module.
pub type Steal = Stealing<Park>;

/// Stealing, spinning as long as that pays: see the module.
pub type Adaptive = Stealing<SpinThenPark>;

/// See the module.
#[derive(Debug)]
#[repr(C)]
pub struct Stealing<W> {
    /// Also what waiters sleep on.
    word: AtomicU32,
    /// The process in which `STARVING` was set: see [`host::generation`].
    generation: AtomicU32,
    /// What waiters have learnt: see [`Waiting`].
    memo: AtomicU32,
    /// When the lock was last claimed: see [`stamp`](crate::stamp).
    granted: AtomicU16,
    /// When a sleeper was last woken though a spinner had the duty.
    woken: AtomicU16,
    waiting: PhantomData<W>,
}

/// Somebody holds the lock, or is granted it.
const LOCKED: u32 = 1;
/// Somebody sleeps, or is about to. Set by whoever goes to sleep, and by an owner or leaver who has the duty; cleared by who
/// releases and then wakes one, or leaves it to a spinner. Set in vain: a system call in vain.
const PARKED: u32 = 1 << 1;
/// Somebody spins, and takes over the duty. Set by a spinner if `PARKED` is set, cleared by who releases, and by who
/// acquires or goes to sleep (so that no sleeper relies on a spinner that a fork left behind). Cleared in vain: a spinner sets
/// it again.
const SPINNER: u32 = 1 << 2;
/// Somebody who has waited long wants to be handed the lock. Set while the lock is held, by starving waiters; cleared by who
/// releases, and by starving waiters that acquire or leave.
const STARVING: u32 = 1 << 3;
/// The owner has released, and the lock is for one of those who are starving.
const GRANTED: u32 = 1 << 4;
/// From here on: the owner's CPU plus one, 0 if that is unknown.
const CPU_AT: u32 = 8;
const CPU: u32 = u32::MAX << CPU_AT;

/// Sorts of sleepers: all of them are woken by [`park::wake`].
const ORDINARY: u32 = 1;
const STARVED: u32 = 1 << 1;

// SAFETY: 1. whoever sets LOCKED holds it, and then whoever clears GRANTED; 2. a free one is all zeroes.
unsafe impl<W: Waiting> RawLock for Stealing<W> {
    type Node = ();

    free!(Stealing {
        word: AtomicU32::new(0),
        generation: AtomicU32::new(0),
        memo: AtomicU32::new(0),
        granted: AtomicU16::new(0),
        woken: AtomicU16::new(0),
        waiting: PhantomData,
    });

    #[inline(always)]
    fn try_lock(&self) -> bool {
        self.take_free() || self.try_again()
    }

    #[inline(always)]
    fn lock(&self, _: &mut ()) -> Waited {
        if self.take_free() {
            return Waited::No;
        }
        self.wait(None).expect("without a time there is no timeout")
    }

    #[inline(always)]
    fn lock_until(&self, _: &mut (), until: Until) -> Option<Waited> {
        if self.take_free() { Some(Waited::No) } else { self.wait(Some(until)) }
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        // Relaxed: the exchange orders.
        let word = self.word.load(Ordering::Relaxed);
        // Release: partner of the Acquire in `exchange`. Relaxed: `release` looks again.
        let alone = word & !CPU == LOCKED
            && self.word.compare_exchange(word, 0, Ordering::Release, Ordering::Relaxed).is_ok();
        if !alone {
            self.release();
        }
    }

    fn is_locked(&self) -> bool {
        // Relaxed: a glance.
        self.word.load(Ordering::Relaxed) & LOCKED != 0
    }
}

/// What one waiter is bound to.
#[derive(Default)]
struct Visit {
    /// It may be the only one that knows of sleepers.
    has_duty: bool,
    /// It has waited long.
    starves: bool,
    /// It has been asleep.
    has_slept: bool,
}

impl Visit {
    fn waited(&self) -> Waited {
        if self.has_slept { Waited::Slept } else { Waited::Spun }
    }

    /// The word once this waiter owns the lock.
    fn owned(&self, word: u32) -> u32 {
        let claim = if self.starves { 0 } else { word & STARVING };
        mine() | word & PARKED | claim | self.duty()
    }

    /// The word once this waiter sleeps.
    fn asleep(&self, word: u32) -> u32 {
        (word | PARKED) & !SPINNER
    }

    /// The word once this waiter has left. It was asleep, so it has no duty.
    fn left(&self, word: u32) -> u32 {
        word & if self.starves { !STARVING } else { !0 }
    }

    fn duty(&self) -> u32 {
        if self.has_duty { PARKED } else { 0 }
    }
}

/// The word of a lock that the calling thread owns and nobody waits for.
#[inline(always)]
fn mine() -> u32 {
    LOCKED | host::cpu() << CPU_AT
}

impl<W: Waiting> Stealing<W> {
    #[inline(always)]
    fn take_free(&self) -> bool {
        self.exchange(0, mine())
    }

    #[inline(always)]
    fn exchange(&self, seen: u32, new: u32) -> bool {
        // Acquire: partner of the Release with which the last owner let go. Relaxed: a failure is looked at again.
        self.word.compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// The lock may be free and say that somebody sleeps.
    #[cold]
    fn try_again(&self) -> bool {
        // Relaxed: the exchange orders.
        let mut word = self.word.load(Ordering::Relaxed);
        let visit = Visit::default();
        while self.may_take(&visit, word) {
            if self.exchange(word, visit.owned(word)) {
                return true;
            }
            // Relaxed: as above.
            word = self.word.load(Ordering::Relaxed);
        }
        false
    }

    fn may_take(&self, visit: &Visit, word: u32) -> bool {
        word & LOCKED == 0 || word & GRANTED != 0 && (visit.starves || self.is_claim_of_ghosts())
    }

    /// Whether those who are starving were left behind by a fork.
    #[cold]
    fn is_claim_of_ghosts(&self) -> bool {
        // Relaxed: a claim is made long before it is granted; what is older than that is at worst one round too late.
        self.generation.load(Ordering::Relaxed) != host::generation()
    }

    #[cold]
    fn wait(&self, until: Option<Until>) -> Option<Waited> {
        if self.try_again() {
            return Some(Waited::No);
        }
        host::prepare();
        let arrived = host::ticks();
        let mut visit = Visit::default();
        // Relaxed: advice.
        let mut waiting = W::begin(self.memo.load(Ordering::Relaxed));
        loop {
            // Relaxed: the exchanges order.
            let word = self.word.load(Ordering::Relaxed);
            if self.may_take(&visit, word) {
                if self.exchange(word, visit.owned(word)) {
                    // Relaxed: advice.
                    self.memo.store(waiting.end(Ended::Acquired), Ordering::Relaxed);
                    return Some(visit.waited());
                }
                waiting.lose();
                continue;
            }
            if !self.claims(&mut visit, word, arrived) {
                continue;
            }
            self.announce(&mut visit, word);
            if word & GRANTED == 0 && waiting.pause(word >> CPU_AT) == Next::Look {
                continue;
            }
            let asleep = visit.asleep(word);
            if asleep != word && !self.exchange(word, asleep) {
                continue;
            }
            // Relaxed: advice.
            self.memo.store(waiting.end(Ended::Asleep), Ordering::Relaxed);
            visit.has_duty = false;
            visit.has_slept = true;
            let sort = if visit.starves { ORDINARY | STARVED } else { ORDINARY };
            match park::wait_as(sort, &self.word, asleep, until) {
                Wake::TimedOut => return self.leave(visit),
                Wake::Interrupted => {}
                Wake::Woken => visit.has_duty = true,
            }
            // Relaxed: advice.
            waiting = W::begin(self.memo.load(Ordering::Relaxed));
        }
    }

    /// Puts in the claim of a waiter that has waited long; false: look again.
    fn claims(&self, visit: &mut Visit, word: u32, arrived: u64) -> bool {
        if !visit.starves {
            visit.starves =
                visit.has_slept && host::ticks().wrapping_sub(arrived) > LONG && is_due(&self.granted);
            if !visit.starves {
                return true;
            }
        }
        if word & STARVING != 0 {
            return true;
        }
        // Relaxed: published by the exchange.
        self.generation.store(host::generation(), Ordering::Relaxed);
        // Release: partner of the Acquire in `release`: whoever sees the claim sees whose it is.
        let _ = self.word.compare_exchange(word, word | STARVING, Ordering::Release, Ordering::Relaxed);
        false
    }

    /// A spinner says that it is there, if that saves somebody a wake-up.
    fn announce(&self, visit: &mut Visit, word: u32) {
        if word & (PARKED | SPINNER | LOCKED) == PARKED | LOCKED && self.exchange(word, word | SPINNER) {
            visit.has_duty = true;
        }
    }

    /// The time is over.
    fn leave(&self, visit: Visit) -> Option<Waited> {
        loop {
            // Relaxed: the exchanges order.
            let word = self.word.load(Ordering::Relaxed);
            if self.may_take(&visit, word) {
                if self.exchange(word, visit.owned(word)) {
                    return Some(visit.waited());
                }
                continue;
            }
            let left = visit.left(word);
            if left == word || self.exchange(word, left) {
                return None;
            }
        }
    }

    #[cold]
    fn release(&self) {
        loop {
            // Acquire: partner of the Release in `claims`.
            let word = self.word.load(Ordering::Acquire);
            if word & LOCKED == 0 || word & GRANTED != 0 {
                // Whoever releases does not hold it.
                return;
            }
            if word & STARVING != 0 && !self.is_claim_of_ghosts() {
                if self.let_go(word, word & !(STARVING | CPU) | GRANTED) {
                    park::wake_as(STARVED, &raw const self.word, 1);
                    return;
                }
                continue;
            }
            let left_to_spinner = word & SPINNER != 0 && !is_due(&self.woken);
            if self.let_go(word, 0) {
                if word & PARKED != 0 && !left_to_spinner {
                    park::wake(&raw const self.word, 1);
                }
                return;
            }
        }
    }

    fn let_go(&self, word: u32, new: u32) -> bool {
        // Release: partner of the Acquire in `exchange`. Relaxed: a failure is looked at again.
        self.word.compare_exchange(word, new, Ordering::Release, Ordering::Relaxed).is_ok()
    }
}
