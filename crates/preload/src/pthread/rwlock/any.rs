//! The calls that serve any read-write lock, in any thread.

use crate::glibc::rwlock::{Mode, RwLockLayout, Writing};
use crate::pthread::attempt::{Attempt, HowWaited, Release, WaitLimit, is_success};
use crate::pthread::{busy, property};
use crate::swap::deadline::Deadline;
use crate::swap::rwlock::RwLock;
use crate::watch::{Hook, Object, Thread};
use core::ffi::c_int;
use libc::EBUSY;
use unspin_wire::RecordKind;

/// The lock, held for reading or for writing, as an object of the meter.
#[inline(always)]
fn object<M: Mode>(lock: &RwLockLayout) -> Object {
    Object::new(if M::IS_READING { RecordKind::Read } else { RecordKind::Write }, lock)
}

/// Acquires any lock, in any thread.
#[inline(never)]
pub fn lock<M: Mode>(lock: &RwLockLayout, hook: Hook) -> c_int {
    acquire::<M>(lock, hook, None)
}

/// An attempt that may block.
#[inline(always)]
pub fn acquire<M: Mode>(lock: &RwLockLayout, hook: Hook, deadline: Option<Deadline>) -> c_int {
    match Thread::current() {
        Some(thread) => acquire_recorded::<M>(thread, RwLock::new(lock, hook), hook, deadline),
        None => RwLock::new(lock, hook).acquire::<M>(deadline).code,
    }
}

/// An attempt that may block, by a thread that is recorded.
#[inline(always)]
pub fn acquire_recorded<M: Mode>(
    thread: &'static Thread,
    lock: RwLock<'_>,
    hook: Hook,
    deadline: Option<Deadline>,
) -> c_int {
    let object = object::<M>(lock.words());
    let Some(attempt) = Attempt::new(thread, object, object.held(), hook) else {
        return lock.acquire::<M>(deadline).code;
    };
    let code = match lock.try_first::<M>(deadline) {
        EBUSY => acquire_contended::<M>(attempt, lock, deadline, hook),
        code => attempt.end(code),
    };
    note_reader::<M>(thread, lock, code)
}

fn acquire_contended<M: Mode>(
    attempt: Attempt,
    lock: RwLock<'_>,
    deadline: Option<Deadline>,
    hook: Hook,
) -> c_int {
    property::note_rwlock(attempt.thread, lock.words(), hook);
    let limit = if deadline.is_some() { WaitLimit::Deadline } else { WaitLimit::None };
    let wait = attempt.begin_wait(object::<M>(lock.words()), lock.words().writer(), limit);
    let acquisition = lock.acquire::<M>(deadline);
    wait.end(acquisition.code, acquisition.waited.map_or(HowWaited::Asleep, HowWaited::from))
}

/// To be called after an attempt with its return value.
#[inline(always)]
fn note_reader<M: Mode>(thread: &Thread, lock: RwLock<'_>, code: c_int) -> c_int {
    if M::IS_READING && is_success(code) {
        busy::reader_came(thread, lock);
    }
    code
}

/// An attempt that does not block.
pub fn try_lock<M: Mode>(words: &RwLockLayout, hook: Hook) -> c_int {
    let attempt = Attempt::at_lock(object::<M>(words), hook);
    let lock = RwLock::new(words, hook);
    let code = lock.try_lock::<M>();
    match attempt {
        None => code,
        Some(attempt) => note_reader::<M>(attempt.thread, lock, attempt.end(code)),
    }
}

/// Releases any lock, in any thread.
#[inline(never)]
pub fn unlock(words: &RwLockLayout, hook: Hook) -> c_int {
    let lock = RwLock::new(words, hook);
    match Thread::current() {
        Some(thread) => release_recorded(thread, lock, hook),
        None => lock.unlock(),
    }
}

/// A release by a thread that is recorded.
#[inline(always)]
pub fn release_recorded(thread: &'static Thread, lock: RwLock<'_>, hook: Hook) -> c_int {
    // The calling thread holds the lock. If any thread holds it for writing, that is the calling thread.
    if !lock.words().has_writer() {
        return busy::release(thread, lock, hook);
    }
    match Release::begin(thread, object::<Writing>(lock.words()), hook) {
        None => lock.unlock(),
        Some(release) => release.end(lock.unlock()),
    }
}
