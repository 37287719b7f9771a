//! The parts that all waits for descriptors share: the meter's row of the call site, a poll if it pays, the call that
//! sleeps.

use super::handlers::{Handlers, Interruption};
use super::thread::Waiter;
use super::wait::{Ended, Look, Wait};
use crate::errno;
use crate::watch::{Hook, Known, Object, Thread};
use core::ffi::c_int;
use core::ptr::null;
use libc::{sigset_t, timespec};
use unspin_sys::signal::{self, Mask};
use unspin_sys::{Errno, mem, raw};
use unspin_waiting::CheckKind;
use unspin_wire::{ANY_DESCRIPTOR, AttemptOutcome, RecordKind, RowRef};

/// A call that may wait for descriptors.
pub trait Call {
    /// The return type of the call; -1 means failure.
    type Answer: Copy + PartialEq + From<i8>;

    /// The meter's kind for this call.
    const KIND: RecordKind;

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

    /// Called if a handler has ended the call during the poll.
    ///
    /// # Safety
    /// The program's arguments.
    unsafe fn was_interrupted(&self) {}

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

/// Ticks, 1 to 3 us. A call that takes longer may have slept.
const BRIEF: u64 = 4_000;

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
    unsafe { watched(call, hook) }
}

/// As [`wait`], where the call is recorded or may poll.
///
/// # Safety
/// The program's arguments.
#[inline(never)]
unsafe fn watched<C: Call>(mut call: C, hook: Hook) -> C::Answer {
    let thread = Thread::current();
    let object = Object { kind: C::KIND, address: ANY_DESCRIPTOR };
    let recorded = thread.and_then(|thread| Some((thread, thread.attempt(object, 0, hook)?)));
    let Some((thread, place)) = recorded else {
        // SAFETY: the caller's promise.
        return unsafe { waited(&mut call, hook) }.0;
    };
    let begin = thread.now();
    thread.table().set_wait_start(place, begin);
    // SAFETY: the caller's promise.
    let (answer, how) = unsafe { waited(&mut call, hook) };
    thread.table().set_wait_start(place, 0);
    if thread.has_clock() {
        record::<C>(thread, place, thread.now().saturating_sub(begin), answer, how);
    }
    answer
}

/// How an answer was obtained.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// It came during a poll.
    Polled,
    /// It came from the call, which may have slept.
    Called,
}

/// Makes the call, after a poll if that pays.
///
/// # Safety
/// The program's arguments.
#[inline(always)]
unsafe fn waited<C: Call>(call: &mut C, hook: Hook) -> (C::Answer, How) {
    let wait = Wait::begin(hook);
    if wait.polls() {
        // SAFETY: the caller's promise.
        if unsafe { call.may_poll() } {
            // SAFETY: the caller's promise.
            return unsafe { polled_then_called(&wait, call) };
        }
        // `may_poll` costs a system call. A site where it always fails must come to rest, so each failure is reported.
        wait.was_ready(0);
    }
    // SAFETY: the caller's promise.
    (unsafe { called(&wait, call) }, How::Called)
}

/// Makes the call without a poll.
///
/// # Safety
/// The program's arguments.
#[inline(always)]
unsafe fn called<C: Call>(wait: &Wait, call: &C) -> C::Answer {
    // SAFETY: the caller's promise.
    let answer = unsafe { call.sleep() };
    wait.called(C::items(answer));
    answer
}

/// Polls, then makes the call.
///
/// # Safety
/// The program's arguments.
unsafe fn polled_then_called<C: Call>(wait: &Wait, call: &mut C) -> (C::Answer, How) {
    if !call.mask().is_null() {
        // SAFETY: the caller's promise.
        return unsafe { polled_under_mask(wait, call) };
    }
    let handlers = Handlers::now();
    // SAFETY: the caller's promise.
    let ended = unsafe { polled(wait, call, handlers) };
    // SAFETY: the caller's promise.
    unsafe { after_poll(wait, call, handlers, ended) }
}

