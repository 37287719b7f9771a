//! Locks with priority inheritance: a real-time thread that waits lends its priority to the owner, so that no thread of
//! a priority in between delays the owner.
//!
//! The lock word follows the kernel's protocol for priority-inheriting futexes (futex(2)): it holds the owner's thread
//! id. So a waiter can sleep in the kernel's queue, which is ordered by priority, and the kernel knows which thread to
//! boost. These threads wait in that queue:
//!
//! - real-time threads, always and at once: strict order and inheritance are meant for them;
//! - threads that already hold such a lock: a real-time thread may wait for *that* lock, and the boost must reach the
//!   thread that delays it;
//! - one at a time of the threads that have waited long, so that no thread starves.
//!
//! All other threads ([`RtSteal`], [`RtAdaptive`]) stay out of the kernel's queue. They take the lock when it is free,
//! spin adaptively, and sleep on a second word, the *gate*. While a thread is in the kernel's queue the lock is never
//! free, but handed on. With [`RtFair`] every thread waits in the kernel's queue.
//!
//! **The duty to wake**, as in [`Stealing`](crate::Stealing): while a thread sleeps on the gate, either the lock word
//! says so (`WAKE`), or a thread that is awake has the duty to set `WAKE` again. `WAKE` occupies the bit in which the
//! kernel reports "the owner died". The kernel keeps that bit when it changes the word, except when it hands the lock
//! on. Therefore a thread that got the lock from the kernel sets `WAKE` again if any thread has ever slept on the gate.
//!
//! An owner that finds `WAKE` clears the bit, then advances the gate, then releases, and then wakes one sleeper. A
//! thread that goes to sleep first reads the gate and then makes sure that `WAKE` is set. So there are two cases.
//! Either the owner finds the bit set again; or the owner has advanced the gate after the thread read it, and then the
//! kernel does not put the thread to sleep. The owner does not touch the lock after the release, because its memory may
//! be gone.
//!
//! **What is bounded instead of proven**: while the owner hands the lock on, the kernel's queue may become empty,
//! because timeouts expire. Then a `WAKE` is lost. Sleepers wake up periodically anyway (`deadline`).
//!
//! **Misuse.** A foreign unlock (by a thread that is not the owner) releases the lock, unless threads are in the
//! kernel's queue: only the owner can hand the lock to them. In that case the lock is marked `REVOKED`. The sleepers of
//! the kernel's queue wake up periodically, see the mark and leave the queue; the last of them releases the lock. A
//! thread that acquires a lock again that it already holds, or a lock whose owner thread has ended, sleeps until a
//! foreign unlock, as with an ordinary mutex. A thread that is already in the queue when the owner ends gets the lock.
//!
//! **After fork()** stale bits of the word do no harm. `unlock` finds out whether threads of its own process are in the
//! kernel's queue, and a wake-up for sleepers that do not exist has no effect.

mod caller;
mod deadline;
#[cfg(all(test, loom))]
mod models;
mod order;
mod pi;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use crate::park::{self, Wake};
use crate::raw::free;
use crate::stamp::{is_due, is_long};
use crate::waiting::{Park, SpinEnd, SpinPolicy, SpinStep, SpinThenPark};
use crate::{RawLock, Until, Waited, host};
use core::marker::PhantomData;
use deadline::Deadline;
use order::{QueueAll, QueuePolicy, QueueUrgent};
use pi::{OWNER, WAITERS};
use unspin_sync::atomic::{AtomicU8, AtomicU16, AtomicU32, Ordering};
use unspin_sys::Errno;

/// Strict order by priority for all threads: see the module documentation.
pub type RtFair = PriorityInheriting<QueueAll>;

/// Strict order for real-time threads; the others steal: see the module documentation.
pub type RtSteal = PriorityInheriting<QueueUrgent<Park>>;

/// [`RtSteal`] with adaptive spinning: see the module documentation.
pub type RtAdaptive = PriorityInheriting<QueueUrgent<SpinThenPark>>;

