//! Waiting until another thread performs the caller's operation: first polling, while that pays (`unspin_waiting`),
//! then asleep.
//!
//! A sleeper checks periodically whether it can still be served: the thread that was to serve it may have been killed
//! between two instructions. The first check comes after 50 ms, later checks at growing intervals.

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
use unspin_rcu::registry::SweepScope;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sync::machine::{Ordering::SeqCst, compiler_fence};
use unspin_sys::futex::{self, Wake};
use unspin_sys::{Errno, clock};
use unspin_waiting::{CheckKind, CpuPressure, PollOutcome, PollParameters, WaitDecision, poll};

/// Assumed costs in ticks: wake-ups take some 40 us, as on a virtual machine. The programs that the engine serves do
/// not measure them.
const POLICY: PollParameters = PollParameters { wake_up: 100_000, ready: 4_000 };
/// State that the polling waiters of this process share.
static CPU_PRESSURE: CpuPressure = CpuPressure::new();

const FIRST_PATROL_NS: u64 = 50_000_000;
const FIRST_VERIFYING_PATROL: u32 = 8;
const LAST_PATROL_NS: u64 = 1_000_000_000;
/// How often a thread tries to take itself out of a queue, and the pause between two attempts: 20 ms in all. One
/// attempt is enough unless the arena was overwritten, because a thread that removes an object ends the waits on it
/// first.
const WITHDRAWALS: u32 = 20;
const WITHDRAWAL: Duration = Duration::from_millis(1);

/// The current wait of a thread, and the results of recent waits that a signal handler interrupted. Part of a thread's
/// state.
///
/// A handler may use the thread's waiter record for a wait of its own, and it may never return to the wait that it
/// interrupted. So each wait has a number, and its result is stored under that number.
#[derive(Debug)]
pub(crate) struct Waits {
    last: Cell<u64>,
    current: Cell<u64>,
    /// What the current wait is for.
    aim: Cell<Aim>,
    ended: [Cell<(u64, End)>; DEPTH],
}

/// Number of nested waits (handlers within handlers) whose results are kept until the interrupted call asks. A wait
/// that is nested deeper returns EINTR.
const DEPTH: usize = 8;

/// What a thread waits for. All-zero bytes are the first variant.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(crate) enum Aim {
    /// A semaphore operation.
    Operation,
    /// Room for a message.
    Room,
    /// A message, which is copied to this destination.
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

/// How a wait ended. All-zero bytes are the first variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum End {
    /// Another thread performed the operation. For a message: what was received.
    Done(Received),
    /// The caller must try again.
    Retry,
    Failed(Errno),
}

/// Whether the buffers of a call still exist when its wait ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Buffer {
    Live,
    /// The call was left by a jump, or may have been.
    Gone,
}

impl Waits {
    /// Begins a wait and returns its number. To be called before the operation is queued.
    pub fn begin(&self, aim: Aim) -> u64 {
        self.last.set(self.last.get() + 1);
        self.aim.set(aim);
        self.current.set(self.last.get());
        self.last.get()
    }

    /// Later waits get numbers above this one.
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
        // Prefer a slot whose result was read already, which has the number 0. Else take the oldest, whose call was
        // most likely left by a jump.
        let place = self.ended.iter().min_by_key(|place| place.get().0);
        place.into_iter().for_each(|place| place.set((number, end)));
    }

    /// How a wait has ended. Each result can be read once.
    fn end_of(&self, number: u64) -> End {
        match self.ended.iter().find(|place| place.get().0 == number) {
            Some(place) => place.replace((0, End::Retry)).1,
            None => End::Failed(Errno::EINTR),
        }
    }
}

/// What the status that ended a wait means to the caller.
fn outcome(end: u32) -> End {
    match end & 0xFF {
        status::FAILED => End::Failed(Errno((end >> 8) as i32)),
        status::RETRY => End::Retry,
        status::GRANTED | status::CONFIRMED => End::Done(Received::default()),
        // No participant ends a wait with another status: the arena is damaged.
        _ => End::Failed(Errno::EIDRM),
    }
}

