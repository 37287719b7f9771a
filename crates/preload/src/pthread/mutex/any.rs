//! The calls that serve any mutex, in any thread.

use super::object;
use crate::glibc::mutex::MutexLayout;
use crate::pthread::attempt::{Attempt, HowWaited, Release, WaitLimit, is_success};
use crate::pthread::{inversion, property};
use crate::swap::acquisition::Acquisition;
use crate::swap::deadline::Deadline;
use crate::swap::mutex::Mutex;
use crate::watch::{Hook, Thread};
use core::ffi::c_int;
use libc::EBUSY;

/// Locks any mutex, in any thread.
#[inline(never)]
pub fn lock(mutex: &MutexLayout, hook: Hook) -> c_int {
    acquire(mutex, hook, None)
}

/// An attempt that may block.
#[inline(always)]
pub fn acquire(mutex: &MutexLayout, hook: Hook, deadline: Option<Deadline>) -> c_int {
    match Thread::current() {
        Some(thread) => acquire_recorded(thread, mutex, hook, deadline),
        None => Mutex::new(mutex, hook).acquire(deadline).code,
    }
}

/// An attempt that may block, by a thread that is recorded.
fn acquire_recorded(
    thread: &'static Thread,
    mutex: &MutexLayout,
    hook: Hook,
    deadline: Option<Deadline>,
) -> c_int {
    let attempt = Attempt::new(thread, object(mutex), object(mutex).held(), hook);
    let mutex = Mutex::new(mutex, hook);
    let Some(attempt) = attempt else { return mutex.acquire(deadline).code };
    match mutex.try_first(deadline) {
        EBUSY => acquire_contended(attempt, mutex, deadline, hook),
        code => end_attempt(attempt, mutex.words(), code),
    }
}

#[cold]
#[inline(never)]
pub fn acquire_contended(
    attempt: Attempt,
    mutex: Mutex<'_>,
    deadline: Option<Deadline>,
    hook: Hook,
) -> c_int {
    let (thread, owner) = (attempt.thread, mutex.words().owner());
    let limit = if deadline.is_some() { WaitLimit::Deadline } else { WaitLimit::None };
    let wait = attempt.begin_wait(object(mutex.words()), owner, limit);
    let begin = wait.begin();
    let Acquisition { code, waited } = mutex.acquire(deadline);
    let how = match waited {
        Some(waited) => HowWaited::from(waited),
        None if mutex.words().is_adaptive() => HowWaited::SpinningFirst,
        None => HowWaited::Asleep,
    };
    let end = thread.now();
    let code = wait.end(code, how);
    inversion::note(thread, mutex.words(), owner, end.saturating_sub(begin), hook);
    property::note(thread, mutex.words(), hook);
    code
}

/// Ends an attempt that did not block with its return value.
#[inline(always)]
pub fn end_attempt(attempt: Attempt, mutex: &MutexLayout, code: c_int) -> c_int {
    if attempt.thread.has_clock() && mutex.is_recursive() && is_success(code) && attempt.is_repeated() {
        attempt.record_acquired_again();
        return code;
    }
    attempt.end(code)
}

/// An attempt that does not block.
pub fn try_lock(mutex: &MutexLayout, hook: Hook) -> c_int {
    let attempt = Attempt::at_lock(object(mutex), hook);
    let code = Mutex::new(mutex, hook).try_lock();
    match attempt {
        None => code,
        Some(attempt) => end_attempt(attempt, mutex, code),
    }
}

/// Unlocks any mutex, in any thread.
#[inline(never)]
pub fn release(mutex: &MutexLayout, hook: Hook) -> c_int {
    let release = Thread::current().and_then(|thread| Release::begin(thread, object(mutex), hook));
    let code = Mutex::new(mutex, hook).unlock();
    release.map_or(code, |release| release.end(code))
}
