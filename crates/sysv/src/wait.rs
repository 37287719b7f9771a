//! Waiting until another thread performs the caller's operation: polling while that pays (`unspin_waiting`), then asleep.
//!
//! A sleeper looks up from time to time: whoever was to serve it may have been killed between two instructions. It
//! looks after 50 ms, then less and less often.

use crate::cancel::Point;
use crate::damage::Posture;
use crate::engine::Inner;
use crate::ipc::Section;
use crate::msg::{self, Landing, Received};
use crate::names::Call;
use crate::participant::status;
use crate::sweep;
use crate::thread::Thread;
use crate::vigil;
use crate::wake::{self, Grants};
use core::cell::Cell;
use core::time::Duration;
use unspin_rcu::registry::Extent;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sync::machine::{Ordering::SeqCst, compiler_fence};
use unspin_sys::futex::{self, Wake};
use unspin_sys::{Errno, clock};
use unspin_waiting::{Crowd, Looks, Policy, Polled, Turn, poll};

/// Wake-ups of some 40 us, as on a virtual machine: the engine serves programs that measure nothing.
const POLICY: Policy = Policy { wake_up: 100_000, ready: 4_000 };
/// What the waiters of this process know of each other.
static CROWD: Crowd = Crowd::new();

const FIRST_PATROL_NS: u64 = 50_000_000;
const FIRST_VERIFYING_PATROL: u32 = 8;
const LAST_PATROL_NS: u64 = 1_000_000_000;
/// How often a thread tries to take itself out of a queue, and how long it waits in between: 20 ms in all. Once
/// is enough, as whoever removes an object ends the waits on it first, unless the arena was overwritten.
const WITHDRAWALS: u32 = 20;
const WITHDRAWAL: Duration = Duration::from_millis(1);

/// The wait that is under way, and how the last ones ended that a signal handler interrupted. Part of a thread's
/// state.
///
/// A handler may use the thread's waiter record for a wait of its own, and it may never return to the wait that it
/// interrupted. So a wait is known by a number, and the result is left under that number.
#[derive(Debug)]
pub(crate) struct Waits {
    last: Cell<u64>,
    current: Cell<u64>,
    /// What the current one is for.
    aim: Cell<Aim>,
    ended: [Cell<(u64, End)>; DEPTH],
}

/// Handlers within handlers whose waits' results are kept until the interrupted call asks. A wait deeper down than that answers
/// EINTR.
const DEPTH: usize = 8;

/// What a thread waits for. Zeroed: the first.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(crate) enum Aim {
    /// A semaphore operation.
    Operation,
    /// Room for a message.
    Room,
    /// A message, which goes there.
    Message(Landing),
}

impl Aim {
    fn point(self) -> Point {
        match self {
            Aim::Operation => Point::No,
            Aim::Room | Aim::Message(_) => Point::Yes,
        }
    }
}

/// How a wait ended. Zeroed: the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum End {
    /// Performed by somebody else; of a message, what was received.
    Done(Received),
    /// To be tried again.
    Retry,
    Failed(Errno),
}

/// Whether the buffers of a call whose wait is ended are still there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Buffer {
    Live,
    /// It was left by a jump, or may have been.
    Gone,
}

impl Waits {
    /// Begins a wait and returns its number. Before the operation is queued.
    pub fn begin(&self, aim: Aim) -> u64 {
        self.last.set(self.last.get() + 1);
        self.aim.set(aim);
        self.current.set(self.last.get());
        self.last.get()
    }

    /// Waits are numbered from here on.
    pub fn number_from(&self, number: u64) {
        self.last.set(number);
    }

    /// Whether no wait has begun since this one.
    pub fn is_last(&self, number: u64) -> bool {
        self.last.get() == number
    }

    fn is_current(&self, number: u64) -> bool {
        self.current.get() == number
    }

    fn note_end(&self, end: End) {
        let number = self.current.replace(0);
        if number == 0 {
            return; // A handler was here first, between the caller's look and this one.
        }
        // A place that nobody asks for any more; else the oldest, of a call that a jump has most likely left. Free ones are
        // numbered 0.
        let place = self.ended.iter().min_by_key(|place| place.get().0);
        place.into_iter().for_each(|place| place.set((number, end)));
    }

    /// How a wait has ended, which is asked once.
    fn end_of(&self, number: u64) -> End {
        match self.ended.iter().find(|place| place.get().0 == number) {
            Some(place) => place.replace((0, End::Retry)).1,
            None => End::Failed(Errno::EINTR),
        }
    }
}

