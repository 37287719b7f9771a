//! Waiting until another thread performs the caller's operation: first polling, while that pays (`unspin_waiting`),
//! then asleep.
//!
//! A sleeper checks periodically whether it can still be served: the thread that was to serve it may have been killed
//! between two instructions. The first check comes after 50 ms, later checks at growing intervals.

use super::waits::{Aim, Buffer, End};
use crate::engine::Inner;
use crate::engine::Section;
use crate::engine::lock_names::Call;
use crate::msg::Received;
use crate::msg::object as msg;
use crate::participant::status;
use crate::recovery::damage::Posture;
use crate::recovery::sweep;
use crate::thread::Thread;
use crate::waiting::exit_monitor;
use crate::waiting::wake::{self, Grants};
use core::time::Duration;
use unspin_rcu::registry::Extent;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sync::machine::{Ordering::SeqCst, compiler_fence};
use unspin_sys::futex::{self, Wake};
use unspin_sys::{Errno, clock};
use unspin_waiting::{Crowd, Looks, Policy, Polled, Turn, poll};

/// Assumed costs in ticks: wake-ups take some 40 us, as on a virtual machine. The programs that the engine serves do
/// not measure them.
const POLICY: Policy = Policy { wake_up: 100_000, ready: 4_000 };
/// State that the polling waiters of this process share.
static CROWD: Crowd = Crowd::new();

const FIRST_PATROL_NS: u64 = 50_000_000;
const FIRST_VERIFYING_PATROL: u32 = 8;
const LAST_PATROL_NS: u64 = 1_000_000_000;
/// How often a thread tries to take itself out of a queue, and the pause between two attempts: 20 ms in all. One
/// attempt is enough unless the arena was overwritten, because a thread that removes an object ends the waits on it
/// first.
const WITHDRAWALS: u32 = 20;
const WITHDRAWAL: Duration = Duration::from_millis(1);

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
        match exit_monitor::sleep(inner, thread, nap, point) {
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

fn spin(thread: &Thread, budget: u64) -> Polled<()> {
    poll(&POLICY, &CROWD, budget, Looks::Load, || {
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
        exit_monitor::doubt(inner, thread);
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
