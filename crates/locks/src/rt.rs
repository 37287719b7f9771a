//! Locks that inherit priority: a real-time thread that waits lends its priority to the owner, whatever runs in between.
//!
//! The word is one of the kernel's for priority inheritance (futex(2)): the owner's thread id, so that a waiter can sleep in
//! the kernel's queue, by priority, and the kernel knows whom to boost. In that queue wait
//!
//! - real-time threads, at once and always: strict order and inheritance are for them;
//! - threads that hold such a lock already: somebody may wait for *that* one, and the boost must reach who is in their way;
//! - one at a time of those that have waited long, so that nobody starves.
//!
//! All others ([`RtSteal`], [`RtAdaptive`]) stay out of it: they take the lock when it is free, spin as long as that pays, and
//! sleep on a word of their own. While somebody is in the kernel's queue the lock is never free, but handed on. With
//! [`RtFair`] everybody waits in the kernel's queue.
//!
//! **The duty to wake**, as in [`Stealing`](crate::Stealing): while somebody sleeps on the second word, either the first one says so
//! (`WAKE`), or a thread that is awake has the duty to say so again. The bit lies where the kernel keeps "the owner died":
//! it keeps the bit of a word that it changes, except when it hands the lock on. Therefore whoever got the lock from the kernel
//! says so again, if anybody has ever slept.
//!
//! An owner with `WAKE` clears the bit, then moves the gate on, then releases, and then wakes one. Whoever goes to sleep
//! reads the gate first and then sees to it that the bit is set: so the owner either finds the bit set again, or has moved
//! the gate on after it was read, which keeps the kernel from putting anybody to sleep. After the release the lock is not
//! touched: its memory may be gone.
//!
//! **What is bounded instead of proven**: a queue of the kernel's that empties itself, because times are over, while its owner
//! hands the lock on, takes a `WAKE` along. Sleepers look again after a nap anyway (`deadline`).
//!
//! **Misuse.** A stranger's release is one, unless threads are in the kernel's queue, which only the owner can pass the lock
//! on to. Then the lock is marked as `REVOKED`; the queue's sleepers come back now and then, see that, and leave the queue; the
//! last of them releases. Who acquires its own lock again, or that of a thread that has ended, sleeps until a stranger
//! releases it, as with an ordinary mutex. A thread that is in the queue when the owner ends gets the lock.
//!
//! **After fork()** no bit of the word keeps anybody from anything: whoever releases finds out whether threads of its own
//! process are in the kernel's queue, and to wake sleepers that do not exist is to wake nobody.

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
use crate::stamp::{LONG, is_due};
use crate::waiting::{Ended, Next, Park, SpinThenPark, Waiting};
use crate::{RawLock, Until, Waited, host};
use core::marker::PhantomData;
use deadline::Deadline;
use order::{Lateral, Order, Strict};
use pi::{OWNER, WAITERS};
use unspin_sync::atomic::{AtomicU8, AtomicU16, AtomicU32, Ordering};
use unspin_sys::Errno;

/// Strict order by priority, for all: see the module.
pub type RtFair = Inheriting<Strict>;

/// Strict order for real-time threads; the others steal: see the module.
pub type RtSteal = Inheriting<Lateral<Park>>;

/// [`RtSteal`] and spinning as long as that pays: see the module.
pub type RtAdaptive = Inheriting<Lateral<SpinThenPark>>;

/// See the module.
#[derive(Debug)]
#[repr(C)]
pub struct Inheriting<O> {
    /// The owner's thread id or 0, `WAITERS` (set by the kernel for its queue; cleared by who releases and finds nobody
    /// there) and `WAKE`.
    word: AtomicU32,
    /// On what those sleep who are not in the kernel's queue: `REVOKED`, and a number that is moved on before they are woken.
    gate: AtomicU32,
    /// What waiters have learnt: see [`Waiting`].
    memo: AtomicU16,
    /// When one that had waited long last went into the kernel's queue: see [`stamp`](crate::stamp).
    seated: AtomicU16,
    /// The CPU plus one on which the owner acquired, 0 if that is unknown. The owner's; a hint to others.
    cpu: AtomicU8,
    /// 1: somebody spins. Set by spinners whenever it is 0; cleared by who releases and leaves sleepers to a spinner, and by
    /// each spinner when it stops. Set by a thread that a fork left behind: one wake-up is left out. Written by exchanges:
    /// loom takes plain stores that race for less ordered than the language does.
    spinner: AtomicU8,
    /// 1: somebody has slept on the gate. Never cleared.
    slept: AtomicU8,
    /// The generation, from 1 to 255, of the process in which a thread that has waited long is in the kernel's queue; 0: none is.
    seat: AtomicU8,
    order: PhantomData<O>,
}

