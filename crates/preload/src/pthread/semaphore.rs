//! POSIX semaphores. Any thread may post, so there is no hold. The meter records which callers wait, and for how long.
//!
//! These functions report errors through `errno`. So an attempt that the program has not made itself must not change
//! it.

use super::acquire::{attempt, initialised};
use super::mutex::is_supported;
use super::{layout, real};
use crate::errno;
use crate::next::forward;
use crate::swap::plan;
use crate::waits::handlers::{Handlers, Interruption};
use crate::waits::{Ended, Look, Wait};
use crate::watch::{Hook, Object, Thread};
use core::convert::identity;
use core::ffi::{c_int, c_uint};
use libc::{clockid_t, sem_t, timespec};
use unspin_meter::{AttemptOutcome, RecordKind, RowRef};
use unspin_sys::{Errno, entry};
use unspin_waiting::CheckKind;

entry! {
    /// sem_init(3).
    fn sem_init(3) = init;
    /// sem_wait(3).
    fn sem_wait(1) = wait;
    /// sem_trywait(3).
    fn sem_trywait(1) = trywait;
    /// sem_timedwait(3).
    fn sem_timedwait(2) = timedwait;
    /// sem_clockwait(3).
    fn sem_clockwait(3) = clockwait;
}

forward! { identity =>
    /// sem_post(3).
    fn sem_post(semaphore: *mut sem_t) -> c_int;
    /// sem_destroy(3).
    fn sem_destroy(semaphore: *mut sem_t) -> c_int;
}

unsafe extern "C-unwind" {
    safe fn pthread_testcancel();
}

unsafe extern "C-unwind" fn init(
    semaphore: *mut sem_t,
    shared: c_int,
    value: c_uint,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    let (code, hook) = unsafe { (real::sem_init(semaphore, shared, value), Hook::new(sp, bp)) };
    if code == 0 {
        initialised(semaphore, hook);
    }
    code
}

#[inline(always)]
fn attempt_at(semaphore: *mut sem_t, hook: Hook) -> Option<(&'static Thread, RowRef)> {
    attempt(Object::new(RecordKind::Semaphore, semaphore), 0, hook)
}

unsafe extern "C-unwind" fn wait(semaphore: *mut sem_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's semaphore; `entry` passes the registers.
    unsafe {
        take(semaphore, Hook::new(sp, bp), true, Interruption::ends_restartable, || real::sem_wait(semaphore))
    }
}

unsafe extern "C-unwind" fn timedwait(
    semaphore: *mut sem_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe {
        let tried = is_time(until);
        take(semaphore, Hook::new(sp, bp), tried, Interruption::ends_any, || {
            real::sem_timedwait(semaphore, until)
        })
    }
}

unsafe extern "C-unwind" fn clockwait(
    semaphore: *mut sem_t,
    clock: clockid_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe {
        let tried = is_supported(clock) && is_time(until);
        take(semaphore, Hook::new(sp, bp), tried, Interruption::ends_any, || {
            real::sem_clockwait(semaphore, clock, until)
        })
    }
}

/// Whether libc accepts this as a time. libc checks it even if the semaphore is free.
///
/// # Safety
/// `until` points to a live time.
pub unsafe fn is_time(until: *const timespec) -> bool {
    // SAFETY: the caller's promise.
    (0..1_000_000_000).contains(&unsafe { (*until).tv_nsec })
}

/// Decrements the semaphore. If `tries` allows it, first tries to do so without a wait. `ends` says which handlers end
/// the wait: the kernel does not restart a wait with a timeout (signal(7)).
///
/// # Safety
/// `semaphore` is live.
#[inline(always)]
unsafe fn take(
    semaphore: *mut sem_t,
    hook: Hook,
    tries: bool,
    ends: impl Fn(Interruption) -> bool,
    blocked: impl FnOnce() -> c_int,
) -> c_int {
    // A pending cancellation takes effect here, whether the semaphore is free or not.
    pthread_testcancel();
    let Some((thread, place)) = attempt_at(semaphore, hook) else {
        if !plan::is_polling() {
            return blocked();
        }
        // SAFETY: the caller's promise.
        return unsafe { wait_for(semaphore, hook, tries, ends, blocked) }.0;
    };
    let table = thread.table();
    // SAFETY: the caller's promise.
    if tries && unsafe { tried(semaphore) } {
        return 0;
    }
    table.reclassify_attempt(place, AttemptOutcome::NoWait, AttemptOutcome::Slept);
    let begin = thread.now();
    table.set_wait_start(place, begin);
    // SAFETY: the caller's promise.
    let (code, spun) = unsafe { wait_for(semaphore, hook, tries, ends, blocked) };
    table.set_wait_start(place, 0);
    let wait = thread.now().saturating_sub(begin);
    let outcome = match code {
        0 if spun => AttemptOutcome::Spun,
        0 => AttemptOutcome::Slept,
        _ => AttemptOutcome::Rejected,
    };
    table.reclassify_attempt(place, AttemptOutcome::Slept, outcome);
    if thread.has_clock() {
        let (spun, slept) = if spun { (wait, 0) } else { (0, wait) };
        table.add_wait(place, outcome, spun, slept);
    }
    code
}

/// Decrements the semaphore if that needs no wait.
///
/// # Safety
/// `semaphore` is live.
unsafe fn tried(semaphore: *mut sem_t) -> bool {
    let before = errno::get();
    // SAFETY: the caller's promise.
    let is_taken = unsafe { real::sem_trywait(semaphore) } == 0;
    if !is_taken {
        errno::set(before);
    }
    is_taken
}

/// Waits for the semaphore. Returns the answer, and whether it came during a poll. A free semaphore is decremented at
/// once.
///
/// # Safety
/// `semaphore` is live.
unsafe fn wait_for(
    semaphore: *mut sem_t,
    hook: Hook,
    tries: bool,
    ends: impl Fn(Interruption) -> bool,
    blocked: impl FnOnce() -> c_int,
) -> (c_int, bool) {
    // SAFETY: the caller's promise.
    if tries && unsafe { layout::has_tokens(semaphore) && tried(semaphore) } {
        return (0, false);
    }
    let wait = Wait::begin(hook);
    if tries && wait.polls() {
        let handlers = Handlers::now();
        // SAFETY: the caller's promise.
        let look = || match unsafe { layout::has_tokens(semaphore) && tried(semaphore) } {
            true => Look::Found(()),
            false if ends(handlers.since()) => Look::Interrupted,
            false => Look::Nothing,
        };
        match wait.poll(CheckKind::Load, look, |_| None) {
            Ended::Found(()) => return (0, true),
            Ended::Interrupted => {
                errno::set(Errno::EINTR);
                return (-1, true);
            }
            Ended::Asleep => {}
        }
    }
    let code = blocked();
    wait.slept();
    (code, false)
}

unsafe extern "C-unwind" fn trywait(semaphore: *mut sem_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's semaphore; `entry` passes the registers.
    unsafe {
        let attempt = attempt_at(semaphore, Hook::new(sp, bp));
        let code = real::sem_trywait(semaphore);
        if let Some((thread, place)) = attempt.filter(|_| code != 0) {
            thread.table().reclassify_attempt(place, AttemptOutcome::NoWait, AttemptOutcome::Rejected);
        }
        code
    }
}
