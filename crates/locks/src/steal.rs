//! Lock stealing: a thread that finds the lock free takes it, even if others wait. An owner that releases first frees
//! the lock and then wakes one sleeper, so the lock is not idle during the wake-up. A waiter that has waited long is
//! handed the lock.
//!
//! **The duty to wake.** While any thread sleeps, one of two things holds. Either the word says so (`PARKED`), or a
//! thread that is awake has the *duty*: it must set `PARKED` again as soon as it owns the lock or goes to sleep. A
//! woken thread has the duty. A spinner that announces itself (`SPINNER`) takes the duty from the releasing owner,
//! which then need not wake a sleeper. So an owner that acquires again and again while a spinner is there finds a word
//! without `PARKED`: it wakes no thread and takes the fast path.
//!
//! **Hand-off.** A waiter that has [waited long](is_long) sets `STARVING`. The next `unlock` leaves the lock held and
//! replaces `STARVING` by `GRANTED`. Only starving waiters may clear `GRANTED`, and exactly one of them does. Several
//! waiters may share one claim: a starving waiter that sees neither bit claims again.

use crate::host;
use crate::park::{self, Wake};
use crate::raw::free;
use crate::stamp::{is_due, is_long};
use crate::waiting::{Park, SpinEnd, SpinPolicy, SpinStep, SpinThenPark};
use crate::{RawLock, Until, Waited};
use core::marker::PhantomData;
use unspin_sync::atomic::{AtomicU16, AtomicU32, Ordering};

/// Stealing; waiters sleep: see the module documentation.
pub type Steal = Stealing<Park>;

/// Stealing; waiters spin adaptively, then sleep: see the module documentation.
pub type Adaptive = Stealing<SpinThenPark>;

/// A lock that any thread takes if it finds it free.
#[derive(Debug)]
#[repr(C)]
pub struct Stealing<W> {
    /// The lock state, and the futex on which waiters sleep.
    word: AtomicU32,
    /// Generation of the process in which `STARVING` was set: see [`host::generation`].
    generation: AtomicU32,
    /// What waits have learnt: see [`SpinPolicy`].
    memo: AtomicU32,
    /// When `STARVING` was last claimed: see [`stamp`](crate::stamp).
    granted: AtomicU16,
    /// When a sleeper was last woken although a spinner had the duty.
    woken: AtomicU16,
    waiting: PhantomData<W>,
}

/// A thread holds the lock, or the lock is granted to a starving waiter.
const LOCKED: u32 = 1;
/// A thread sleeps, or is about to. Set by a thread that goes to sleep, and by an acquiring thread that has the duty.
/// Cleared by `unlock`, which then wakes one sleeper or leaves that to a spinner. Set needlessly, it costs one system
/// call.
const PARKED: u32 = 1 << 1;
/// A thread spins and takes over the duty. Set by a spinner if `PARKED` is set. Cleared by `unlock`, and by a thread
/// that acquires or goes to sleep (so that no sleeper depends on a spinner that does not exist after a fork). Cleared
/// needlessly, it is set again by a spinner.
const SPINNER: u32 = 1 << 2;
/// A waiter that has waited long requests a hand-off. Set by starving waiters while the lock is held. Cleared by
/// `unlock`, and by starving waiters that acquire or leave.
const STARVING: u32 = 1 << 3;
/// The owner has released, and the lock is reserved for one of the starving waiters.
const GRANTED: u32 = 1 << 4;
/// Shift of the highest field: 1 plus the number of the owner's CPU, 0 if unknown.
const CPU_AT: u32 = 8;
const CPU: u32 = u32::MAX << CPU_AT;

/// Sorts of sleepers. [`park::wake`] wakes any sort.
const ORDINARY: u32 = 1;
const STARVED: u32 = 1 << 1;

