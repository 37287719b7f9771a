//! Read-write locks. Holds for reading and for writing have separate rows.

use super::attempt::{Attempt, WaitLimit, acquire, is_success, record_init, release};
use super::busy;
use super::mutex::is_supported;
use super::semaphore::is_time;
use crate::glibc::rwlock::{Mode, Reading, RwLockLayout, Writing};
use crate::next::forward;
use crate::watch::{Hook, Object};
use core::convert::identity;
use core::ffi::c_int;
use libc::{clockid_t, pthread_rwlock_t, pthread_rwlockattr_t, timespec};
use unspin_sys::entry;
use unspin_wire::RecordKind;

crate::next::define_next_codes! {
    /// pthread_rwlock_init(3).
    fn rwlock_init = pthread_rwlock_init(lock: *mut pthread_rwlock_t, attributes: *const pthread_rwlockattr_t);
}

entry! {
    /// pthread_rwlock_init(3).
    fn pthread_rwlock_init(2) = init;
    /// pthread_rwlock_rdlock(3).
    fn pthread_rwlock_rdlock(1) = lock::<Reading>;
    /// pthread_rwlock_tryrdlock(3).
    fn pthread_rwlock_tryrdlock(1) = trylock::<Reading>;
    /// pthread_rwlock_timedrdlock(3).
    fn pthread_rwlock_timedrdlock(2) = timedlock::<Reading>;
    /// pthread_rwlock_clockrdlock(3).
    fn pthread_rwlock_clockrdlock(3) = clocklock::<Reading>;
    /// pthread_rwlock_wrlock(3).
    fn pthread_rwlock_wrlock(1) = lock::<Writing>;
    /// pthread_rwlock_trywrlock(3).
    fn pthread_rwlock_trywrlock(1) = trylock::<Writing>;
    /// pthread_rwlock_timedwrlock(3).
    fn pthread_rwlock_timedwrlock(2) = timedlock::<Writing>;
    /// pthread_rwlock_clockwrlock(3).
    fn pthread_rwlock_clockwrlock(3) = clocklock::<Writing>;
    /// pthread_rwlock_unlock(3).
    fn pthread_rwlock_unlock(1) = unlock;

    /// pthread_rwlock_init(3), under the name that old programs use.
    fn __pthread_rwlock_init(2) = init;
    /// pthread_rwlock_rdlock(3), likewise.
    fn __pthread_rwlock_rdlock(1) = lock::<Reading>;
    /// pthread_rwlock_tryrdlock(3), likewise.
    fn __pthread_rwlock_tryrdlock(1) = trylock::<Reading>;
    /// pthread_rwlock_wrlock(3), likewise.
    fn __pthread_rwlock_wrlock(1) = lock::<Writing>;
    /// pthread_rwlock_trywrlock(3), likewise.
    fn __pthread_rwlock_trywrlock(1) = trylock::<Writing>;
    /// pthread_rwlock_unlock(3), likewise.
    fn __pthread_rwlock_unlock(1) = unlock;
}

forward! { identity =>
    /// pthread_rwlock_destroy(3).
    fn pthread_rwlock_destroy(lock: *mut pthread_rwlock_t) -> c_int;
}

/// pthread_rwlock_destroy(3), under the name that old programs use.
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pthread_rwlock_destroy(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { pthread_rwlock_destroy(lock) }
}

unsafe extern "C-unwind" fn init(
    lock: *mut pthread_rwlock_t,
    attributes: *const pthread_rwlockattr_t,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    let (code, hook) = unsafe { (real::rwlock_init(lock, attributes), Hook::new(sp, bp)) };
    if code == 0 {
        record_init(lock, hook);
    }
    code
}

#[inline(always)]
fn object<M: Mode>(lock: &RwLockLayout) -> Object {
    Object::new(if M::IS_READING { RecordKind::Read } else { RecordKind::Write }, lock)
}

/// To be called after an attempt with its return value.
#[inline(always)]
fn note_reader<M: Mode>(lock: &RwLockLayout, code: c_int) -> c_int {
    if M::IS_READING && is_success(code) {
        busy::reader_came(lock);
    }
    code
}

unsafe extern "C-unwind" fn lock<M: Mode>(lock: *mut pthread_rwlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    let (lock, hook) = unsafe { (RwLockLayout::of(lock), Hook::new(sp, bp)) };
    note_reader::<M>(
        lock,
        acquire(object::<M>(lock), hook, WaitLimit::None, || M::trylock(lock), || M::lock(lock)),
    )
}

unsafe extern "C-unwind" fn trylock<M: Mode>(lock: *mut pthread_rwlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    let (lock, hook) = unsafe { (RwLockLayout::of(lock), Hook::new(sp, bp)) };
    let attempt = Attempt::at_lock(object::<M>(lock), hook);
    let code = M::trylock(lock);
    note_reader::<M>(lock, attempt.map_or(code, |attempt| attempt.end(code)))
}

/// Whether libc accepts this as a deadline. libc checks it even if the lock is free. With a null pointer libc waits for
/// ever.
///
/// # Safety
/// `until` is null or a live time.
unsafe fn is_deadline(clock: clockid_t, until: *const timespec) -> bool {
    // SAFETY: the caller's promise.
    until.is_null() || is_supported(clock) && unsafe { is_time(until) }
}

/// A wait without a deadline has a null pointer.
fn limit(until: *const timespec) -> WaitLimit {
    if until.is_null() { WaitLimit::None } else { WaitLimit::Deadline }
}

unsafe extern "C-unwind" fn timedlock<M: Mode>(
    lock: *mut pthread_rwlock_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    let (lock, hook) = unsafe { (RwLockLayout::of(lock), Hook::new(sp, bp)) };
    // SAFETY: the program's time, or null.
    let is_valid = unsafe { is_deadline(libc::CLOCK_REALTIME, until) };
    let tried = || if is_valid { M::trylock(lock) } else { libc::EBUSY };
    // SAFETY: the program's time, or null.
    let blocked = || unsafe { M::timedlock(lock, until) };
    note_reader::<M>(lock, acquire(object::<M>(lock), hook, limit(until), tried, blocked))
}

unsafe extern "C-unwind" fn clocklock<M: Mode>(
    lock: *mut pthread_rwlock_t,
    clock: clockid_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    let (lock, hook) = unsafe { (RwLockLayout::of(lock), Hook::new(sp, bp)) };
    // SAFETY: the program's time, or null.
    let is_valid = unsafe { is_deadline(clock, until) };
    let tried = || if is_valid { M::trylock(lock) } else { libc::EBUSY };
    // SAFETY: the program's time, or null.
    let blocked = || unsafe { M::clocklock(lock, clock, until) };
    note_reader::<M>(lock, acquire(object::<M>(lock), hook, limit(until), tried, blocked))
}

unsafe extern "C-unwind" fn unlock(lock: *mut pthread_rwlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    let (lock, hook) = unsafe { (RwLockLayout::of(lock), Hook::new(sp, bp)) };
    // The calling thread holds the lock. If any thread holds it for writing, that is the calling thread.
    if lock.has_writer() {
        release(object::<Writing>(lock), hook, || lock.unlock())
    } else {
        busy::release(lock, hook)
    }
}
