//! POSIX semaphores. The meter records which callers wait, and for how long. Any thread may post. If the thread posts
//! that has taken the token, the time in between is recorded as a hold: a semaphore whose tokens nearly all come back
//! this way is used as a lock (CPython's `threading.Lock`), and the report shows it as one.
//!
//! These functions report errors through `errno`. So an attempt that the program has not made itself must not change
//! it.

use super::attempt::{Attempt, WaitLimit, note_wait_start, record_init};
use super::mutex::is_supported;
use crate::errno;
use crate::glibc::semaphore::SemaphoreLayout;
use crate::next::forward;
use crate::swap::plan;
use crate::waits::handlers::{Handlers, Interruption};
use crate::waits::{Ended, Look, Wait};
use crate::watch::{Hook, Known, Object, Thread, recording};
use core::convert::identity;
use core::ffi::{c_int, c_uint};
use libc::{clockid_t, sem_t, timespec};
use unspin_sys::{Errno, clock, entry};
use unspin_waiting::CheckKind;
use unspin_wire::looks::Looks;
use unspin_wire::{AttemptOutcome, RecordKind, RowRef};

crate::next::define_next_codes! {
    /// sem_init(3).
    fn sem_init = sem_init(semaphore: *mut sem_t, shared: c_int, value: c_uint);
    /// sem_post(3).
    fn sem_post = sem_post(semaphore: *mut sem_t);
}

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
        record_init(semaphore, hook);
        // The token of an earlier semaphore at this address.
        let _ = give_back(semaphore.cast());
    }
    code
}

#[inline(always)]
fn attempt_at(semaphore: &SemaphoreLayout, hook: Hook) -> Option<Attempt> {
    Attempt::at(Object::new(RecordKind::Semaphore, semaphore), hook)
}

unsafe extern "C-unwind" fn wait(semaphore: *mut sem_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's semaphore; `entry` passes the registers.
    let (semaphore, hook) = unsafe { (SemaphoreLayout::of(semaphore), Hook::new(sp, bp)) };
    take(semaphore, hook, WaitLimit::None, true, Interruption::ends_restartable, || semaphore.wait())
}

unsafe extern "C-unwind" fn timedwait(
    semaphore: *mut sem_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    let (semaphore, hook) = unsafe { (SemaphoreLayout::of(semaphore), Hook::new(sp, bp)) };
    // SAFETY: the program's time.
    let tries = unsafe { is_time(until) };
    // SAFETY: as above.
    let blocked = || unsafe { semaphore.timedwait(until) };
    take(semaphore, hook, WaitLimit::Deadline, tries, Interruption::ends_any, blocked)
}

