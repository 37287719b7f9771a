//! Waiting until another thread performs the caller's operation: first polling, while that pays (`unspin_waiting`),
//! then asleep.
//!
//! A sleeper checks periodically whether it can still be served: the thread that was to serve it may have been killed
//! between two instructions. The first check comes after 50 ms, later checks at growing intervals.

use super::waits::{CallerBuffers, WaitResult, WaitTarget};
use crate::engine::Inner;
use crate::engine::ObjectSection;
use crate::engine::lock_names::Call;
use crate::msg::Received;
use crate::msg::object as msg;
use crate::participant::status;
use crate::recovery::damage::WaiterSnapshot;
use crate::recovery::sweep;
use crate::thread::Thread;
use crate::waiting::exit_monitor;
use crate::waiting::wake::{self, GrantCheck};
use core::time::Duration;
use unspin_rcu::registry::SweepScope;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sync::machine::{Ordering::SeqCst, compiler_fence};
use unspin_sys::futex::{self, Wake};
use unspin_sys::{Errno, clock};
use unspin_waiting::{CheckKind, CpuPressure, PollOutcome, WaitDecision, poll};

/// State that the polling waiters of this process share.
static CPU_PRESSURE: CpuPressure = CpuPressure::new();

const FIRST_CHECK_NS: u64 = 50_000_000;
const FIRST_FULL_CHECK: u32 = 8;
const LAST_CHECK_NS: u64 = 1_000_000_000;
/// How often a thread tries to take itself out of a queue, and the pause between two attempts: 20 ms in all. One
/// attempt is enough unless the arena was overwritten, because a thread that removes an object ends the waits on it
/// first.
const WITHDRAWALS: u32 = 20;
const WITHDRAWAL: Duration = Duration::from_millis(1);

/// What the status that ended a wait means to the caller.
fn outcome(end: u32) -> WaitResult {
    match end & 0xFF {
        status::FAILED => WaitResult::Failed(Errno((end >> 8) as i32)),
        status::RETRY => WaitResult::Retry,
        status::GRANTED | status::CONFIRMED => WaitResult::Done(Received::default()),
        // No participant ends a wait with another status: the arena is damaged.
        _ => WaitResult::Failed(Errno::EIDRM),
    }
}

/// Waits until the operation that this thread has queued is performed, fails, or is withdrawn. `deadline` is in
/// nanoseconds of the monotonic clock.
pub(crate) fn wait(inner: &'static Inner, thread: &Thread, number: u64, deadline: Option<u64>) -> WaitResult {
    thread.want_participant_word_again();
    let (site, parameters) = (&thread.site, &inner.polling);
    let decision = if parameters.permit_polls() { site.decide(parameters) } else { WaitDecision::Sleep };
    let began = if decision == WaitDecision::Sleep { 0 } else { clock::ticks() };
    let polled = match decision {
        WaitDecision::Poll(budget) => spin(inner, thread, budget),
        WaitDecision::Sleep | WaitDecision::TimedSleep => PollOutcome::CpuNeeded,
    };
    let end = sleep(inner, thread, number, deadline);
    let now = if decision == WaitDecision::Sleep { 0 } else { clock::ticks() };
    match (decision, polled) {
        (WaitDecision::Sleep, _) => {}
        (WaitDecision::TimedSleep, _) => site.report_sleep(parameters, now.saturating_sub(began), now, None),
        (WaitDecision::Poll(_), PollOutcome::Found((), took)) => {
            site.report_poll(parameters, took, now, None)
        }
        (WaitDecision::Poll(_), PollOutcome::TimedOut(spent)) => {
            site.report_failed_poll(parameters, spent, now.saturating_sub(began), now, None);
        }
        (WaitDecision::Poll(_), PollOutcome::FoundLate(()) | PollOutcome::CpuNeeded) => {
            site.report_cpu_needed(parameters)
        }
    }
    end
}

fn sleep(inner: &'static Inner, thread: &Thread, number: u64, deadline: Option<u64>) -> WaitResult {
    let snapshot = WaiterSnapshot::of(&thread.record().waiter);
    let mut interval = FIRST_CHECK_NS;
    let mut checks = 0u32;
    loop {
        if let Some(end) = try_end(inner, thread, number) {
            return end;
        }
        // Looked up each time: see `spin`.
        let waiter = &thread.record().waiter;
        waiter.mark_sleeping();
        let left = deadline.map(|deadline| deadline.saturating_sub(clock::monotonic_ns()));
        if left == Some(0) {
            withdraw(inner, thread, Errno::EAGAIN);
            continue;
        }
        let timeout = Duration::from_nanos(left.map_or(interval, |left| left.min(interval)));
        let point = thread.waits.aim.get().point();
        match exit_monitor::sleep(inner, thread, timeout, point) {
            Wake::Interrupted => withdraw(inner, thread, Errno::EINTR),
            Wake::TimedOut => {
                interval = (interval * 2).min(LAST_CHECK_NS);
                checks += 1;
                if is_record_damaged(inner, thread, (number, snapshot)) {
                    waiter.end_as_removed();
                } else {
                    periodic_check(inner, thread, checks);
                }
            }
            Wake::Woken => {}
        }
    }
}

fn try_end(inner: &'static Inner, thread: &Thread, number: u64) -> Option<WaitResult> {
    let now = thread.record().waiter.load_status();
    // A handler may have ended the wait before this load, or between it and the next line.
    if thread.waits.is_current(number) {
        if status::is_waiting(now) {
            return None;
        }
        end(inner, thread, CallerBuffers::Live);
    }
    Some(thread.waits.end_of(number))
}