/// What a status that ended a wait means to the caller.
fn outcome(end: u32) -> End {
    match end & 0xFF {
        status::FAILED => End::Failed(Errno((end >> 8) as i32)),
        status::RETRY => End::Retry,
        status::GRANTED | status::CONFIRMED => End::Done(Received::default()),
        // Nobody ends a wait like that: the arena is damaged.
        _ => End::Failed(Errno::EIDRM),
    }
}

/// Waits until the operation that this thread has queued is performed, fails, or is withdrawn. `deadline` in
/// nanoseconds of the monotonic clock.
pub(crate) fn wait(inner: &'static Inner, thread: &Thread, number: u64, deadline: Option<u64>) -> End {
    let site = &thread.site;
    let turn = site.turn(&POLICY);
    let began = if turn == Turn::Sleep { 0 } else { clock::ticks() };
    let polled = match turn {
        Turn::Poll(budget) => spin(thread, budget),
        Turn::Sleep | Turn::Timed => Polled::Crowded,
    };
    let end = sleep(inner, thread, number, deadline);
    let now = if turn == Turn::Sleep { 0 } else { clock::ticks() };
    match (turn, polled) {
        (Turn::Sleep, _) => {}
        (Turn::Timed, _) => site.slept(&POLICY, now.saturating_sub(began), now, None),
        (Turn::Poll(_), Polled::Found((), took)) => site.polled(&POLICY, took, now, None),
        (Turn::Poll(_), Polled::InVain(spent)) => {
            site.polled_in_vain(&POLICY, spent, now.saturating_sub(began), now, None);
        }
        (Turn::Poll(_), Polled::FoundLate(()) | Polled::Crowded) => site.was_crowded(&POLICY),
    }
    end
}

fn sleep(inner: &'static Inner, thread: &Thread, number: u64, deadline: Option<u64>) -> End {
    let posture = Posture::of(&thread.person().waiter);
    let mut patrol = FIRST_PATROL_NS;
    let mut patrols = 0u32;
    loop {
        if let Some(end) = ended(inner, thread, number) {
            return end;
        }
        // Each time: see `spin`.
        let waiter = &thread.person().waiter;
        waiter.fall_asleep();
        let left = deadline.map(|deadline| deadline.saturating_sub(clock::monotonic_ns()));
        if left == Some(0) {
            withdraw(inner, thread, Errno::EAGAIN);
            continue;
        }
        let nap = Duration::from_nanos(left.map_or(patrol, |left| left.min(patrol)));
        let point = thread.waits.aim.get().point();
        match vigil::sleep(inner, thread, nap, point) {
            Wake::Interrupted => withdraw(inner, thread, Errno::EINTR),
            Wake::TimedOut => {
                patrol = (patrol * 2).min(LAST_PATROL_NS);
                patrols += 1;
                if is_spoiled(inner, thread, (number, posture)) {
                    waiter.give_up();
                } else {
                    look_around(inner, thread, patrols);
                }
            }
            Wake::Woken => {}
        }
    }
}

fn ended(inner: &'static Inner, thread: &Thread, number: u64) -> Option<End> {
    let now = thread.person().waiter.look();
    // A handler may have ended the wait before this load, or between it and the next line.
    if thread.waits.is_current(number) {
        if status::is_waiting(now) {
            return None;
        }
        end(inner, thread, Buffer::Live);
    }
    Some(thread.waits.end_of(number))
}

/// Takes note of how the thread's wait ended, and fetches the message that it was granted.
fn end(inner: &'static Inner, thread: &Thread, buffer: Buffer) {
    let person = thread.person();
    let Aim::Message(landing) = thread.waits.aim.get() else {
        thread.waits.note_end(outcome(person.waiter.look()));
        if !person.watch().is_empty() {
            person.watch().clear();
        }
        return person.waiter.acknowledge();
    };
    // A handler would use the mailbox for messages of its own.
    let _critical = thread.critical();
    if thread.waits.is_current(0) {
        return;
    }
    let end = match outcome(person.waiter.look()) {
        End::Done(_) if buffer == Buffer::Live => msg::fetch(inner, thread, &landing),
        End::Done(_) => {
            msg::give_back(inner, thread);
            End::Failed(Errno::EINTR)
        }
        other => other,
    };
    thread.waits.note_end(end);
    person.waiter.acknowledge();
}

fn spin(thread: &Thread, budget: u64) -> Polled<()> {
    poll(&POLICY, &CROWD, budget, Looks::Load, || {
        // Each time: a handler may have forked, and in the child this is another one.
        let waiter = &thread.person().waiter;
        // Relaxed: a peek; `ended` orders.
        if !status::is_waiting(waiter.status.load(Relaxed)) {
            return Some(());
        }
        // Relaxed: a sign of life with a date; see `Section::finish`.
        waiter.beat.store(clock::ticks(), Relaxed);
        None
    })
}