/// A lock with priority inheritance.
#[derive(Debug)]
#[repr(C)]
pub struct PriorityInheriting<O> {
    /// The owner's thread id or 0; `WAITERS` (set by the kernel for its queue, cleared by `unlock` when the queue is
    /// empty); and `WAKE`.
    word: AtomicU32,
    /// The futex of sleepers that are not in the kernel's queue: `REVOKED`, and a counter that is advanced before they
    /// are woken.
    gate: AtomicU32,
    /// What waits have learnt: see [`SpinPolicy`].
    memo: AtomicU16,
    /// When a thread that had waited long last entered the kernel's queue: see [`stamp`](crate::stamp).
    starved_at: AtomicU16,
    /// 1 plus the CPU on which the owner acquired, 0 if unknown. Written by the owner; only a hint for others.
    cpu: AtomicU8,
    /// 1: a thread spins. A spinner sets it if it is 0. `unlock` clears it when it leaves the sleepers to a spinner,
    /// and each spinner clears it when it stops. If a thread that does not exist after a fork set it, one wake-up is
    /// left out. It is written by exchanges, because loom orders racing plain stores less strictly than the language
    /// does.
    spinner: AtomicU8,
    /// 1: a thread has slept on the gate. Never cleared.
    slept: AtomicU8,
    /// The generation (1 to 255) of the process in which a thread that has waited long is in the kernel's queue; 0: no
    /// such thread.
    starved_slot: AtomicU8,
    order: PhantomData<O>,
}

/// In the word: a thread sleeps on the gate, or is about to. Set while the lock is held; may stay set while it is free.
/// Cleared by an owner that then wakes one sleeper, and by the kernel when it hands the lock on. Set needlessly, it
/// costs one system call.
const WAKE: u32 = 1 << 30;
/// In the gate: a foreign unlock happened while threads were in the kernel's queue.
const REVOKED: u32 = 1;
/// In the gate: one wake-up.
const STEP: u32 = 2;
/// How often an owner retries the kernel's hand-off, which the kernel refuses if the word changes meanwhile.
const TRIES: u32 = 100;

// SAFETY: 1. the thread that replaces 0 by its id holds the lock, as does the thread whose id the kernel writes there;
// 2. a free lock is all zeroes.
unsafe impl<O: QueuePolicy> RawLock for PriorityInheriting<O> {
    type Node = ();

    free!(PriorityInheriting {
        word: AtomicU32::new(0),
        gate: AtomicU32::new(0),
        memo: AtomicU16::new(0),
        starved_at: AtomicU16::new(0),
        cpu: AtomicU8::new(0),
        spinner: AtomicU8::new(0),
        slept: AtomicU8::new(0),
        starved_slot: AtomicU8::new(0),
        order: PhantomData,
    });

    #[inline(always)]
    fn try_lock(&self) -> bool {
        self.take(0, 0) || self.take(WAKE, 0)
    }

    #[inline(always)]
    fn lock(&self, _: &mut ()) -> Waited {
        if self.take(0, 0) {
            return Waited::No;
        }
        self.wait(None).expect("without a time there is no timeout")
    }

    #[inline(always)]
    fn lock_until(&self, _: &mut (), until: Until) -> Option<Waited> {
        if self.take(0, 0) { Some(Waited::No) } else { self.wait(Some(until)) }
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        caller::note_released();
        // Release: partner of the Acquire in `exchange`. Relaxed on failure: `release` reads the word again.
        if self.word.compare_exchange(caller::tid(), 0, Ordering::Release, Ordering::Relaxed).is_err() {
            self.release();
        }
    }

    fn is_locked(&self) -> bool {
        // Relaxed: a snapshot, which orders nothing.
        self.word.load(Ordering::Relaxed) & OWNER != 0
    }
}

/// One thread's wait.
struct WaitState {
    /// `WAKE` if this thread may be the only one that knows of sleepers, otherwise 0.
    wake_duty: u32,
    /// Whether this thread has set `spinner`.
    spins: bool,
    waited: Waited,
    arrived: u64,
    deadline: Deadline,
}

