//! pthread_join(3) and its variants with a timeout.

use super::wait::{Ended, Look, Wait};
use crate::cancel::pthread_testcancel;
use crate::pthread::{mutex, semaphore};
use crate::watch::{Hook, Object, Thread};
use core::ffi::{c_int, c_void};
use libc::{EBUSY, clockid_t, pthread_t, timespec};
use unspin_sys::entry;
use unspin_waiting::CheckKind;
use unspin_wire::looks::Looks;
use unspin_wire::{ANY_DESCRIPTOR, AttemptOutcome, RecordKind};

crate::next::define_next_codes! {
    /// pthread_join(3).
    fn join = pthread_join(thread: pthread_t, value: *mut *mut c_void);
    /// pthread_tryjoin_np(3).
    fn tryjoin = pthread_tryjoin_np(thread: pthread_t, value: *mut *mut c_void);
    /// pthread_timedjoin_np(3).
    fn timedjoin = pthread_timedjoin_np(thread: pthread_t, value: *mut *mut c_void, until: *const timespec);
    /// pthread_clockjoin_np(3).
    fn clockjoin = pthread_clockjoin_np(
        thread: pthread_t, value: *mut *mut c_void, clock: clockid_t, until: *const timespec);
}

entry! {
    /// pthread_join(3).
    fn pthread_join(2) = join;
    /// pthread_timedjoin_np(3).
    fn pthread_timedjoin_np(3) = timedjoin;
    /// pthread_clockjoin_np(3).
    fn pthread_clockjoin_np(4) = clockjoin;
}

unsafe extern "C-unwind" fn join(thread: pthread_t, value: *mut *mut c_void, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { wait(thread, value, Hook::new(sp, bp), || real::join(thread, value)) }
}

unsafe extern "C-unwind" fn timedjoin(
    thread: pthread_t,
    value: *mut *mut c_void,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments.
    let sleeps = || unsafe { real::timedjoin(thread, value, until) };
    // SAFETY: the program's time, or null.
    if !unsafe { is_deadline(libc::CLOCK_REALTIME, until) } {
        return sleeps();
    }
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { wait(thread, value, Hook::new(sp, bp), sleeps) }
}

unsafe extern "C-unwind" fn clockjoin(
    thread: pthread_t,
    value: *mut *mut c_void,
    clock: clockid_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments.
    let sleeps = || unsafe { real::clockjoin(thread, value, clock, until) };
    // SAFETY: the program's time, or null.
    if !unsafe { is_deadline(clock, until) } {
        return sleeps();
    }
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { wait(thread, value, Hook::new(sp, bp), sleeps) }
}

/// Whether libc accepts this as a deadline. It refuses an unknown clock also for a thread that has ended, which a look would
/// join.
///
/// # Safety
/// `until` is null or a live time.
unsafe fn is_deadline(clock: clockid_t, until: *const timespec) -> bool {
    // SAFETY: the caller's promise.
    mutex::is_supported(clock) && (until.is_null() || unsafe { semaphore::is_time(until) })
}

/// Joins the thread, after a poll if that pays. `sleeps` is the function that the program called.
///
/// # Safety
/// The program's arguments.
#[inline(always)]
unsafe fn wait(
    thread: pthread_t,
    value: *mut *mut c_void,
    hook: Hook,
    sleeps: impl FnOnce() -> c_int,
) -> c_int {
    let recorded = Thread::current().and_then(|recorder| {
        let object = Object { kind: RecordKind::Join, address: ANY_DESCRIPTOR };
        Some((recorder, recorder.attempt(object, 0, hook)?, recorder.now()))
    });
    // A thread that has already ended needs no wait.
    // SAFETY: the program's arguments.
    let look = || unsafe { look_at(thread, value) };
    let wait = Wait::begin(hook, Looks::NONE);
    let polled = match if wait.polls() { look() } else { Look::Nothing } {
        Look::Found(code) => {
            wait.report_ready(1);
            Ended::Found(code)
        }
        Look::Nothing | Look::Interrupted => {
            if wait.polls() {
                // Without this, a thread that never has to sleep would never be cancelled.
                pthread_testcancel();
            }
            wait.poll(CheckKind::Load, look, |_| None)
        }
    };
    let code = match polled {
        Ended::Found(code) => code,
        Ended::Interrupted | Ended::Asleep => {
            let code = sleeps();
            wait.report_sleep();
            code
        }
    };
    if let Some((recorder, place, begin)) = recorded.filter(|(recorder, ..)| recorder.has_clock()) {
        let took = recorder.now().saturating_sub(begin);
        let (outcome, spun, slept) = match polled {
            Ended::Found(_) => (AttemptOutcome::Spun, took, 0),
            _ if code == 0 => (AttemptOutcome::Slept, 0, took),
            _ => (AttemptOutcome::Rejected, 0, took),
        };
        recorder.table().reclassify_attempt(place, AttemptOutcome::NoWait, outcome);
        recorder.table().add_wait(place, outcome, spun, slept);
    }
    code
}

/// One look: the answer, if the thread has ended.
///
/// # Safety
/// The program's arguments.
unsafe fn look_at(thread: pthread_t, value: *mut *mut c_void) -> Look<c_int> {
    // SAFETY: the caller's promise.
    match unsafe { real::tryjoin(thread, value) } {
        EBUSY => Look::Nothing,
        code => Look::Found(code),
    }
}