// SAFETY: 1. the thread that sets LOCKED holds the lock, and after a hand-off the thread that clears GRANTED; 2. a free
// lock is all zeroes.
unsafe impl<W: SpinPolicy> RawLock for Stealing<W> {
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
        self.take_free() || self.try_take()
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
        // Relaxed: the compare-exchange provides the ordering.
        let word = self.word.load(Ordering::Relaxed);
        // Release: partner of the Acquire in `exchange`. Relaxed on failure: `release` reads the word again.
        let alone = word & !CPU == LOCKED
            && self.word.compare_exchange(word, 0, Ordering::Release, Ordering::Relaxed).is_ok();
        if !alone {
            self.release();
        }
    }

    fn is_locked(&self) -> bool {
        // Relaxed: a snapshot, which orders nothing.
        self.word.load(Ordering::Relaxed) & LOCKED != 0
    }
}

/// The state of one thread's wait.
#[derive(Default)]
struct WaitState {
    /// The thread may be the only one that knows of sleepers, so it must set `PARKED`.
    has_wake_duty: bool,
    /// The thread has waited long.
    starves: bool,
    /// The thread has slept.
    has_slept: bool,
}

impl WaitState {
    fn waited(&self) -> Waited {
        if self.has_slept { Waited::Slept } else { Waited::Spun }
    }

    /// The word once this waiter owns the lock.
    fn word_if_owned(&self, word: u32) -> u32 {
        let claim = if self.starves { 0 } else { word & STARVING };
        own_word() | word & PARKED | claim | self.parked_if_duty()
    }

    /// The word once this waiter sleeps.
    fn word_if_asleep(&self, word: u32) -> u32 {
        (word | PARKED) & !SPINNER
    }

    /// The word once this waiter has left. It was asleep, so it has no duty.
    fn word_if_left(&self, word: u32) -> u32 {
        word & if self.starves { !STARVING } else { !0 }
    }

    fn parked_if_duty(&self) -> u32 {
        if self.has_wake_duty { PARKED } else { 0 }
    }
}

/// The word of a lock that the calling thread owns and no other thread waits for.
#[inline(always)]
fn own_word() -> u32 {
    LOCKED | host::cpu() << CPU_AT
}

impl<W: SpinPolicy> Stealing<W> {
    /// Takes a lock for which no thread waits, by one compare-exchange. It may fail where [`RawLock::try_lock`] does
    /// not: for a lock that is free while threads sleep or spin.
    #[inline(always)]
    pub fn try_lock_uncontended(&self) -> bool {
        self.take_free()
    }

    #[inline(always)]
    fn take_free(&self) -> bool {
        self.exchange(0, own_word())
    }

