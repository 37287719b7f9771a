//! The parts that all waits for descriptors share: the meter's row of the call site, and ([`answer`]) looks and the call.

mod answer;
mod arguments;

pub use arguments::{
    blocks, found, has_receive_timeout, is_long, is_long_in_kernel, is_time_in_kernel, receives_in_bulk,
};

use super::handlers::Interruption;
use super::thread::Waiter;
use super::wait::Wait;
use crate::watch::{Hook, Known, Object, Thread};
use answer::AnsweredBy;
use core::ptr::null;
use libc::sigset_t;
use unspin_sys::clock;
use unspin_wire::looks::Looks;
use unspin_wire::{ANY_DESCRIPTOR, AttemptOutcome, RecordKind, RowRef};

/// A call that may wait for descriptors.
pub trait Call {
    /// The return type of the call; -1 means failure.
    type Answer: Copy + PartialEq + From<i8>;

    /// The meter's kind for this call.
    const KIND: RecordKind;

    /// What a look needs of the kernel.
    const LOOKS: Looks;

    /// Whether the thread may poll before this call: the call would block, and a look has no effect that the call would
    /// not have. Asked once, before the first look.
    ///
    /// # Safety
    /// The program's arguments.
    unsafe fn may_poll(&mut self) -> bool;

    /// One look: the answer, if the call need not wait.
    ///
    /// # Safety
    /// The program's arguments.
    unsafe fn look(&mut self) -> Option<Self::Answer>;

    /// Calls the next definition with the program's arguments.
    ///
    /// # Safety
    /// The program's arguments.
    unsafe fn sleep(&self) -> Self::Answer;

    /// Whether a look takes no data, so that its answer may be discarded and left for another call.
    const TAKES_NOTHING: bool = false;

    /// The signal mask that the kernel sets for the duration of the call; null if it sets none.
    fn mask(&self) -> *const sigset_t {
        null()
    }

    /// Number of items that an answer brings.
    fn items(answer: Self::Answer) -> u64;

    /// Does what the kernel does when a handler ends the call. To be called if that happens during the poll.
    ///
    /// # Safety
    /// The program's arguments.
    unsafe fn finish_interrupted(&self) {}

    /// Whether the handlers that have run during the poll end the call.
    fn is_ended_by(&self, handlers: Interruption) -> bool;
}

/// Whether the call is not recorded, and sleeps at once if it must wait: the fast part of the decision. False if more
/// work is needed.
#[inline(always)]
pub fn sleeps_at_once(hook: Hook) -> bool {
    match Thread::known() {
        Known::Absent | Known::Idle => Wait::sleeps_at_once(hook),
        Known::Unknown => Thread::current().is_none() && Wait::sleeps_at_once(hook),
        Known::Counted(_) | Known::Timed(_) | Known::Planned(_) => false,
    }
}

/// A call that takes longer may have slept.
const BRIEF_NS: u64 = 1_500;

/// Makes and records the call, after a poll if that pays.
///
/// # Safety
/// The program's arguments.
#[inline(always)]
pub unsafe fn wait<C: Call>(call: C, hook: Hook) -> C::Answer {
    if sleeps_at_once(hook) {
        // SAFETY: the caller's promise.
        return unsafe { call.sleep() };
    }
    // SAFETY: the caller's promise.
    unsafe { wait_and_record(call, hook) }
}

/// [`wait`], where the call is recorded or may poll.
///
/// # Safety
/// The program's arguments.
#[inline(never)]
unsafe fn wait_and_record<C: Call>(mut call: C, hook: Hook) -> C::Answer {
    let thread = Thread::current();
    let object = Object { kind: C::KIND, address: ANY_DESCRIPTOR };
    let recorded = thread.and_then(|thread| Some((thread, thread.attempt(object, 0, hook)?)));
    let Some((thread, place)) = recorded else {
        // SAFETY: the caller's promise.
        return unsafe { answer::obtain(&mut call, hook) }.0;
    };
    let begin = thread.now();
    thread.table().set_wait_start(place, begin);
    // SAFETY: the caller's promise.
    let (answer, by) = unsafe { answer::obtain(&mut call, hook) };
    thread.table().set_wait_start(place, 0);
    if thread.has_clock() {
        record::<C>(thread, place, thread.now().saturating_sub(begin), answer, by);
    }
    answer
}

/// Corrects the row, in which the attempt counts as one without a wait.
#[inline(never)]
fn record<C: Call>(thread: &Thread, place: RowRef, took: u64, answer: C::Answer, by: AnsweredBy) {
    let is_brief = took <= clock::ticks_in(BRIEF_NS);
    let slept = by == AnsweredBy::Call && !is_brief && Waiter::has_slept_now();
    let outcome = match by {
        // A call that found nothing, or failed, without a wait.
        _ if !slept && is_brief && C::items(answer) == 0 => AttemptOutcome::Rejected,
        AnsweredBy::Poll if !is_brief => AttemptOutcome::Spun,
        AnsweredBy::Call if slept && C::items(answer) > 0 => AttemptOutcome::Slept,
        AnsweredBy::Call if slept => AttemptOutcome::Rejected,
        _ => return,
    };
    let table = thread.table();
    table.reclassify_attempt(place, AttemptOutcome::NoWait, outcome);
    match outcome {
        AttemptOutcome::Spun => table.add_wait(place, outcome, took, 0),
        _ if slept => table.add_wait(place, outcome, 0, took),
        _ => {}
    }
}
