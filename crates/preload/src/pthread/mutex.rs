//! Mutexes. A call goes one way: from the hook to the meter, if the thread is recorded, and on to the implementation that
//! serves the mutex.

use super::attempt::{Attempt, HowWaited, Release, WaitLimit, initialised, is_success};
use super::{inversion, property};
use crate::glibc::functions as real;
use crate::glibc::mutex::MutexLayout;
use crate::next::forward;
use crate::swap::mutex::{Acquisition, Deadline, Mutex, lock_fast, lock_known, unlock_fast, unlock_known};
use crate::swap::mutex_impl;
use crate::watch::{Hook, Known, Object, Thread};
use core::convert::identity;
use core::ffi::c_int;
use libc::{EBUSY, clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
use unspin_locks::Waited;
use unspin_sys::entry;

entry! {
    /// pthread_mutex_init(3).
    fn pthread_mutex_init(2) = init;
    /// pthread_mutex_lock(3).
    fn pthread_mutex_lock(1) = lock;
    /// pthread_mutex_trylock(3).
    fn pthread_mutex_trylock(1) = trylock;
    /// pthread_mutex_timedlock(3).
    fn pthread_mutex_timedlock(2) = timedlock;
    /// pthread_mutex_clocklock(3).
    fn pthread_mutex_clocklock(3) = clocklock;
    /// pthread_mutex_unlock(3).
    fn pthread_mutex_unlock(1) = unlock;

    /// pthread_mutex_init(3), under the name that old programs use.
    fn __pthread_mutex_init(2) = init;
    /// pthread_mutex_lock(3), likewise.
    fn __pthread_mutex_lock(1) = lock;
    /// pthread_mutex_trylock(3), likewise.
    fn __pthread_mutex_trylock(1) = trylock;
    /// pthread_mutex_unlock(3), likewise.
    fn __pthread_mutex_unlock(1) = unlock;
}

forward! { identity =>
    /// pthread_mutex_consistent(3).
    fn pthread_mutex_consistent(mutex: *mut pthread_mutex_t) -> c_int;
    /// The same, under its older name.
    fn pthread_mutex_consistent_np(mutex: *mut pthread_mutex_t) -> c_int;
}

/// The mutex as an object of the meter.
#[inline(always)]
pub fn object(mutex: &MutexLayout) -> Object {
    Object::new(unspin_wire::RecordKind::Mutex, mutex.as_ptr())
}

unsafe extern "C-unwind" fn init(
    mutex: *mut pthread_mutex_t,
    attributes: *const pthread_mutexattr_t,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments.
    let code = unsafe { real::mutex_init(mutex, attributes) };
    if code == 0 {
        // SAFETY: libc has initialised the mutex; `entry` passes the registers.
        let (mutex, hook) = unsafe { (MutexLayout::of(mutex), Hook::new(sp, bp)) };
        note_init(mutex, hook);
    }
    code
}

/// To be called after libc has initialised a mutex that no thread uses yet.
pub fn note_init(mutex: &MutexLayout, hook: Hook) {
    mutex_impl::initialised(mutex, hook);
    initialised(mutex.as_ptr(), hook);
}

/// pthread_mutex_destroy(3).
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_destroy(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's mutex.
    let code = unsafe { real::mutex_destroy(mutex) };
    if code == 0 {
        // SAFETY: the memory still belongs to the caller.
        mutex_impl::destroyed(unsafe { MutexLayout::of(mutex) });
    }
    code
}

/// pthread_mutex_destroy(3), under the name that old programs use.
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pthread_mutex_destroy(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's mutex.
    unsafe { pthread_mutex_destroy(mutex) }
}

unsafe extern "C-unwind" fn lock(mutex: *mut pthread_mutex_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` passes the registers.
    let (mutex, hook) = unsafe { (MutexLayout::of(mutex), Hook::new(sp, bp)) };
    match Thread::known() {
        Known::Idle => mutex.libc_lock(),
        Known::Absent => match lock_fast(mutex) {
            Some(code) => code,
            None => lock_unrecorded(mutex, hook),
        },
        Known::Counted(thread) => lock_counted(mutex, hook, thread),
        Known::Timed(thread) => lock_timed(mutex, hook, thread),
        Known::Planned(_) | Known::Unknown => lock_slow(mutex, hook),
    }
}

/// Locks a mutex, in a thread that is not recorded.
#[inline(never)]
fn lock_unrecorded(mutex: &MutexLayout, hook: Hook) -> c_int {
    match lock_known(mutex) {
        Some(code) => code,
        None => lock_planned(mutex, hook),
    }
}

#[inline(never)]
fn lock_planned(mutex: &MutexLayout, hook: Hook) -> c_int {
    Mutex::new(mutex, hook).lock().code
}

/// Locks any mutex, in any thread.
#[inline(never)]
fn lock_slow(mutex: &MutexLayout, hook: Hook) -> c_int {
    acquire(mutex, hook, None)
}

/// Locks a mutex of libc, in a thread of which no times are recorded.
#[inline(never)]
fn lock_counted(mutex: &MutexLayout, hook: Hook, thread: &'static Thread) -> c_int {
    if mutex.is_robust() || Attempt::direct(thread, object(mutex), hook).is_none() {
        return lock_slow(mutex, hook);
    }
    match mutex.libc_trylock() {
        0 => 0,
        code => lock_failed(mutex, hook, thread, code),
    }
}

/// Locks a mutex of libc, in a thread of which times are recorded.
#[inline(never)]
fn lock_timed(mutex: &MutexLayout, hook: Hook, thread: &'static Thread) -> c_int {
    if !mutex.is_simple() {
        return lock_slow(mutex, hook);
    }
    let Some(attempt) = Attempt::direct(thread, object(mutex), hook) else { return lock_slow(mutex, hook) };
    match mutex.libc_trylock() {
        0 => {
            attempt.begin_hold();
            0
        }
        code => lock_failed(mutex, hook, thread, code),
    }
}

/// Goes on after [`Attempt::direct`] and a trylock that failed.
#[cold]
#[inline(never)]
fn lock_failed(mutex: &MutexLayout, hook: Hook, thread: &'static Thread, code: c_int) -> c_int {
    let mutex = Mutex::new(mutex, hook);
    match Attempt::just_counted(thread, object(mutex.words()), hook) {
        Some(attempt) if code == EBUSY => acquire_contended(attempt, mutex, None, hook),
        Some(attempt) => end_attempt(attempt, mutex.words(), code),
        // There is no memory for a row, or a handler has forked since, and this is the child.
        None if code == EBUSY => mutex.lock().code,
        None => code,
    }
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
fn acquire_contended(attempt: Attempt, mutex: Mutex<'_>, deadline: Option<Deadline>, hook: Hook) -> c_int {
    let (thread, owner) = (attempt.thread, mutex.words().owner());
    let limit = if deadline.is_some() { WaitLimit::Deadline } else { WaitLimit::None };
    let wait = attempt.begin_wait(limit);
    let begin = wait.begin();
    let Acquisition { code, waited } = mutex.acquire(deadline);
    let how = match waited {
        Some(Waited::Slept) => HowWaited::Asleep,
        Some(Waited::Spun) => HowWaited::Spinning,
        Some(Waited::No) => HowWaited::NotAtAll,
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
fn end_attempt(attempt: Attempt, mutex: &MutexLayout, code: c_int) -> c_int {
    if attempt.thread.has_clock() && mutex.is_recursive() && is_success(code) && attempt.is_repeated() {
        attempt.acquired_again();
        return code;
    }
    attempt.ended(code)
}

unsafe extern "C-unwind" fn trylock(mutex: *mut pthread_mutex_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` passes the registers.
    let (mutex, hook) = unsafe { (MutexLayout::of(mutex), Hook::new(sp, bp)) };
    try_lock(mutex, hook)
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

unsafe extern "C-unwind" fn timedlock(
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    let (mutex, hook, deadline) =
        unsafe { (MutexLayout::of(mutex), Hook::new(sp, bp), Deadline::new(libc::CLOCK_REALTIME, until)) };
    acquire(mutex, hook, Some(deadline))
}

unsafe extern "C-unwind" fn clocklock(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    let (mutex, hook, deadline) =
        unsafe { (MutexLayout::of(mutex), Hook::new(sp, bp), Deadline::new(clock, until)) };
    if is_supported(clock) {
        return acquire(mutex, hook, Some(deadline));
    }
    let attempt = Attempt::at_lock(object(mutex), hook);
    // SAFETY: the program's arguments. libc rejects an unsupported clock with EINVAL, even if the mutex is free.
    let code = unsafe { mutex.libc_clocklock(clock, until) };
    attempt.map_or(code, |attempt| attempt.ended(code))
}

/// Whether libc supports this clock for waits.
pub fn is_supported(clock: clockid_t) -> bool {
    clock == libc::CLOCK_REALTIME || clock == libc::CLOCK_MONOTONIC
}

unsafe extern "C-unwind" fn unlock(mutex: *mut pthread_mutex_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` passes the registers.
    let (mutex, hook) = unsafe { (MutexLayout::of(mutex), Hook::new(sp, bp)) };
    match Thread::known() {
        Known::Idle => mutex.libc_unlock(),
        Known::Absent if unlock_fast(mutex) => 0,
        Known::Absent => unlock_unrecorded(mutex, hook),
        Known::Counted(thread) if !thread.has_candidates() => mutex.libc_unlock(),
        Known::Timed(thread) if !thread.has_candidates() => unlock_timed(mutex, thread),
        Known::Counted(_) | Known::Timed(_) | Known::Planned(_) | Known::Unknown => release(mutex, hook),
    }
}

/// Unlocks a mutex, in a thread that is not recorded.
#[inline(never)]
fn unlock_unrecorded(mutex: &MutexLayout, hook: Hook) -> c_int {
    match unlock_known(mutex) {
        Some(code) => code,
        None => unlock_planned(mutex, hook),
    }
}

#[inline(never)]
fn unlock_planned(mutex: &MutexLayout, hook: Hook) -> c_int {
    Mutex::new(mutex, hook).unlock()
}

/// Unlocks a mutex of libc, in a thread of which times are recorded.
#[inline(never)]
fn unlock_timed(mutex: &MutexLayout, thread: &'static Thread) -> c_int {
    Release::of(thread, object(mutex)).end(mutex.libc_unlock())
}

/// Unlocks any mutex, in any thread.
#[inline(never)]
pub fn release(mutex: &MutexLayout, hook: Hook) -> c_int {
    let release = Thread::current().and_then(|thread| Release::begin(thread, object(mutex), hook));
    let code = Mutex::new(mutex, hook).unlock();
    release.map_or(code, |release| release.end(code))
}