/// Bytes of a signal mask, as the kernel reads it (`sigset_t` of asm/signal.h; libc's type has room for more).
const SIGNAL_SET_BYTES: usize = 8;

/// The same under the signal mask of the call: a signal that this mask unblocks ends the poll, a signal that it blocks
/// stays pending. While the mask is changed, and from the last look to the call, all signals that may not be handled
/// there are blocked. The call unblocks them, as it would have done without a poll.
///
/// # Safety
/// The program's arguments.
unsafe fn polled_under_mask<C: Call>(wait: &Wait, call: &mut C) -> (C::Answer, How) {
    // The kernel reads the mask before anything else.
    if mem::copy_in(call.mask().addr(), &mut [0; SIGNAL_SET_BYTES]).is_err() {
        wait.was_ready(0);
        // SAFETY: the caller's promise.
        return (unsafe { called(wait, call) }, How::Called);
    }
    let before = errno::get();
    // The kernel also checks once before it unblocks any signal.
    // SAFETY: the caller's promise.
    if let Some(answer) = unsafe { call.look() } {
        wait.was_ready(C::items(answer));
        return (answer, How::Polled);
    }
    errno::set(before);
    let outside = signal::set_mask(Mask::ALL_BUT_FAULTS);
    let handlers = Handlers::now();
    let answer = match signal::set_mask_at(call.mask().addr()) {
        Ok(_) => {
            // SAFETY: the caller's promise.
            let ended = unsafe { polled(wait, call, handlers) };
            signal::block(outside);
            // SAFETY: the caller's promise.
            unsafe { after_poll(wait, call, handlers, ended) }
        }
        Err(_) => {
            // Another thread has unmapped the mask since: the call reports that.
            signal::set_mask(outside);
            // SAFETY: the caller's promise.
            (unsafe { called(wait, call) }, How::Called)
        }
    };
    signal::set_mask(outside);
    answer
}

/// The answer after a poll. Makes the call if the poll was unsuccessful.
///
/// # Safety
/// The program's arguments.
unsafe fn after_poll<C: Call>(
    wait: &Wait,
    call: &C,
    handlers: Handlers,
    ended: Ended<C::Answer>,
) -> (C::Answer, How) {
    match ended {
        Ended::Found(answer) => (answer, How::Polled),
        // A handler may have run after the last look.
        Ended::Asleep if !call.is_ended_by(handlers.since()) => {
            // SAFETY: the caller's promise.
            (unsafe { called(wait, call) }, How::Called)
        }
        Ended::Asleep | Ended::Interrupted => {
            // SAFETY: the caller's promise.
            unsafe { call.was_interrupted() };
            errno::set(Errno::EINTR);
            (C::Answer::from(-1), How::Polled)
        }
    }
}

/// Polls.
///
/// # Safety
/// The program's arguments.
unsafe fn polled<C: Call>(wait: &Wait, call: &mut C, handlers: Handlers) -> Ended<C::Answer> {
    let before = errno::get();
    let look = || {
        // A handler that ran before the answer came has ended the call.
        if call.is_ended_by(handlers.since()) {
            return Look::Interrupted;
        }
        // SAFETY: the caller's promise.
        match unsafe { call.look() } {
            Some(_) if C::TAKES_NOTHING && call.is_ended_by(handlers.since()) => Look::Interrupted,
            Some(answer) => Look::Found(answer),
            None => {
                // A call that succeeds in the end must not change errno.
                errno::set(before);
                Look::Nothing
            }
        }
    };
    wait.poll(CheckKind::Call, look, |&answer| Some(C::items(answer)))
}