impl<O: QueuePolicy> PriorityInheriting<O> {
    /// Acquires a free lock.
    #[inline(always)]
    fn take(&self, free: u32, wake_duty: u32) -> bool {
        let has_it = self.exchange(free, free | wake_duty | caller::tid());
        if has_it {
            self.record_owner();
        }
        has_it
    }

    /// Changes the word from `seen` to `new`; fails if it is no longer `seen`.
    #[inline(always)]
    fn exchange(&self, seen: u32, new: u32) -> bool {
        // Acquire: partner of the Release with which the last owner released, and with which sleepers set `WAKE`.
        // Release: partner of that Acquire, when we set `WAKE`. Relaxed on failure: the caller reads the word again.
        self.word.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// What a new owner records.
    #[inline(always)]
    fn record_owner(&self) {
        caller::note_acquired();
        if O::STEALS {
            // Relaxed: only a hint.
            self.cpu.store(u8::try_from(host::cpu()).unwrap_or(0), Ordering::Relaxed);
        }
    }

    #[cold]
    fn wait(&self, until: Option<Until>) -> Option<Waited> {
        host::prepare();
        let mut wait = WaitState {
            wake_duty: 0,
            spins: false,
            waited: Waited::Spun,
            arrived: host::ticks(),
            deadline: Deadline::new(until),
        };
        // Relaxed, as for every access to the memo: it is only a hint.
        let mut waiting = O::SpinPolicy::begin(self.memo.load(Ordering::Relaxed).into());
        let spins = O::STEALS && !caller::was_urgent();
        loop {
            // Relaxed: the compare-exchange provides the ordering.
            let word = self.word.load(Ordering::Relaxed);
            if word & OWNER == 0 {
                if self.take(word, wait.wake_duty) {
                    self.stop_spinning(&mut wait);
                    self.memo.store(truncated_memo(waiting.end(SpinEnd::Acquired)), Ordering::Relaxed);
                    return Some(wait.waited);
                }
                waiting.lost_race();
                continue;
            }
            // While threads are in the kernel's queue the lock does not become free; it is handed on.
            // Relaxed: only a hint.
            if spins
                && word & WAITERS == 0
                && waiting.pause(u32::from(self.cpu.load(Ordering::Relaxed))) == SpinStep::Recheck
            {
                self.announce(&mut wait);
                continue;
            }
            self.stop_spinning(&mut wait);
            self.memo.store(truncated_memo(waiting.end(SpinEnd::Asleep)), Ordering::Relaxed);
            let outcome =
                if self.must_queue(&wait) { self.wait_in_queue(&mut wait) } else { self.sleep(&mut wait) };
            match outcome {
                SleepOutcome::Acquired => return Some(wait.waited),
                SleepOutcome::TimedOut => return self.give_up(&wait),
                SleepOutcome::Recheck => {
                    waiting = O::SpinPolicy::begin(self.memo.load(Ordering::Relaxed).into())
                }
            }
        }
    }

    /// A spinner announces itself.
    fn announce(&self, wait: &mut WaitState) {
        // Relaxed: an owner that reads a stale 1 leaves `WAKE` in the word, and a spinner or an acquiring thread finds
        // it there.
        if self.spinner.load(Ordering::Relaxed) == 0 {
            self.spinner.swap(1, Ordering::Relaxed);
            wait.spins = true;
        }
    }

    /// Withdraws the announcement. Other threads see that with this thread's next exchange of the word.
    fn stop_spinning(&self, wait: &mut WaitState) {
        if wait.spins {
            // Relaxed: published by the next exchange of the word by this thread.
            self.spinner.swap(0, Ordering::Relaxed);
            wait.spins = false;
        }
    }

    /// Evaluated before each sleep, because a thread's scheduling class may change while it waits.
    fn must_queue(&self, wait: &WaitState) -> bool {
        !O::STEALS || caller::is_urgent() || self.claims_starved_slot(wait)
    }

    /// Whether this thread has waited long and becomes the only such thread in the kernel's queue.
    fn claims_starved_slot(&self, wait: &WaitState) -> bool {
        let here = (host::generation() % 255 + 1) as u8;
        // Relaxed, here and below: no other data is read through it.
        let starved_slot = self.starved_slot.load(Ordering::Relaxed);
        wait.waited == Waited::Slept
            && starved_slot != here
            && is_long(host::ticks().wrapping_sub(wait.arrived))
            // Only now and then: each hand-off leaves the lock idle for a while.
            && is_due(&self.starved_at)
            && self.starved_slot.compare_exchange(starved_slot, here, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Sleeps in the kernel's queue.
    fn wait_in_queue(&self, wait: &mut WaitState) -> SleepOutcome {
        let outcome = loop {
            // Relaxed: if this load misses the mark, the load after the next nap sees it.
            if self.gate.load(Ordering::Relaxed) & REVOKED != 0 {
                break self.sleep(wait);
            }
            match pi::lock(&self.word, wait.deadline.next()) {
                Ok(()) => {
                    self.record_owner_from_kernel();
                    break SleepOutcome::Acquired;
                }
                Err(Errno::ETIMEDOUT) if wait.deadline.is_over() => break SleepOutcome::TimedOut,
                Err(Errno::ETIMEDOUT) => {}
                // The caller owns the lock itself, or the owner has ended, or the kernel cannot: sleep until a foreign
                // unlock.
                Err(_) => break self.sleep(wait),
            }
        };
        wait.waited = Waited::Slept;
        // Relaxed: as in `claims_starved_slot`. A real-time thread may clear the starved_slot of another thread here;
        // then two may queue.
        self.starved_slot.store(0, Ordering::Relaxed);
        outcome
    }

    fn record_owner_from_kernel(&self) {
        self.record_owner();
        // Relaxed: a thread that slept before the kernel dropped `WAKE` is seen, because the kernel has read the word
        // that it set.
        if self.slept.load(Ordering::Relaxed) != 0 {
            // Relaxed: the word is ours until the release.
            self.word.fetch_or(WAKE, Ordering::Relaxed);
        }
        // Relaxed: a concurrent foreign unlock may be lost.
        if self.gate.load(Ordering::Relaxed) & REVOKED != 0 {
            self.gate.fetch_and(!REVOKED, Ordering::Relaxed);
        }
    }

    /// Sleeps on the gate until a wake-up, a timeout or the end of a nap.
    fn sleep(&self, wait: &mut WaitState) -> SleepOutcome {
        // Relaxed: published by the exchange below.
        self.slept.store(1, Ordering::Relaxed);
        // Relaxed: the exchange below orders this load before it by its Release; see the module documentation.
        let gate = self.gate.load(Ordering::Relaxed);
        if gate & REVOKED != 0 {
            self.recover();
        }
        // Relaxed: the compare-exchange provides the ordering.
        let word = self.word.load(Ordering::Relaxed);
        // An exchange even if `WAKE` is set already, so that the thread that clears `WAKE` sees our writes of `slept`
        // and `spinner`.
        if word & OWNER == 0 || !self.exchange(word, word | WAKE) {
            return SleepOutcome::Recheck;
        }
        wait.wake_duty = 0;
        wait.waited = Waited::Slept;
        match park::wait(&self.gate, gate, wait.deadline.next()) {
            Wake::Woken => wait.wake_duty = WAKE,
            Wake::TimedOut if wait.deadline.is_over() => return SleepOutcome::TimedOut,
            Wake::TimedOut | Wake::Interrupted => {}
        }
        SleepOutcome::Recheck
    }

    /// The timeout has passed: leaves, or takes the lock if that is possible now.
    fn give_up(&self, wait: &WaitState) -> Option<Waited> {
        loop {
            // Relaxed: the compare-exchange provides the ordering.
            let word = self.word.load(Ordering::Relaxed);
            if word & OWNER == 0 {
                if self.take(word, wait.wake_duty) {
                    return Some(wait.waited);
                }
            } else if self.exchange(word, word | wait.wake_duty) {
                return None;
            }
        }
    }

    #[cold]
    fn release(&self) {
        let me = caller::tid();
        // Whether we have cleared `WAKE` and not yet woken a thread.
        let mut must_wake = false;
        let mut tries = 0;
        loop {
            // Relaxed: the compare-exchanges provide the ordering.
            let word = self.word.load(Ordering::Relaxed);
            let owner = word & OWNER;
            if owner == 0 {
                // The calling thread releases a lock that is free, or another thread released it at the same time.
                return;
            }
            if word & WAITERS != 0 && self.is_queued_for(owner == me) {
                if owner == me && tries < TRIES {
                    tries += 1;
                    if self.hand_off() {
                        return;
                    }
                    continue;
                }
                // Relaxed: the threads in the kernel's queue see it when they wake up.
                self.gate.fetch_or(REVOKED, Ordering::Relaxed);
                return;
            }
            if word & WAITERS != 0 {
                self.clear_waiters(word);
            } else if word & WAKE != 0 {
                must_wake |= self.exchange(word, owner);
            } else if !must_wake {
                if self.try_release(owner, 0) {
                    return;
                }
            } else if self.defer_to_spinner() {
                if self.try_release(owner, WAKE) {
                    return;
                }
            } else {
                // Release: ordered after the exchange that cleared `WAKE`; read by threads that set `WAKE` after that.
                self.gate.fetch_add(STEP, Ordering::AcqRel);
                let gate = &raw const self.gate;
                if self.try_release(owner, 0) {
                    park::wake(gate, 1);
                    return;
                }
            }
        }
    }

    fn try_release(&self, owner: u32, free: u32) -> bool {
        // Release: partner of the Acquire in `exchange`. Relaxed on failure: the caller reads the word again.
        self.word.compare_exchange(owner, free, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Whether threads of this process are in the kernel's queue. An owner with [`RtFair`] need not ask: a hand-off to
    /// an empty queue is a release, and threads sleep on the gate only for short times.
    fn is_queued_for(&self, by_owner: bool) -> bool {
        (!O::STEALS && by_owner) || pi::has_waiters(&self.word)
    }

    /// Hands the lock to the first thread in the kernel's queue.
    fn hand_off(&self) -> bool {
        // Relaxed: as in `record_owner_from_kernel`.
        if self.gate.load(Ordering::Relaxed) & REVOKED != 0 {
            self.gate.fetch_and(!REVOKED, Ordering::Relaxed);
        }
        pi::unlock(&self.word).is_ok()
    }

    /// Clears `WAITERS` when the kernel's queue was empty. A thread that enters the queue sets the bit under the kernel
    /// lock that `has_waiters` also takes. So either the second `has_waiters` sees the thread, or the thread comes
    /// later and sets the bit again.
    fn clear_waiters(&self, word: u32) {
        if self.exchange(word, word & !WAITERS) && pi::has_waiters(&self.word) {
            // Relaxed: the lock is held, and its owner reads the whole word when it releases.
            self.word.fetch_or(WAITERS, Ordering::Relaxed);
        }
    }

    /// Whether there is a spinner. The spinner will acquire the lock, or make sure that another thread is woken.
    fn defer_to_spinner(&self) -> bool {
        // Relaxed: a spinner that stopped wrote this before the exchange of the word that we have seen.
        let spins = self.spinner.load(Ordering::Relaxed) != 0;
        if spins {
            // Relaxed: a spinner that still spins sets it again.
            self.spinner.swap(0, Ordering::Relaxed);
        }
        spins
    }

    /// Releases a revoked lock once the kernel's queue is empty.
    #[cold]
    fn recover(&self) {
        // Relaxed, here and below: of several threads at once, only one clears the bit.
        if !pi::has_waiters(&self.word) && self.gate.fetch_and(!REVOKED, Ordering::Relaxed) & REVOKED != 0 {
            self.release();
        }
    }
}

/// The result of a sleep.
enum SleepOutcome {
    Acquired,
    TimedOut,
    Recheck,
}

/// Cuts the advice to 16 bits. It is only a hint.
fn truncated_memo(memo: u32) -> u16 {
    u16::try_from(memo).unwrap_or(u16::MAX)
}