/// Takes the thread's operation out of its queue, unless it has been performed or has failed already.
#[cold]
fn withdraw(inner: &'static Inner, thread: &Thread, why: Errno) {
    let waiter = &thread.person().waiter;
    for _ in 0..WITHDRAWALS {
        with_own(inner, thread, |section| section.withdraw(why));
        let now = waiter.look();
        if !status::is_waiting(now) {
            return;
        }
        // Whoever removes the object is about to end the wait, or is dead.
        futex::wait(&waiter.status, now, Some(WITHDRAWAL));
    }
    // The record was overwritten: what is waited for cannot be found by it.
    waiter.give_up();
}

/// Runs `f` under the lock of the object that the thread waits for; not at all if its wait is over.
pub(crate) fn with_own(inner: &'static Inner, thread: &Thread, f: impl FnOnce(&mut dyn Section)) {
    inner.with_waiting(thread, Call::Wait, thread.person(), f);
}

/// Ends a wait that a signal handler interrupted: before the handler runs if there is a trampoline, else when the
/// thread calls the engine again (from the handler, or after a jump out of it), or ends.
///
/// A message that was handed over by then is received if the call's buffer is there, and goes back into its queue otherwise.
pub(crate) fn interrupt(thread: &Thread, buffer: Buffer) {
    if !thread.waits.is_current(0) {
        withdraw(thread.inner(), thread, Errno::EINTR);
        end(thread.inner(), thread, buffer);
    }
}

/// Whether nobody will end a wait, because the arena is damaged. Gives an arena up in which the waiter's record is not as the
/// waiter has left it.
#[cold]
fn is_spoiled(inner: &'static Inner, thread: &Thread, (number, posture): (u64, Posture)) -> bool {
    let waiter = &thread.person().waiter;
    let same = Posture::of(waiter) == posture;
    // The record, and then: a handler may have ended the wait, and used the record for another.
    compiler_fence(SeqCst);
    if !same && thread.waits.is_current(number) && status::is_waiting(waiter.look()) {
        inner.condemn();
    }
    inner.check().is_err()
}

/// Makes sure that the thread stands in its queue still, or else that its wait ends: nobody would find it.
fn review(inner: &'static Inner, thread: &Thread) {
    let person = thread.person();
    let reviewed = inner.with_waiting(thread, Call::Wait, person, |section| section.review());
    // Looked at after the object was not found: whoever removes one ends the waits on it first.
    if reviewed.is_none() && status::is_waiting(person.waiter.look()) {
        person.waiter.give_up();
    }
}

/// A sleeper's patrol: repairs the object if the owner of its lock is dead, undoes what the dead did, settles what was
/// granted by somebody who died before he looked whether the waiter lives, and buries the dead that were found.
#[cold]
fn look_around(inner: &'static Inner, thread: &Thread, patrols: u32) {
    // Relaxed: the offset is this thread's own.
    let at = thread.person().waiter.object.load(Relaxed);
    // Looking at everybody's record costs a page each: after some seconds, then at ever longer intervals.
    let verifies = patrols >= FIRST_VERIFYING_PATROL && patrols.is_power_of_two();
    if verifies {
        vigil::doubt(inner, thread);
    }
    if verifies {
        review(inner, thread);
    }
    if inner.may_wait_for_the_dead(thread, thread.person()) {
        with_own(inner, thread, |section| section.watch(inner));
    }
    match if verifies { wake::verify(inner, at) } else { Grants::Settled } {
        Grants::ToTheDead => {
            sweep::sweep(inner, thread, Extent::Condemned);
        }
        Grants::Settled => sweep::sweep_condemned(inner, thread),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A handler that runs between a grant and the sleeper's look may wait as often as it likes: the grant is not forgotten.
    #[test]
    fn an_interrupted_wait_keeps_its_result() {
        // SAFETY: zeroed, as in a new record: cells of integers, and of ends and aims, whose first variants are zero.
        let waits: Waits = unsafe { core::mem::zeroed() };
        let granted = waits.begin(Aim::Operation);
        waits.note_end(End::Done(Received::default()));
        for _ in 0..3 * DEPTH {
            let inner = waits.begin(Aim::Operation);
            waits.note_end(End::Failed(Errno::EAGAIN));
            assert_eq!(waits.end_of(inner), End::Failed(Errno::EAGAIN));
        }
        // Left by jumps, which never ask.
        for _ in 0..DEPTH - 1 {
            waits.begin(Aim::Operation);
            waits.note_end(End::Failed(Errno::EINTR));
        }
        assert_eq!(waits.end_of(granted), End::Done(Received::default()));
        assert_eq!(waits.end_of(granted), End::Failed(Errno::EINTR), "asked once");
    }
}