#[inline(never)]
fn record<C: Call>(thread: &Thread, place: RowRef, took: u64, answer: C::Answer, how: How) {
    let slept = how == How::Called && took > BRIEF && Waiter::has_slept_now();
    let outcome = match how {
        // A call that found nothing, or failed, without a wait.
        _ if !slept && took <= BRIEF && C::items(answer) == 0 => AttemptOutcome::Rejected,
        How::Polled if took > BRIEF => AttemptOutcome::Spun,
        How::Called if slept && C::items(answer) > 0 => AttemptOutcome::Slept,
        How::Called if slept => AttemptOutcome::Rejected,
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

/// Converts the answer of a call without timeout to the result of a look. EINTR also counts as "nothing": it says
/// nothing about the descriptors.
pub fn found(answer: c_int) -> Option<c_int> {
    let is_nothing = answer == 0 || answer == -1 && errno::get() == Errno::EINTR;
    (!is_nothing).then_some(answer)
}

/// Whether calls on a descriptor block: O_NONBLOCK is not set.
pub fn blocks(fd: c_int) -> bool {
    // SAFETY: no pointers.
    let flags = unsafe { raw::call(libc::SYS_fcntl, [fd as usize, libc::F_GETFL as usize]) };
    flags.is_ok_and(|flags| flags as c_int & libc::O_NONBLOCK == 0)
}

/// Whether receiving from a socket has a timeout (SO_RCVTIMEO). Then a handler ends a call even with SA_RESTART
/// (signal(7)).
pub fn has_receive_timeout(fd: c_int) -> bool {
    socket_option::<[i64; 2]>(fd, libc::SO_RCVTIMEO).is_some_and(|timeout| timeout != [0, 0])
}

/// Whether a blocking receive waits for more than one byte (SO_RCVLOWAT); a look would not wait for them.
pub fn receives_in_bulk(fd: c_int) -> bool {
    socket_option::<c_int>(fd, libc::SO_RCVLOWAT).is_some_and(|bytes| bytes > 1)
}

/// A socket option whose value consists of integers; `None` if the descriptor is not a socket.
fn socket_option<T: Default + Copy>(fd: c_int, option: c_int) -> Option<T> {
    let mut value = T::default();
    let mut length = size_of::<T>() as libc::socklen_t;
    let at = [&raw mut value as usize, &raw mut length as usize];
    let arguments = [fd as usize, libc::SOL_SOCKET as usize, option as usize, at[0], at[1]];
    // SAFETY: room for the option's value, and its length.
    unsafe { raw::call(libc::SYS_getsockopt, arguments) }.ok().map(|_| value)
}

/// Whether a timeout is a millisecond or more, so that a poll hardly makes it longer. Null means for ever.
///
/// # Safety
/// `timeout` is null or a live time.
pub unsafe fn is_long(timeout: *const timespec) -> bool {
    // SAFETY: the caller's promise.
    let Some(&timespec { tv_sec, tv_nsec }) = (unsafe { timeout.as_ref() }) else { return true };
    // An invalid time is not long; libc refuses it.
    let is_time = tv_sec >= 0 && (0..1_000_000_000).contains(&tv_nsec);
    is_time && (tv_sec > 0 || tv_nsec >= 1_000_000)
}

/// The same for a time that only the kernel reads: a bad address is left for the kernel to report.
pub fn is_long_in_kernel(timeout: *const timespec) -> bool {
    // SAFETY: a live time.
    timeout.is_null() || time_in_kernel(timeout).is_some_and(|time| unsafe { is_long(&time) })
}

/// Whether the kernel accepts a time that only the kernel reads (`timespec64_valid`). Null means for ever.
pub fn is_time_in_kernel(time: *const timespec) -> bool {
    let is_valid = |time: timespec| time.tv_sec >= 0 && (0..1_000_000_000).contains(&time.tv_nsec);
    time.is_null() || time_in_kernel(time).is_some_and(is_valid)
}

/// A time that only the kernel reads; `None` if it cannot be read.
fn time_in_kernel(time: *const timespec) -> Option<timespec> {
    let mut bytes = [0; size_of::<timespec>()];
    mem::copy_in(time.addr(), &mut bytes).ok()?;
    let [tv_sec, tv_nsec] =
        [0, 8].map(|at| i64::from_ne_bytes(bytes[at..at + 8].try_into().expect("8 bytes")));
    Some(timespec { tv_sec, tv_nsec })
}
