//! FUTEX_WAIT and FUTEX_WAIT_BITSET through libc's `syscall()`: Rust's standard library and parking_lot sleep by these.
//!
//! A look is FUTEX_CMP_REQUEUE of no waiters from the word to itself: the kernel compares the word with the value, as
//! FUTEX_WAIT does before it sleeps, and does nothing else. So a word whose memory is unmapped gives the same answer as
//! without a poll. If the word has changed the answer is EAGAIN, as for a thread that calls a moment later.

use super::descriptor;
use super::handlers::Handlers;
use super::thread::Waiter;
use super::wait::{Ended, Look, Wait};
use crate::swap::plan;
use crate::watch::{Hook, Object, Thread};
use core::ffi::c_int;
use unspin_sys::{Errno, clock, raw};
use unspin_waiting::CheckKind;
use unspin_wire::looks::{LookKind, Looks};
use unspin_wire::{AttemptOutcome, RecordKind};

/// Mask for the operation without its flags.
const COMMAND: c_int = !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);

/// Whether a futex call waits, and is to be recorded or polled for.
#[inline(always)]
pub fn is_watched(operation: c_int) -> bool {
    let waits = matches!(operation & COMMAND, libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET);
    waits && (plan::is_polling() || Thread::current().is_some())
}

/// The arguments of the call, beginning with its address.
pub type Arguments = [usize; 6];

/// Makes and records the call, after a poll if that pays.
///
/// # Safety
/// As for the system call.
pub unsafe fn wait(arguments: Arguments, hook: Hook) -> Result<usize, Errno> {
    let thread = Thread::current();
    let object = Object { kind: RecordKind::Futex, address: arguments[0] };
    let recorded = thread.and_then(|thread| Some((thread, thread.attempt(object, 0, hook)?)));
    let began = clock::ticks();
    // SAFETY: the caller's promise.
    let (answer, is_polled) = unsafe { poll_or_call(arguments, hook) };
    let Some((thread, place)) = recorded.filter(|(thread, _)| thread.has_clock()) else { return answer };
    let took = clock::ticks().saturating_sub(began);
    let slept = !is_polled && Waiter::has_slept_now();
    let (outcome, spun, slept) = match answer {
        Err(Errno(libc::ETIMEDOUT)) => (AttemptOutcome::Rejected, 0, took),
        _ if is_polled => (AttemptOutcome::Spun, took, 0),
        _ if slept => (AttemptOutcome::Slept, 0, took),
        _ => return answer,
    };
    thread.table().reclassify_attempt(place, AttemptOutcome::NoWait, outcome);
    thread.table().add_wait(place, outcome, spun, slept);
    answer
}

/// Makes the call, after a poll if that pays. Returns the answer, and whether it came during the poll.
///
/// # Safety
/// As for the system call.
unsafe fn poll_or_call(arguments: Arguments, hook: Hook) -> (Result<usize, Errno>, bool) {
    let wait = Wait::begin(hook, Looks::of([LookKind::Futex]));
    if wait.polls() && may_poll(&arguments) {
        let handlers = Handlers::now();
        // The kernel does not restart a call with a timeout (signal(7)).
        let is_ended = || match arguments[3] {
            0 => handlers.since().ends_restartable(),
            _ => handlers.since().ends_any(),
        };
        // SAFETY: the caller's promise.
        let look = || match unsafe { has_changed(&arguments) } {
            true => Look::Found(Err(Errno::EAGAIN)),
            false if is_ended() => Look::Interrupted,
            false => Look::Nothing,
        };
        match wait.poll(CheckKind::Call, look, |_| None) {
            Ended::Found(answer) => return (answer, true),
            Ended::Interrupted => return (Err(Errno::EINTR), true),
            Ended::Asleep => {}
        }
    }
    // SAFETY: the caller's promise.
    let answer = unsafe { raw::call(libc::SYS_futex, arguments) };
    wait.report_sleep();
    (answer, false)
}

/// Whether the thread may poll: the call has no malformed argument, and its timeout is at least a millisecond, or
/// absolute.
fn may_poll(&[_, operation, _, timeout, _, bits]: &Arguments) -> bool {
    let is_bitset = operation as c_int & COMMAND == libc::FUTEX_WAIT_BITSET;
    if is_bitset {
        return bits as u32 != 0 && descriptor::is_time_in_kernel(core::ptr::without_provenance(timeout));
    }
    if operation as c_int & libc::FUTEX_CLOCK_REALTIME != 0 {
        return false;
    }
    descriptor::is_long_in_kernel(core::ptr::without_provenance(timeout))
}

/// Whether the word's value differs from the value that the caller expects.
///
/// # Safety
/// As for the system call.
unsafe fn has_changed(&[word, operation, expected, ..]: &Arguments) -> bool {
    let compare = libc::FUTEX_CMP_REQUEUE | operation as c_int & libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: no waiter is woken or moved, and nothing is written.
    let answer = unsafe { raw::call(libc::SYS_futex, [word, compare as usize, 0, 0, word, expected]) };
    answer == Err(Errno::EAGAIN)
}