    #[inline(always)]
    fn exchange(&self, seen: u32, new: u32) -> bool {
        // Acquire: partner of the Release in `try_release` and `unlock`, by the last owner. Relaxed on failure: the
        // caller reads the word again.
        self.word.compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Tries to take a lock that is free although its word is not 0: other bits may say that threads sleep or spin.
    #[cold]
    fn try_take(&self) -> bool {
        // Relaxed: the compare-exchange provides the ordering.
        let mut word = self.word.load(Ordering::Relaxed);
        let wait = WaitState::default();
        while self.may_take(&wait, word) {
            if self.exchange(word, wait.word_if_owned(word)) {
                return true;
            }
            // Relaxed: as above.
            word = self.word.load(Ordering::Relaxed);
        }
        false
    }

    fn may_take(&self, wait: &WaitState, word: u32) -> bool {
        word & LOCKED == 0 || word & GRANTED != 0 && (wait.starves || self.is_claim_from_parent())
    }

    /// Whether the starving waiters are threads of the parent process, which do not exist after a fork.
    #[cold]
    fn is_claim_from_parent(&self) -> bool {
        // Relaxed: a claim is made long before it is granted. An older value makes the caller at worst one round late.
        self.generation.load(Ordering::Relaxed) != host::generation()
    }

    #[cold]
    fn wait(&self, until: Option<Until>) -> Option<Waited> {
        if self.try_take() {
            return Some(Waited::No);
        }
        host::prepare();
        let arrived = host::ticks();
        let mut wait = WaitState::default();
        // Relaxed: the memo is only a hint.
        let mut waiting = W::begin(self.memo.load(Ordering::Relaxed));
        loop {
            // Relaxed: the compare-exchanges provide the ordering.
            let word = self.word.load(Ordering::Relaxed);
            if self.may_take(&wait, word) {
                if self.exchange(word, wait.word_if_owned(word)) {
                    // Relaxed: the memo is only a hint.
                    self.memo.store(waiting.end(SpinEnd::Acquired), Ordering::Relaxed);
                    return Some(wait.waited());
                }
                waiting.lost_race();
                continue;
            }
            if !self.claim_hand_off(&mut wait, word, arrived) {
                continue;
            }
            self.announce(&mut wait, word);
            if word & GRANTED == 0 && waiting.pause(word >> CPU_AT) == SpinStep::Recheck {
                continue;
            }
            let asleep = wait.word_if_asleep(word);
            if asleep != word && !self.exchange(word, asleep) {
                continue;
            }
            // Relaxed: the memo is only a hint.
            self.memo.store(waiting.end(SpinEnd::Asleep), Ordering::Relaxed);
            wait.has_wake_duty = false;
            wait.has_slept = true;
            let sort = if wait.starves { ORDINARY | STARVED } else { ORDINARY };
            match park::wait_as(sort, &self.word, asleep, until) {
                Wake::TimedOut => return self.give_up(wait),
                Wake::Interrupted => {}
                Wake::Woken => wait.has_wake_duty = true,
            }
            // Relaxed: the memo is only a hint.
            waiting = W::begin(self.memo.load(Ordering::Relaxed));
        }
    }

    /// Sets `STARVING` for a waiter that has waited long. False: the caller must read the word again.
    fn claim_hand_off(&self, wait: &mut WaitState, word: u32, arrived: u64) -> bool {
        if !wait.starves {
            wait.starves =
                wait.has_slept && is_long(host::ticks().wrapping_sub(arrived)) && is_due(&self.granted);
            if !wait.starves {
                return true;
            }
        }
        if word & STARVING != 0 {
            return true;
        }
        // Relaxed: published by the exchange.
        self.generation.store(host::generation(), Ordering::Relaxed);
        // Release: partner of the Acquire in `release`: a thread that sees the claim sees its generation.
        let _ = self.word.compare_exchange(word, word | STARVING, Ordering::Release, Ordering::Relaxed);
        false
    }

    /// Announces a spinner if that saves the owner a wake-up.
    fn announce(&self, wait: &mut WaitState, word: u32) {
        if word & (PARKED | SPINNER | LOCKED) == PARKED | LOCKED && self.exchange(word, word | SPINNER) {
            wait.has_wake_duty = true;
        }
    }

    /// The timeout has passed: leaves, or takes the lock if that is possible now.
    fn give_up(&self, wait: WaitState) -> Option<Waited> {
        loop {
            // Relaxed: the compare-exchanges provide the ordering.
            let word = self.word.load(Ordering::Relaxed);
            if self.may_take(&wait, word) {
                if self.exchange(word, wait.word_if_owned(word)) {
                    return Some(wait.waited());
                }
                continue;
            }
            let left = wait.word_if_left(word);
            if left == word || self.exchange(word, left) {
                return None;
            }
        }
    }

    #[cold]
    fn release(&self) {
        loop {
            // Acquire: partner of the Release in `claim_hand_off`.
            let word = self.word.load(Ordering::Acquire);
            if word & LOCKED == 0 || word & GRANTED != 0 {
                // The calling thread releases a lock that it does not hold.
                return;
            }
            if word & STARVING != 0 && !self.is_claim_from_parent() {
                if self.try_release(word, word & !(STARVING | CPU) | GRANTED) {
                    park::wake_as(STARVED, &raw const self.word, 1);
                    return;
                }
                continue;
            }
            let left_to_spinner = word & SPINNER != 0 && !is_due(&self.woken);
            if self.try_release(word, 0) {
                if word & PARKED != 0 && !left_to_spinner {
                    park::wake(&raw const self.word, 1);
                }
                return;
            }
        }
    }

    fn try_release(&self, word: u32, new: u32) -> bool {
        // Release: partner of the Acquire in `exchange`. Relaxed on failure: the caller reads the word again.
        self.word.compare_exchange(word, new, Ordering::Release, Ordering::Relaxed).is_ok()
    }
}
