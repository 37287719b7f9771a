//! What all waits for descriptors have in common: the meter's row of the call site, a poll perhaps, the call that sleeps.

use super::handlers::{Handlers, Interruption};
use super::thread::Waiter;
use super::wait::{Ended, Look, Wait};
use crate::errno;
use crate::swap::plan;
use crate::watch::{Hook, Object, Thread};
use core::ffi::c_int;
use libc::timespec;
use unspin_meter::{ANY_DESCRIPTOR, Kind, Outcome, Place};
use unspin_sys::{Errno, mem, raw};
use unspin_waiting::Looks;

/// A call that may wait for descriptors.
pub trait Call {
    /// What it answers: -1 is a failure.
    type Answer: Copy + PartialEq + From<i8>;

    /// What the meter calls it.
    const KIND: Kind;

    /// Whether it may be polled for: it would block, and a look has no effect that the call would not have. Asked once before
    /// the first look.
    ///
    /// # Safety
    /// The program's arguments.
    unsafe fn may_poll(&mut self) -> bool;

    /// The answer, if the call need not wait.
    ///
    /// # Safety
    /// The program's arguments.
    unsafe fn look(&mut self) -> Option<Self::Answer>;

    /// The next definition, with the program's arguments.
    ///
    /// # Safety
    /// The program's arguments.
    unsafe fn sleep(&self) -> Self::Answer;

    /// How many things an answer brings.
    fn items(answer: Self::Answer) -> u64;

    /// Whether handlers that have run during the poll end the call.
    fn is_ended_by(&self, handlers: Interruption) -> bool;
}

/// Whether such calls are neither recorded nor polled for.
#[inline(always)]
pub fn is_off() -> bool {
    Thread::current().is_none() && !plan::is_polling()
}

/// A call that takes longer, in ticks, may have slept: 1 to 3 us.
const BRIEF: u64 = 4_000;

/// Makes the call, after a poll if that pays; recorded.
///
/// # Safety
/// The program's arguments.
#[inline(always)]
pub unsafe fn wait<C: Call>(call: C, hook: Hook) -> C::Answer {
    if is_off() {
        // SAFETY: the caller's promise.
        return unsafe { call.sleep() };
    }
    // SAFETY: the caller's promise.
    unsafe { watched(call, hook) }
}

/// # Safety
/// The program's arguments.
unsafe fn watched<C: Call>(mut call: C, hook: Hook) -> C::Answer {
    let thread = Thread::current();
    let object = Object { kind: C::KIND, address: ANY_DESCRIPTOR };
    let recorded = thread.and_then(|thread| Some((thread, thread.attempt(object, 0, hook)?)));
    let Some((thread, place)) = recorded else {
        // SAFETY: the caller's promise.
        return unsafe { waited(&mut call, hook) }.0;
    };
    let begin = thread.now();
    thread.table().waiting(place, begin);
    // SAFETY: the caller's promise.
    let (answer, how) = unsafe { waited(&mut call, hook) };
    thread.table().waiting(place, 0);
    if thread.has_clock() {
        record::<C>(thread, place, thread.now().saturating_sub(begin), answer, how);
    }
    answer
}

/// How an answer was waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// It came during a poll.
    Polled,
    /// It came from the call, which may have slept.
    Called,
}

/// # Safety
/// The program's arguments.
#[inline(always)]
unsafe fn waited<C: Call>(call: &mut C, hook: Hook) -> (C::Answer, How) {
    let wait = Wait::begin(hook);
    // SAFETY: the caller's promise.
    if wait.polls() && unsafe { call.may_poll() } {
        let (before, handlers) = (errno::get(), Handlers::now());
        // SAFETY: the caller's promise.
        let look = || match unsafe { call.look() } {
            Some(answer) => Look::Found(answer),
            None => {
                // A call that succeeds in the end leaves errno alone.
                errno::set(before);
                if call.is_ended_by(handlers.since()) { Look::Interrupted } else { Look::Nothing }
            }
        };
        match wait.poll(Looks::Call, look, |&answer| C::items(answer)) {
            Ended::Found(answer) => return (answer, How::Polled),
            Ended::Interrupted => {
                errno::set(Errno::EINTR);
                return (C::Answer::from(-1), How::Polled);
            }
            Ended::Asleep => {}
        }
    }
    // SAFETY: the caller's promise.
    let answer = unsafe { call.sleep() };
    wait.slept(C::items(answer));
    (answer, How::Called)
}

#[inline(never)]
fn record<C: Call>(thread: &Thread, place: Place, took: u64, answer: C::Answer, how: How) {
    let slept = how == How::Called && took > BRIEF && Waiter::has_slept_now();
    let outcome = match how {
        // A call that found nothing, or failed, without a wait.
        _ if !slept && took <= BRIEF && C::items(answer) == 0 => Outcome::Rejected,
        How::Polled if took > BRIEF => Outcome::Spun,
        How::Called if slept && C::items(answer) > 0 => Outcome::Slept,
        How::Called if slept => Outcome::Rejected,
        _ => return,
    };
    let table = thread.table();
    table.reclassify(place, Outcome::NoWait, outcome);
    match outcome {
        Outcome::Spun => table.waited(place, outcome, took, 0),
        _ if slept => table.waited(place, outcome, 0, took),
        _ => {}
    }
}

/// Whether calls on a descriptor block: O_NONBLOCK is not set.
pub fn blocks(fd: c_int) -> bool {
    // SAFETY: no pointers.
    let flags = unsafe { raw::call(libc::SYS_fcntl, [fd as usize, libc::F_GETFL as usize]) };
    flags.is_ok_and(|flags| flags as c_int & libc::O_NONBLOCK == 0)
}

/// Whether a socket gives up receiving after a time (SO_RCVTIMEO): then a handler ends a call even with SA_RESTART (signal(7)).
pub fn has_receive_timeout(fd: c_int) -> bool {
    let mut timeout = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut length = size_of_val(&timeout) as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET as usize, libc::SO_RCVTIMEO as usize);
    let (value, length) = (&raw mut timeout as usize, &raw mut length as usize);
    // SAFETY: room for the option's value, and its length.
    let known = unsafe { raw::call(libc::SYS_getsockopt, [fd as usize, level, option, value, length]) };
    known.is_ok() && (timeout.tv_sec, timeout.tv_usec) != (0, 0)
}

/// Whether a time, null for ever, is so long that a poll hardly makes it longer: a millisecond at least.
///
/// # Safety
/// Null or a live time.
pub unsafe fn is_long(timeout: *const timespec) -> bool {
    // SAFETY: the caller's promise.
    unsafe { timeout.as_ref() }.is_none_or(|timeout| timeout.tv_sec > 0 || timeout.tv_nsec >= 1_000_000)
}

/// The same of a time that only the kernel reads, so that a bad address is its business.
pub fn is_long_in_kernel(timeout: *const timespec) -> bool {
    let mut bytes = [0; size_of::<timespec>()];
    if timeout.is_null() || mem::copy_in(timeout.addr(), &mut bytes).is_err() {
        return timeout.is_null();
    }
    let [tv_sec, tv_nsec] =
        [0, 8].map(|at| i64::from_ne_bytes(bytes[at..at + 8].try_into().expect("8 bytes")));
    // SAFETY: a live time.
    unsafe { is_long(&timespec { tv_sec, tv_nsec }) }
}