/// In the word: somebody sleeps on the gate, or is about to. Set while the lock is held, or kept while it is free; cleared
/// by who wakes one, and by the kernel when it hands the lock on. Set in vain: a system call in vain.
const WAKE: u32 = 1 << 30;
/// In the gate: a stranger has released the lock while threads were in the kernel's queue.
const REVOKED: u32 = 1;
/// In the gate: one wake-up.
const STEP: u32 = 2;
/// How often an owner tries again to have the kernel pass the lock on, which it refuses if the word changes meanwhile.
const TRIES: u32 = 100;

// SAFETY: 1. whoever writes its id over 0 holds the lock, as does whose id the kernel writes there; 2. a free one is all
// zeroes.
unsafe impl<O: Order> RawLock for Inheriting<O> {
    type Node = ();

    free!(Inheriting {
        word: AtomicU32::new(0),
        gate: AtomicU32::new(0),
        memo: AtomicU16::new(0),
        seated: AtomicU16::new(0),
        cpu: AtomicU8::new(0),
        spinner: AtomicU8::new(0),
        slept: AtomicU8::new(0),
        seat: AtomicU8::new(0),
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
        caller::released();
        // Release: partner of the Acquire in `exchange`. Relaxed: `release` looks again.
        if self.word.compare_exchange(caller::tid(), 0, Ordering::Release, Ordering::Relaxed).is_err() {
            self.release();
        }
    }

    fn is_locked(&self) -> bool {
        // Relaxed: a glance.
        self.word.load(Ordering::Relaxed) & OWNER != 0
    }
}

/// One thread's wait.
struct Visit {
    /// `WAKE` if this thread may be the only one that knows of sleepers, otherwise 0.
    duty: u32,
    /// Whether it has set `spinner`.
    spins: bool,
    waited: Waited,
    arrived: u64,
    deadline: Deadline,
}

impl<O: Order> Inheriting<O> {
    /// Acquires a free lock.
    #[inline(always)]
    fn take(&self, free: u32, duty: u32) -> bool {
        let has_it = self.exchange(free, free | duty | caller::tid());
        if has_it {
            self.own();
        }
        has_it
    }