/// Reads how the thread's wait ended, and fetches the message that it was granted.
fn end(inner: &'static Inner, thread: &Thread, buffers: CallerBuffers) {
    let record = thread.record();
    let WaitTarget::Message(buffer) = thread.waits.aim.get() else {
        thread.waits.note_end(outcome(record.waiter.load_status()));
        if !record.monitored_processes().is_empty() {
            record.monitored_processes().clear();
        }
        return record.waiter.acknowledge();
    };
    // Critical section: a signal handler would use the mailbox for messages of its own.
    let _critical = thread.critical();
    if thread.waits.is_current(0) {
        return;
    }
    let end = match outcome(record.waiter.load_status()) {
        WaitResult::Done(_) if buffers == CallerBuffers::Live => msg::fetch(inner, thread, &buffer),
        WaitResult::Done(_) => {
            msg::give_back(inner, thread);
            WaitResult::Failed(Errno::EINTR)
        }
        other => other,
    };
    thread.waits.note_end(end);
    record.waiter.acknowledge();
}

fn spin(inner: &Inner, thread: &Thread, budget: u64) -> PollOutcome<()> {
    poll(&inner.polling, &CPU_PRESSURE, budget, CheckKind::Load, || {
        // Looked up each time: a handler may have forked, and the child has another record.
        let waiter = &thread.record().waiter;
        // Relaxed: a hint; `try_end` orders.
        (!status::is_waiting(waiter.status.load(Relaxed))).then_some(())
    })
}

/// Takes the thread's operation out of its queue, unless it has been performed or has failed already.
#[cold]
fn withdraw(inner: &'static Inner, thread: &Thread, why: Errno) {
    let waiter = &thread.record().waiter;
    for _ in 0..WITHDRAWALS {
        with_awaited_object(inner, thread, |section| section.withdraw(why));
        let now = waiter.load_status();
        if !status::is_waiting(now) {
            return;
        }
        // The thread that removes the object is about to end the wait, or is dead.
        futex::wait(&waiter.status, now, Some(WITHDRAWAL));
    }
    // The record was overwritten, and no longer leads to the object.
    waiter.end_as_removed();
}

/// Runs `f` under the lock of the object that the thread waits for. Does not run it if the wait is over.
pub(crate) fn with_awaited_object(
    inner: &'static Inner,
    thread: &Thread,
    f: impl FnOnce(&mut dyn ObjectSection),
) {
    inner.with_object_of_waiter(thread, Call::Wait, thread.record(), f);
}

/// Ends a wait that a signal handler interrupted. With a trampoline it is called before the handler runs; else when the
/// thread calls the engine again (from the handler, or after a jump out of it), or ends.
///
/// A message that was handed over by then is received if the call's buffer still exists; otherwise it goes back into
/// its queue.
pub(crate) fn interrupt(thread: &Thread, buffers: CallerBuffers) {
    if !thread.waits.is_current(0) {
        withdraw(thread.inner(), thread, Errno::EINTR);
        end(thread.inner(), thread, buffers);
    }
}

/// Whether no thread will end the wait, because the arena is damaged. Poisons the arena if the waiter's record is not
/// as the waiter has left it.
#[cold]
fn is_record_damaged(
    inner: &'static Inner,
    thread: &Thread,
    (number, snapshot): (u64, WaiterSnapshot),
) -> bool {
    let waiter = &thread.record().waiter;
    let same = WaiterSnapshot::of(waiter) == snapshot;
    // The record is compared first, then the wait's number: a handler may have ended the wait and used the record for
    // another wait.
    compiler_fence(SeqCst);
    if !same && thread.waits.is_current(number) && status::is_waiting(waiter.load_status()) {
        inner.poison();
    }
    inner.check().is_err()
}

/// Makes sure that the thread is still linked in its queue, or else ends its wait, because no thread would find it.
fn verify_queue_link(inner: &'static Inner, thread: &Thread) {
    let record = thread.record();
    let reviewed =
        inner.with_object_of_waiter(thread, Call::Wait, record, |section| section.verify_queue_link());
    // The status is read after the object was not found. A thread that removes an object ends the waits on it first, so
    // a wait that goes on now would never end.
    if reviewed.is_none() && status::is_waiting(record.waiter.load_status()) {
        record.waiter.end_as_removed();
    }
}

/// A sleeper's periodic check. It repairs the object if the owner of its lock is dead. It applies the undos of dead
/// processes. It confirms grants whose waker died before checking that the waiter was alive. It recovers the dead
/// participants that were found.
#[cold]
fn periodic_check(inner: &'static Inner, thread: &Thread, checks: u32) {
    // Relaxed: the offset is this thread's own.
    let at = thread.record().waiter.object.load(Relaxed);
    // Reading every participant's record costs a page each. So it is done only after some seconds, and then at growing
    // intervals.
    let is_full_check = checks >= FIRST_FULL_CHECK && checks.is_power_of_two();
    if is_full_check {
        exit_monitor::ask_about_all(inner, thread);
    }
    if is_full_check {
        verify_queue_link(inner, thread);
    }
    if inner.may_wait_for_the_dead(thread, thread.record()) {
        with_awaited_object(inner, thread, |section| section.refresh_wait(inner));
    }
    match if is_full_check { wake::confirm_all(inner, at) } else { GrantCheck::AllAlive } {
        GrantCheck::SomeDead => {
            sweep::sweep(inner, thread, SweepScope::MarkedDead);
        }
        GrantCheck::AllAlive => sweep::recover_marked_dead(inner, thread),
    }
}
