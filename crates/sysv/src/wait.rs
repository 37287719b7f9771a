//! Waiting for one's operation to be performed: spinning briefly while that can help (see [`crate::patience`]), then
//! asleep.
//!
//! A sleeper looks up from time to time: whoever was to serve it may have been killed between two instructions. It
//! looks after 50 ms, then less and less often.

use crate::engine::Inner;
use crate::names::Call;
use crate::participant::status;
use crate::sem::{Section, find_set};
use crate::sweep;
use crate::thread::Thread;
use crate::wake::{self, Grants};
use core::cell::Cell;
use core::time::Duration;
use unspin_rcu::registry::Extent;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sync::hint;
use unspin_sys::futex::{self, Wake};
use unspin_sys::{Errno, clock};

const FIRST_PATROL_NS: u64 = 50_000_000;
const FIRST_VERIFYING_PATROL: u32 = 8;
const LAST_PATROL_NS: u64 = 1_000_000_000;

/// The wait that is under way, and how the last ones ended that a signal handler interrupted. Part of a thread's
/// state.
///
/// A handler may use the thread's waiter record for a wait of its own, and it may never return to the wait that it
/// interrupted. So a wait is known by a number, and the result is left under that number.
#[derive(Debug)]
pub(crate) struct Waits {
    last: Cell<u64>,
    current: Cell<u64>,
    ended: [Cell<(u64, u32)>; DEPTH],
}

/// Handlers within handlers whose waits' results are kept. A wait deeper down than that answers EINTR.
const DEPTH: usize = 8;

impl Waits {
    /// Begins a wait and returns its number. Before the operation is queued.
    pub fn begin(&self) -> u64 {
        self.last.set(self.last.get() + 1);
        self.current.set(self.last.get());
        self.last.get()
    }

    fn is_current(&self, number: u64) -> bool {
        self.current.get() == number
    }

    fn note_end(&self, end: u32) {
        let number = self.current.replace(0);
        if number == 0 {
            return; // A handler was here first, between the caller's look and this one.
        }
        self.ended[number as usize % DEPTH].set((number, end));
    }

    fn end_of(&self, number: u64) -> u32 {
        match self.ended[number as usize % DEPTH].get() {
            (noted, end) if noted == number => end,
            _ => status::failed(Errno::EINTR.0),
        }
    }
}

/// What a status that ended a wait means to the caller.
fn outcome(end: u32) -> Result<(), Errno> {
    match end & 0xFF {
        status::FAILED => Err(Errno((end >> 8) as i32)),
        _ => Ok(()),
    }
}

/// Waits until the operation that this thread has queued is performed, fails, or is withdrawn. `deadline` in
/// nanoseconds of the monotonic clock.
pub(crate) fn wait(
    inner: &'static Inner,
    thread: &Thread,
    number: u64,
    deadline: Option<u64>,
) -> Result<(), Errno> {
    let waiter = &thread.person().waiter;
    spin(thread);
    let mut patrol = FIRST_PATROL_NS;
    let mut patrols = 0u32;
    loop {
        if let Some(result) = ended(thread, number) {
            return result;
        }
        waiter.fall_asleep();
        let left = deadline.map(|deadline| deadline.saturating_sub(clock::monotonic_ns()));
        if left == Some(0) {
            withdraw(inner, thread, Errno::EAGAIN);
            continue;
        }
        let nap = Duration::from_nanos(left.map_or(patrol, |left| left.min(patrol)));
        match futex::wait(&waiter.status, status::SLEEPING, Some(nap)) {
            Wake::Interrupted => withdraw(inner, thread, Errno::EINTR),
            Wake::TimedOut => {
                patrol = (patrol * 2).min(LAST_PATROL_NS);
                patrols += 1;
                look_around(inner, thread, patrols);
            }
            Wake::Woken => {}
        }
    }
}

fn ended(thread: &Thread, number: u64) -> Option<Result<(), Errno>> {
    let now = thread.person().waiter.look();
    // A handler may have ended the wait before this load, or between it and the next line.
    if !thread.waits.is_current(number) {
        return Some(outcome(thread.waits.end_of(number)));
    }
    if status::is_waiting(now) {
        return None;
    }
    end(thread, now);
    Some(outcome(now))
}

fn end(thread: &Thread, end: u32) {
    thread.waits.note_end(end);
    thread.person().waiter.acknowledge();
}

fn spin(thread: &Thread) {
    let budget = thread.patience.ticks();
    if budget == 0 {
        return;
    }
    let waiter = &thread.person().waiter;
    let start = clock::ticks();
    loop {
        // Relaxed: a peek; `ended` orders.
        if !status::is_waiting(waiter.status.load(Relaxed)) {
            return thread.patience.rewarded();
        }
        let now = clock::ticks();
        // Relaxed: a sign of life with a date; see `Section::finish`.
        waiter.beat.store(now, Relaxed);
        if now.wrapping_sub(start) > budget {
            return thread.patience.disappointed();
        }
        for _ in 0..4 {
            hint::spin_loop();
        }
    }
}

/// Takes the thread's operation out of its queue, unless it has been performed or has failed already.
#[cold]
fn withdraw(inner: &'static Inner, thread: &Thread, why: Errno) {
    with_own_set(inner, thread, |section| section.withdraw(why));
}

/// Runs `f` under the lock of the set that the thread waits for; not at all if its wait is over.
fn with_own_set(inner: &'static Inner, thread: &Thread, f: impl FnOnce(&mut Section<'_>)) {
    let person = thread.person();
    let Some(mut guard) = inner.guard_waiting(thread, Call::Wait, person) else { return };
    f(guard.section());
    guard.serve();
}

/// Ends a wait that a signal handler interrupted: before the handler runs if there is a trampoline, else when the
/// thread calls the engine again (from the handler, or after a jump out of it), or ends.
pub(crate) fn interrupt(thread: &Thread) {
    if !thread.waits.is_current(0) {
        withdraw(thread.inner(), thread, Errno::EINTR);
        end(thread, thread.person().waiter.look());
    }
}

/// A sleeper's patrol: repairs the set if the owner of its lock is dead, settles what was granted by somebody who died
/// before he looked whether the waiter lives, and buries the dead that were found.
#[cold]
fn look_around(inner: &'static Inner, thread: &Thread, patrols: u32) {
    // Relaxed: the offset is this thread's own.
    let at = thread.person().waiter.set.load(Relaxed);
    let owner_is_dead = {
        let _read = thread.read();
        let set = find_set(&inner.arena, at);
        set.and_then(|set| inner.lock_of(set).owner()).is_some_and(|owner| inner.is_dead_owner(owner))
    };
    if owner_is_dead {
        with_own_set(inner, thread, |_| {});
    }
    // Looking at everybody's record costs a page each: after some seconds, then at ever longer intervals.
    let verifies = patrols >= FIRST_VERIFYING_PATROL && patrols.is_power_of_two();
    match if verifies { wake::verify(inner, at) } else { Grants::Settled } {
        Grants::ToTheDead => {
            sweep::sweep(inner, thread, Extent::Condemned);
        }
        Grants::Settled => sweep::sweep_condemned(inner, thread),
    }
}
