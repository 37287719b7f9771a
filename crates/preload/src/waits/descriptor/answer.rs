//! How a call gets its answer: by polling, where that pays, or by the call itself.
//!
//! ```text
//! does a poll pay? ──────── no ──► make the call
//!        │ yes
//! may the call poll? ────── no ──► make the call
//!        │ yes
//! poll, under the call's signal mask if it has one
//!        ├─ a look finds the answer ──────────► return it
//!        ├─ a signal handler ends the call ───► return EINTR
//!        └─ the time for the poll is over ────► make the call
//! ```

use super::Call;
use crate::errno;
use crate::waits::handlers::Handlers;
use crate::waits::permits;
use crate::waits::wait::{Ended, Look, Wait};
use crate::watch::Hook;
use unspin_sys::signal::{self, Mask};
use unspin_sys::{Errno, mem};
use unspin_waiting::CheckKind;
use unspin_wire::looks::{LookKind, Looks};

/// What has yielded an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AnsweredBy {
    /// The poll: one of its looks, or a handler that ran during it.
    Poll,
    /// The call, which may have slept.
    Call,
}

/// Obtains the answer of a call: polls first, if that pays.
///
/// # Safety
/// The program's arguments.
#[inline(always)]
pub unsafe fn obtain<C: Call>(call: &mut C, hook: Hook) -> (C::Answer, AnsweredBy) {
    let wait = Wait::begin(hook, C::LOOKS);
    if wait.polls() {
        // SAFETY: the caller's promise.
        if unsafe { call.may_poll() } {
            // SAFETY: the caller's promise.
            return unsafe { poll_then_call(&wait, call) };
        }
        // `may_poll` costs a system call. A site where it always fails must stop asking, so each failure is reported.
        wait.report_ready(0);
    }
    // SAFETY: the caller's promise.
    unsafe { make_call(&wait, call) }
}

/// Makes the call, which may sleep.
///
/// # Safety
/// The program's arguments.
#[inline(always)]
unsafe fn make_call<C: Call>(wait: &Wait, call: &C) -> (C::Answer, AnsweredBy) {
    // SAFETY: the caller's promise.
    let answer = unsafe { call.sleep() };
    wait.report_call(C::items(answer));
    (answer, AnsweredBy::Call)
}

/// Polls. Makes the call if the poll yields no answer.
///
/// # Safety
/// The program's arguments.
unsafe fn poll_then_call<C: Call>(wait: &Wait, call: &mut C) -> (C::Answer, AnsweredBy) {
    if !call.mask().is_null() {
        if !permits(Looks::of([LookKind::Mask, LookKind::Memory])) {
            wait.report_ready(0);
            // SAFETY: the caller's promise.
            return unsafe { make_call(wait, call) };
        }
        // SAFETY: the caller's promise.
        return unsafe { poll_then_call_under_mask(wait, call) };
    }
    let handlers = Handlers::now();
    // SAFETY: the caller's promise.
    let ended = unsafe { poll(wait, call, handlers) };
    // SAFETY: the caller's promise.
    unsafe { answer_after_poll(wait, call, handlers, ended) }
}

/// Bytes of a signal mask, as the kernel reads it (`sigset_t` of asm/signal.h; libc's type has room for more).
const SIGNAL_SET_BYTES: usize = 8;

/// [`poll_then_call`] for a call that sets a signal mask. The program must observe what it would observe if the kernel did
/// everything:
///
/// 1. The kernel reads the mask first. If it cannot, the call fails with EFAULT.
/// 2. The kernel checks the descriptors once before it looks for signals. If it finds something, no handler runs.
/// 3. The kernel sets the mask while it waits. A signal that the mask unblocks ends the wait; a signal that the mask blocks
///    stays pending.
///
/// The poll runs under the call's mask. While the thread sets that mask, all signals but those of faults are blocked: a handler
/// that ran then would end neither the poll nor the call. Between the poll and the call the signals of both masks are
/// blocked: a signal that only the call's mask unblocks stays pending, and then ends the call.
///
/// # Safety
/// The program's arguments.
unsafe fn poll_then_call_under_mask<C: Call>(wait: &Wait, call: &mut C) -> (C::Answer, AnsweredBy) {
    if mem::copy_in(call.mask().addr(), &mut [0; SIGNAL_SET_BYTES]).is_err() {
        wait.report_ready(0);
        // SAFETY: the caller's promise.
        return unsafe { make_call(wait, call) };
    }
    let errno_before = errno::get();
    // SAFETY: the caller's promise.
    if let Some(answer) = unsafe { call.look() } {
        wait.report_ready(C::items(answer));
        return (answer, AnsweredBy::Poll);
    }
    errno::set(errno_before);
    let programs_mask = signal::set_mask(Mask::ALL_BUT_FAULTS);
    let handlers = Handlers::now();
    let answer = match signal::set_mask_at(call.mask().addr()) {
        Ok(_) => {
            // SAFETY: the caller's promise.
            let ended = unsafe { poll(wait, call, handlers) };
            signal::block(programs_mask);
            // SAFETY: the caller's promise.
            unsafe { answer_after_poll(wait, call, handlers, ended) }
        }
        Err(_) => {
            // Another thread has unmapped the mask since: the call reports that.
            signal::set_mask(programs_mask);
            // SAFETY: the caller's promise.
            unsafe { make_call(wait, call) }
        }
    };
    signal::set_mask(programs_mask);
    answer
}

/// Polls. `handlers` is the number of handlers that had run before.
///
/// # Safety
/// The program's arguments.
unsafe fn poll<C: Call>(wait: &Wait, call: &mut C, handlers: Handlers) -> Ended<C::Answer> {
    let errno_before = errno::get();
    let look = || {
        // A handler that ran before the answer came has ended the call.
        if call.is_ended_by(handlers.since()) {
            return Look::Interrupted;
        }
        // SAFETY: the caller's promise.
        match unsafe { call.look() } {
            // It may also have run during the look, before the answer came. The answer is left for the next call.
            Some(_) if C::TAKES_NOTHING && call.is_ended_by(handlers.since()) => Look::Interrupted,
            Some(answer) => Look::Found(answer),
            None => {
                // A call that succeeds in the end must not change errno.
                errno::set(errno_before);
                Look::Nothing
            }
        }
    };
    wait.poll(CheckKind::Call, look, |&answer| Some(C::items(answer)))
}

/// The answer after a poll that has ended like this. Makes the call if the poll has yielded none.
///
/// # Safety
/// The program's arguments.
unsafe fn answer_after_poll<C: Call>(
    wait: &Wait,
    call: &C,
    handlers: Handlers,
    ended: Ended<C::Answer>,
) -> (C::Answer, AnsweredBy) {
    let is_interrupted = match ended {
        Ended::Found(answer) => return (answer, AnsweredBy::Poll),
        Ended::Interrupted => true,
        // A handler may have run after the last look.
        Ended::Asleep => call.is_ended_by(handlers.since()),
    };
    if !is_interrupted {
        // SAFETY: the caller's promise.
        return unsafe { make_call(wait, call) };
    }
    // SAFETY: the caller's promise.
    unsafe { call.finish_interrupted() };
    errno::set(Errno::EINTR);
    (C::Answer::from(-1), AnsweredBy::Poll)
}