unsafe extern "C-unwind" fn clockwait(
    semaphore: *mut sem_t,
    clock: clockid_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    let (semaphore, hook) = unsafe { (SemaphoreLayout::of(semaphore), Hook::new(sp, bp)) };
    // SAFETY: the program's time.
    let tries = is_supported(clock) && unsafe { is_time(until) };
    // SAFETY: as above.
    let blocked = || unsafe { semaphore.clockwait(clock, until) };
    take(semaphore, hook, WaitLimit::Deadline, tries, Interruption::ends_any, blocked)
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
#[inline(always)]
fn take(
    semaphore: &SemaphoreLayout,
    hook: Hook,
    limit: WaitLimit,
    tries: bool,
    ends: impl Fn(Interruption) -> bool,
    blocked: impl FnOnce() -> c_int,
) -> c_int {
    // A pending cancellation takes effect here, whether the semaphore is free or not.
    pthread_testcancel();
    let Some(Attempt { thread, row, .. }) = attempt_at(semaphore, hook) else {
        if !plan::is_polling() {
            return blocked();
        }
        return wait_for(semaphore, hook, tries, ends, blocked).0;
    };
    let table = thread.table();
    if tries && semaphore.is_taken() {
        took(thread, semaphore, row);
        return 0;
    }
    table.reclassify_attempt(row, AttemptOutcome::NoWait, AttemptOutcome::Slept);
    let begin = thread.now();
    note_wait_start(thread, row, begin, limit);
    let (code, spun) = wait_for(semaphore, hook, tries, ends, blocked);
    table.set_wait_start(row, 0);
    let wait = thread.now().saturating_sub(begin);
    let outcome = match code {
        0 if spun => AttemptOutcome::Spun,
        0 => AttemptOutcome::Slept,
        _ => AttemptOutcome::Rejected,
    };
    table.reclassify_attempt(row, AttemptOutcome::Slept, outcome);
    if thread.has_clock() {
        let (spun, slept) = if spun { (wait, 0) } else { (0, wait) };
        table.add_wait(row, outcome, spun, slept);
    }
    if code == 0 {
        took(thread, semaphore, row);
    }
    code
}

/// Waits for the semaphore. Returns the answer, and whether it came during a poll. A free semaphore is decremented at
/// once.
fn wait_for(
    semaphore: &SemaphoreLayout,
    hook: Hook,
    tries: bool,
    ends: impl Fn(Interruption) -> bool,
    blocked: impl FnOnce() -> c_int,
) -> (c_int, bool) {
    let is_taken = || semaphore.has_tokens() && semaphore.is_taken();
    if tries && is_taken() {
        return (0, false);
    }
    let wait = Wait::begin(hook, Looks::NONE);
    if tries && wait.polls() {
        let handlers = Handlers::now();
        let look = || match is_taken() {
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
    wait.report_sleep();
    (code, false)
}

unsafe extern "C-unwind" fn trywait(semaphore: *mut sem_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's semaphore; `entry` passes the registers.
    let (semaphore, hook) = unsafe { (SemaphoreLayout::of(semaphore), Hook::new(sp, bp)) };
    let attempt = attempt_at(semaphore, hook);
    let code = semaphore.trywait();
    match attempt {
        Some(Attempt { thread, row, .. }) if code == 0 => took(thread, semaphore, row),
        Some(attempt) => attempt.record_rejected(),
        None => {}
    }
    code
}

/// Records that the thread has taken a token.
fn took(thread: &'static Thread, semaphore: &SemaphoreLayout, row: RowRef) {
    if thread.has_clock() {
        thread.table().take_token(key(semaphore), row, clock::ticks());
    }
}

/// Key of the semaphore in the list of tokens that a thread has.
fn key(semaphore: *const SemaphoreLayout) -> u64 {
    Object::new(RecordKind::Semaphore, semaphore).held()
}

/// Removes the token that the thread has taken from this semaphore, if it has one. The row of its acquisition, and its
/// time in ticks.
fn give_back(semaphore: *const SemaphoreLayout) -> Option<(&'static Thread, RowRef, u64)> {
    // A thread that has no table has taken no token: sem_post(3) may be called in a signal handler, which should set up
    // nothing.
    let (Known::Timed(thread) | Known::Planned(thread)) = Thread::known() else { return None };
    if !thread.has_clock() {
        return None;
    }
    let (row, since) = thread.table().give_back_token(key(semaphore))?;
    Some((thread, row, since))
}

/// sem_post(3).
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_post(semaphore: *mut sem_t) -> c_int {
    if !recording::is_off() {
        // SAFETY: as in the caller.
        return unsafe { post(semaphore) };
    }
    // SAFETY: as in the caller.
    unsafe { real::sem_post(semaphore) }
}

/// sem_post(3), where something may be recorded. The semaphore is not touched after libc has posted it: a thread that
/// takes the token may free it.
///
/// # Safety
/// As for libc's.
#[inline(never)]
unsafe fn post(semaphore: *mut sem_t) -> c_int {
    let given = give_back(semaphore.cast()).map(|(thread, row, since)| {
        // The hold ends before another thread can take the token.
        (thread, row, clock::ticks().saturating_sub(since))
    });
    // SAFETY: as in the caller.
    let code = unsafe { real::sem_post(semaphore) };
    if code == 0
        && let Some((thread, row, hold)) = given
    {
        thread.table().add_hold(row, hold);
    }
    code
}