    /// Moves the word on if it is what was seen.
    #[inline(always)]
    fn exchange(&self, seen: u32, new: u32) -> bool {
        // Acquire: partner of the Release with which the last owner let go, and of those who announce that they sleep.
        // Release: partner of that Acquire, for announcements. Relaxed: a failure is looked at again.
        self.word.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// What a new owner notes.
    #[inline(always)]
    fn own(&self) {
        caller::acquired();
        if O::STEALS {
            // Relaxed: a hint.
            self.cpu.store(u8::try_from(host::cpu()).unwrap_or(0), Ordering::Relaxed);
        }
    }

    #[cold]
    fn wait(&self, until: Option<Until>) -> Option<Waited> {
        host::prepare();
        let mut visit = Visit {
            duty: 0,
            spins: false,
            waited: Waited::Spun,
            arrived: host::ticks(),
            deadline: Deadline::new(until),
        };
        // Relaxed, as all of the memo: advice.
        let mut waiting = O::Waiting::begin(self.memo.load(Ordering::Relaxed).into());
        let spins = O::STEALS && !caller::was_urgent();
        loop {
            // Relaxed: the exchange orders.
            let word = self.word.load(Ordering::Relaxed);
            if word & OWNER == 0 {
                if self.take(word, visit.duty) {
                    self.stop_spinning(&mut visit);
                    self.memo.store(memo(waiting.end(Ended::Acquired)), Ordering::Relaxed);
                    return Some(visit.waited);
                }
                waiting.lose();
                continue;
            }
            // With threads in the kernel's queue the lock will not become free, but be handed on.
            // Relaxed: a hint.
            if spins
                && word & WAITERS == 0
                && waiting.pause(u32::from(self.cpu.load(Ordering::Relaxed))) == Next::Look
            {
                self.announce(&mut visit);
                continue;
            }
            self.stop_spinning(&mut visit);
            self.memo.store(memo(waiting.end(Ended::Asleep)), Ordering::Relaxed);
            let outcome = if self.belongs_into_the_queue(&visit) {
                self.queue(&mut visit)
            } else {
                self.sleep(&mut visit)
            };
            match outcome {
                Outcome::Acquired => return Some(visit.waited),
                Outcome::TimedOut => return self.leave(&visit),
                Outcome::Look => waiting = O::Waiting::begin(self.memo.load(Ordering::Relaxed).into()),
            }
        }
    }

    /// A spinner says that it is there.
    fn announce(&self, visit: &mut Visit) {
        // Relaxed: whoever reads it in vain leaves the duty to the word, where the spinner finds it.
        if self.spinner.load(Ordering::Relaxed) == 0 {
            self.spinner.swap(1, Ordering::Relaxed);
            visit.spins = true;
        }
    }

    /// Whatever the thread does next to the word tells others that it spins no more.
    fn stop_spinning(&self, visit: &mut Visit) {
        if visit.spins {
            // Relaxed: published by the next exchange of the word by this thread.
            self.spinner.swap(0, Ordering::Relaxed);
            visit.spins = false;
        }
    }

    /// Asked afresh each time, since a thread's class may change while it waits.
    fn belongs_into_the_queue(&self, visit: &Visit) -> bool {
        !O::STEALS || caller::is_urgent() || self.takes_the_seat(visit)
    }

    /// Whether this thread is the one of those that have waited long who may queue.
    fn takes_the_seat(&self, visit: &Visit) -> bool {
        let here = (host::generation() % 255 + 1) as u8;
        // Relaxed, here and below: nothing is read through it.
        let seat = self.seat.load(Ordering::Relaxed);
        visit.waited == Waited::Slept
            && seat != here
            && host::ticks().wrapping_sub(visit.arrived) > LONG
            // Of many that have waited long one now and then: each time the lock is handed on, it is idle for a while.
            && is_due(&self.seated)
            && self.seat.compare_exchange(seat, here, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Sleeps in the kernel's queue.
    fn queue(&self, visit: &mut Visit) -> Outcome {
        let outcome = loop {
            // Relaxed: seen late, it is seen after the next nap.
            if self.gate.load(Ordering::Relaxed) & REVOKED != 0 {
                break self.sleep(visit);
            }
            match pi::lock(&self.word, visit.deadline.next()) {
                Ok(()) => {
                    self.own_from_kernel();
                    break Outcome::Acquired;
                }
                Err(Errno::ETIMEDOUT) if visit.deadline.is_over() => break Outcome::TimedOut,
                Err(Errno::ETIMEDOUT) => {}
                // Its own, or its owner has ended, or the kernel cannot: it sleeps where a stranger's release wakes it.
                Err(_) => break self.sleep(visit),
            }
        };
        visit.waited = Waited::Slept;
        // Relaxed: as in `takes_the_seat`. One who was urgent clears the seat of another: two may queue then.
        self.seat.store(0, Ordering::Relaxed);
        outcome
    }

    fn own_from_kernel(&self) {
        self.own();
        // Relaxed: whoever slept before the kernel dropped `WAKE` is seen, as the kernel has read his announcement.
        if self.slept.load(Ordering::Relaxed) != 0 {
            // Relaxed: ours until the release.
            self.word.fetch_or(WAKE, Ordering::Relaxed);
        }
        // Relaxed: a stranger's release that came at the same time may be lost.
        if self.gate.load(Ordering::Relaxed) & REVOKED != 0 {
            self.gate.fetch_and(!REVOKED, Ordering::Relaxed);
        }
    }

    /// Sleeps on the gate, until it is woken or has to look whether it starves.
    fn sleep(&self, visit: &mut Visit) -> Outcome {
        // Relaxed: published by the exchange below.
        self.slept.store(1, Ordering::Relaxed);
        // Relaxed: ordered before the exchange below by its Release: see the module.
        let gate = self.gate.load(Ordering::Relaxed);
        if gate & REVOKED != 0 {
            self.recover();
        }
        // Relaxed: the exchange orders.
        let word = self.word.load(Ordering::Relaxed);
        // An exchange even if the bit is set: so that who clears it sees `slept` and `spinner` as we left them.
        if word & OWNER == 0 || !self.exchange(word, word | WAKE) {
            return Outcome::Look;
        }
        visit.duty = 0;
        visit.waited = Waited::Slept;
        match park::wait(&self.gate, gate, visit.deadline.next()) {
            Wake::Woken => visit.duty = WAKE,
            Wake::TimedOut if visit.deadline.is_over() => return Outcome::TimedOut,
            Wake::TimedOut | Wake::Interrupted => {}
        }
        Outcome::Look
    }

    /// The time is over.
    fn leave(&self, visit: &Visit) -> Option<Waited> {
        loop {
            // Relaxed: the exchange orders.
            let word = self.word.load(Ordering::Relaxed);
            if word & OWNER == 0 {
                if self.take(word, visit.duty) {
                    return Some(visit.waited);
                }
            } else if self.exchange(word, word | visit.duty) {
                return None;
            }
        }
    }

    #[cold]
    fn release(&self) {
        let me = caller::tid();
        // Whether we have cleared WAKE and woken nobody yet.
        let mut owes = false;
        let mut tries = 0;
        loop {
            // Relaxed: the exchanges order.
            let word = self.word.load(Ordering::Relaxed);
            let owner = word & OWNER;
            if owner == 0 {
                // Whoever releases does not hold it, or not alone.
                return;
            }
            if word & WAITERS != 0 && self.is_queued_for(owner == me) {
                if owner == me && tries < TRIES {
                    tries += 1;
                    if self.hand_on() {
                        return;
                    }
                    continue;
                }
                // Relaxed: seen by those in the queue when they look.
                self.gate.fetch_or(REVOKED, Ordering::Relaxed);
                return;
            }
            if word & WAITERS != 0 {
                self.clear_waiters(word);
            } else if word & WAKE != 0 {
                owes |= self.exchange(word, owner);
            } else if !owes {
                if self.let_go(owner, 0) {
                    return;
                }
            } else if self.leave_to_spinner() {
                if self.let_go(owner, WAKE) {
                    return;
                }
            } else {
                // Release: after the exchange that cleared WAKE, and seen by who announces itself after it.
                self.gate.fetch_add(STEP, Ordering::AcqRel);
                let gate = &raw const self.gate;
                if self.let_go(owner, 0) {
                    park::wake(gate, 1);
                    return;
                }
            }
        }
    }

    fn let_go(&self, owner: u32, free: u32) -> bool {
        // Release: partner of the Acquire in `exchange`. Relaxed: a failure is looked at again.
        self.word.compare_exchange(owner, free, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Whether threads of this process are in the kernel's queue. An owner with [`RtFair`] need not know: to pass the lock on to
    /// nobody is to release it, and nobody sleeps on the gate for long.
    fn is_queued_for(&self, by_owner: bool) -> bool {
        (!O::STEALS && by_owner) || pi::has_waiters(&self.word)
    }

    /// Passes the lock on to the first in the kernel's queue.
    fn hand_on(&self) -> bool {
        // Relaxed: as in `own_from_kernel`.
        if self.gate.load(Ordering::Relaxed) & REVOKED != 0 {
            self.gate.fetch_and(!REVOKED, Ordering::Relaxed);
        }
        pi::unlock(&self.word).is_ok()
    }

    /// Nobody was in the kernel's queue. Whoever enters it sets the bit while the kernel's lock is held that `has_waiters`
    /// waits for: so either we see him, or he comes after us and sets the bit again.
    fn clear_waiters(&self, word: u32) {
        if self.exchange(word, word & !WAITERS) && pi::has_waiters(&self.word) {
            // Relaxed: the lock is held; who releases it looks at all of the word.
            self.word.fetch_or(WAITERS, Ordering::Relaxed);
        }
    }

    /// Whether a spinner is there: it finds the lock, or sees to it that somebody else is woken.
    fn leave_to_spinner(&self) -> bool {
        // Relaxed: whoever stopped spinning has written that before the exchange that we have seen.
        let spins = self.spinner.load(Ordering::Relaxed) != 0;
        if spins {
            // Relaxed: a spinner that is still there sets it again.
            self.spinner.swap(0, Ordering::Relaxed);
        }
        spins
    }

    /// Releases a lock that was revoked, if nobody is in the kernel's queue any more.
    #[cold]
    fn recover(&self) {
        // Relaxed, here and below: of those who come at the same time one clears the bit.
        if !pi::has_waiters(&self.word) && self.gate.fetch_and(!REVOKED, Ordering::Relaxed) & REVOKED != 0 {
            self.release();
        }
    }
}

/// What came of sleeping.
enum Outcome {
    Acquired,
    TimedOut,
    Look,
}

/// Cut to the room that there is. Advice is no more than that.
fn memo(advice: u32) -> u16 {
    u16::try_from(advice).unwrap_or(u16::MAX)
}