/// Waits until the operation that this thread has queued is performed, fails, or is withdrawn. `deadline` is in
/// nanoseconds of the monotonic clock.
pub(crate) fn wait(inner: &'static Inner, thread: &Thread, number: u64, deadline: Option<u64>) -> End {
    let site = &thread.site;
    let decision = site.decide(&POLICY);
    let began = if decision == WaitDecision::Sleep { 0 } else { clock::ticks() };
    let polled = match decision {
        WaitDecision::Poll(budget) => spin(thread, budget),
        WaitDecision::Sleep | WaitDecision::TimedSleep => PollOutcome::CpuNeeded,
    };
    let end = sleep(inner, thread, number, deadline);
    let now = if decision == WaitDecision::Sleep { 0 } else { clock::ticks() };
    match (decision, polled) {
        (WaitDecision::Sleep, _) => {}
        (WaitDecision::TimedSleep, _) => site.report_sleep(&POLICY, now.saturating_sub(began), now, None),
        (WaitDecision::Poll(_), PollOutcome::Found((), took)) => site.report_poll(&POLICY, took, now, None),
        (WaitDecision::Poll(_), PollOutcome::TimedOut(spent)) => {
            site.report_failed_poll(&POLICY, spent, now.saturating_sub(began), now, None);
        }
        (WaitDecision::Poll(_), PollOutcome::FoundLate(()) | PollOutcome::CpuNeeded) => {
            site.report_cpu_needed(&POLICY)
        }
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
        // Looked up each time: see `spin`.
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

/// Reads how the thread's wait ended, and fetches the message that it was granted.
fn end(inner: &'static Inner, thread: &Thread, buffer: Buffer) {
    let person = thread.person();
    let Aim::Message(landing) = thread.waits.aim.get() else {
        thread.waits.note_end(outcome(person.waiter.look()));
        if !person.watch().is_empty() {
            person.watch().clear();
        }
        return person.waiter.acknowledge();
    };
    // Critical section: a signal handler would use the mailbox for messages of its own.
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

fn spin(thread: &Thread, budget: u64) -> PollOutcome<()> {
    poll(&POLICY, &CPU_PRESSURE, budget, CheckKind::Load, || {
        // Looked up each time: a handler may have forked, and the child has another record.
        let waiter = &thread.person().waiter;
        // Relaxed: a hint; `ended` orders.
        if !status::is_waiting(waiter.status.load(Relaxed)) {
            return Some(());
        }
        // Relaxed: a time stamp that shows that the waiter is alive; see `Wakes::finish`.
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
        // The thread that removes the object is about to end the wait, or is dead.
        futex::wait(&waiter.status, now, Some(WITHDRAWAL));
    }
    // The record was overwritten, and no longer leads to the object.
    waiter.give_up();
}

/// Runs `f` under the lock of the object that the thread waits for. Does not run it if the wait is over.
pub(crate) fn with_own(inner: &'static Inner, thread: &Thread, f: impl FnOnce(&mut dyn Section)) {
    inner.with_waiting(thread, Call::Wait, thread.person(), f);
}

/// Ends a wait that a signal handler interrupted. With a trampoline it is called before the handler runs; else when the
/// thread calls the engine again (from the handler, or after a jump out of it), or ends.
///
/// A message that was handed over by then is received if the call's buffer still exists; otherwise it goes back into
/// its queue.
pub(crate) fn interrupt(thread: &Thread, buffer: Buffer) {
    if !thread.waits.is_current(0) {
        withdraw(thread.inner(), thread, Errno::EINTR);
        end(thread.inner(), thread, buffer);
    }
}

/// Whether no thread will end the wait, because the arena is damaged. Poisons the arena if the waiter's record is not
/// as the waiter has left it.
#[cold]
fn is_spoiled(inner: &'static Inner, thread: &Thread, (number, posture): (u64, Posture)) -> bool {
    let waiter = &thread.person().waiter;
    let same = Posture::of(waiter) == posture;
    // The record is compared first, then the wait's number: a handler may have ended the wait and used the record for
    // another wait.
    compiler_fence(SeqCst);
    if !same && thread.waits.is_current(number) && status::is_waiting(waiter.look()) {
        inner.condemn();
    }
    inner.check().is_err()
}

/// Makes sure that the thread is still linked in its queue, or else ends its wait, because no thread would find it.
fn review(inner: &'static Inner, thread: &Thread) {
    let person = thread.person();
    let reviewed = inner.with_waiting(thread, Call::Wait, person, |section| section.review());
    // The status is read after the object was not found. A thread that removes an object ends the waits on it first, so
    // a wait that goes on now would never end.
    if reviewed.is_none() && status::is_waiting(person.waiter.look()) {
        person.waiter.give_up();
    }
}

/// A sleeper's periodic check. It repairs the object if the owner of its lock is dead. It applies the undos of dead
/// processes. It settles grants whose maker died before checking that the waiter was alive. It recovers the dead
/// participants that were found.
#[cold]
fn look_around(inner: &'static Inner, thread: &Thread, patrols: u32) {
    // Relaxed: the offset is this thread's own.
    let at = thread.person().waiter.object.load(Relaxed);
    // Reading every participant's record costs a page each. So it is done only after some seconds, and then at growing
    // intervals.
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
            sweep::sweep(inner, thread, SweepScope::MarkedDead);
        }
        Grants::Settled => sweep::sweep_condemned(inner, thread),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A handler that runs between a grant and the sleeper's look at it may wait any number of times: the grant is not
    /// forgotten.
    #[test]
    fn an_interrupted_wait_keeps_its_result() {
        // SAFETY: all-zero bytes are what a new record has. They are valid for cells of integers, and for `End` and
        // `Aim`, whose first variants are zero.
        let waits: Waits = unsafe { core::mem::zeroed() };
        let granted = waits.begin(Aim::Operation);
        waits.note_end(End::Done(Received::default()));
        for _ in 0..3 * DEPTH {
            let inner = waits.begin(Aim::Operation);
            waits.note_end(End::Failed(Errno::EAGAIN));
            assert_eq!(waits.end_of(inner), End::Failed(Errno::EAGAIN));
        }
        // Waits that were left by jumps never read their results.
        for _ in 0..DEPTH - 1 {
            waits.begin(Aim::Operation);
            waits.note_end(End::Failed(Errno::EINTR));
        }
        assert_eq!(waits.end_of(granted), End::Done(Received::default()));
        assert_eq!(waits.end_of(granted), End::Failed(Errno::EINTR), "asked once");
    }
}
