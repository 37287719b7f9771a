//! Mutexes. A call goes one way: from the hook to the meter, if the thread is recorded, and on to the implementation that
//! serves the mutex.
//!
//! Lock and unlock have a path for each state of the calling thread ([`Known`]):
//!
//! | thread | lock, unlock | does |
//! |---|---|---|
//! | `Idle` | libc's function | nothing is recorded, nothing is replaced |
//! | `Absent` | [`unrecorded`] | the call of the implementation, if it was decided before; else decides it |
//! | `Counted` | [`libcs::lock_and_count`], libc's unlock | counts in a row that exists, then libc's function; else as `Planned` |
//! | `Timed` | [`libcs::lock_and_time`], [`libcs::unlock_and_time`] | as `Counted`, and the hold |
//! | `Planned`, `Unknown` | [`any`](self::any) | looks for row and implementation |
//!
//! All other calls take the last path.

mod any;
mod libcs;
mod unrecorded;

pub use any::{acquire, release, try_lock};

use super::attempt::{Attempt, record_init};
use crate::glibc::mutex::MutexLayout;
use crate::next::forward;
use crate::swap::deadline::Deadline;
use crate::swap::mutex_impl;
use crate::watch::{Hook, Known, Object, Thread};
use core::convert::identity;
use core::ffi::c_int;
use libc::{clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
use unspin_sys::entry;

crate::next::define_next_codes! {
    /// pthread_mutex_init(3).
    fn mutex_init = pthread_mutex_init(mutex: *mut pthread_mutex_t, attributes: *const pthread_mutexattr_t);
    /// pthread_mutex_destroy(3).
    fn mutex_destroy = pthread_mutex_destroy(mutex: *mut pthread_mutex_t);
}

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
    /// pthread_mutex_consistent(3), under its older name.
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
    mutex_impl::decide_at_init(mutex, hook);
    record_init(mutex.as_ptr(), hook);
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
        mutex_impl::forget(unsafe { MutexLayout::of(mutex) });
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
        Known::Absent => unrecorded::lock(mutex, hook),
        Known::Counted(thread) => libcs::lock_and_count(mutex, hook, thread),
        Known::Timed(thread) => libcs::lock_and_time(mutex, hook, thread),
        Known::Planned(_) | Known::Unknown => any::lock(mutex, hook),
    }
}

unsafe extern "C-unwind" fn trylock(mutex: *mut pthread_mutex_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` passes the registers.
    let (mutex, hook) = unsafe { (MutexLayout::of(mutex), Hook::new(sp, bp)) };
    try_lock(mutex, hook)
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
    attempt.map_or(code, |attempt| attempt.end(code))
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
        Known::Absent => unrecorded::unlock(mutex, hook),
        Known::Counted(thread) if !thread.has_candidates() => mutex.libc_unlock(),
        Known::Timed(thread) if !thread.has_candidates() => libcs::unlock_and_time(mutex, thread),
        Known::Counted(_) | Known::Timed(_) | Known::Planned(_) | Known::Unknown => release(mutex, hook),
    }
}
