//! Mutexes.

use super::acquire::{Waiting, acquire, initialised, release, try_to};
use super::layout::{self, Kind};
use super::real;
use crate::next::forward;
use crate::swap::mutex::{self as swapped, Answer};
use crate::swap::server;
use crate::watch::{Hook, Object, Thread};
use core::cell::Cell;
use core::convert::identity;
use core::ffi::c_int;
use libc::{clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
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
pub fn object<T>(mutex: *const T) -> Object {
    Object::new(unspin_meter::RecordKind::Mutex, mutex)
}

/// Whether the thread, which has just locked the mutex, already held it before.
///
/// # Safety
/// `mutex` is live.
#[inline(always)]
unsafe fn again(mutex: *const pthread_mutex_t, thread: &Thread) -> bool {
    // SAFETY: the caller's promise.
    unsafe { layout::kind(mutex) == Kind::Recursive && thread.table().holds(object(mutex).held()) }
}

/// How libc waits for this mutex.
///
/// # Safety
/// `mutex` is live.
unsafe fn waiting(mutex: *const pthread_mutex_t) -> Waiting {
    // SAFETY: the caller's promise.
    match unsafe { layout::kind(mutex) } {
        Kind::Adaptive => Waiting::SpinningFirst,
        _ => Waiting::Asleep,
    }
}

/// The attempt that does not block, before `blocked`.
///
/// glibc's trylock of a robust mutex that is not recoverable leaves it locked for ever; the blocking functions do not.
/// So for a robust mutex the hook only reads the owner, and calls `blocked` if there is none, so that it need not wait.
///
/// # Safety
/// `mutex` is live.
#[inline(always)]
unsafe fn try_first(mutex: *mut pthread_mutex_t, hook: Hook, blocked: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match layout::is_robust(mutex) {
            false => swapped::trylock(mutex, hook),
            true if layout::has_owner(mutex) => libc::EBUSY,
            true => blocked(),
        }
    }
}

unsafe extern "C-unwind" fn init(
    mutex: *mut pthread_mutex_t,
    attributes: *const pthread_mutexattr_t,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    let (code, hook) = unsafe { (real::mutex_init(mutex, attributes), Hook::new(sp, bp)) };
    if code == 0 {
        // SAFETY: libc has initialised it as a mutex.
        unsafe { made(mutex, hook) };
    }
    code
}

/// Records that a mutex was initialised.
///
/// # Safety
/// `mutex` is live, and no thread uses it yet.
pub unsafe fn made(mutex: *mut pthread_mutex_t, hook: Hook) {
    // SAFETY: the caller's promise.
    unsafe { server::initialised(mutex, hook) };
    initialised(mutex, hook);
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
        // SAFETY: as above; the memory still belongs to the caller.
        unsafe { server::destroyed(mutex) };
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
    unsafe {
        if Thread::current().is_none() {
            if swapped::lock_at_once(mutex) {
                return 0;
            }
            if swapped::is_libcs(mutex) {
                return swapped::lock_libcs(mutex, Hook::new(sp, bp)).code;
            }
            return swapped::lock(mutex, Hook::new(sp, bp)).code;
        }
        any_lock(mutex, sp, bp)
    }
}

/// Locks any mutex, whether the thread is recorded or not.
///
/// # Safety
/// The program's mutex, and the registers that `entry` passes.
#[inline(never)]
pub unsafe extern "C-unwind" fn any_lock(mutex: *mut pthread_mutex_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let hook = Hook::new(sp, bp);
        take(mutex, hook, || swapped::lock(mutex, hook), || swapped::lock(mutex, hook))
    }
}

/// An attempt that may block. `blocked` is the function that the program called. `at_once` does the same for a mutex
/// for which it need not wait.
///
/// # Safety
/// `mutex` is live.
#[inline(always)]
pub unsafe fn take(
    mutex: *mut pthread_mutex_t,
    hook: Hook,
    at_once: impl FnOnce() -> Answer,
    blocked: impl FnOnce() -> Answer,
) -> c_int {
    let waited = Cell::new(None);
    // SAFETY: the caller's promise.
    unsafe {
        acquire(
            object(mutex),
            hook,
            || match waited.get() {
                Some(Waited::Slept) => Waiting::Asleep,
                Some(Waited::Spun) => Waiting::Spinning,
                Some(Waited::No) => Waiting::NotAtAll,
                None => waiting(mutex),
            },
            |thread| again(mutex, thread),
            || try_first(mutex, hook, || at_once().code),
            || {
                let answer = blocked();
                waited.set(answer.waited);
                answer.code
            },
        )
    }
}

unsafe extern "C-unwind" fn trylock(mutex: *mut pthread_mutex_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` passes the registers.
    unsafe { attempt(mutex, Hook::new(sp, bp)) }
}

/// An attempt that does not block.
///
/// # Safety
/// `mutex` is live.
pub unsafe fn attempt(mutex: *mut pthread_mutex_t, hook: Hook) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { try_to(object(mutex), hook, |thread| again(mutex, thread), || swapped::trylock(mutex, hook)) }
}

unsafe extern "C-unwind" fn timedlock(
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe { take_until(mutex, libc::CLOCK_REALTIME, until, Hook::new(sp, bp)) }
}

/// An attempt with a deadline.
///
/// # Safety
/// `mutex` is live; `until` is live unless the mutex is free; libc supports the clock for waits.
pub unsafe fn take_until(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
    hook: Hook,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let blocked = || swapped::clocklock(mutex, clock, until, hook);
        take(mutex, hook, blocked, blocked)
    }
}

unsafe extern "C-unwind" fn clocklock(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe {
        let hook = Hook::new(sp, bp);
        if is_supported(clock) {
            return take_until(mutex, clock, until, hook);
        }
        // libc rejects an unsupported clock with EINVAL, even if the mutex is free.
        let refused = || real::mutex_clocklock(mutex, clock, until);
        try_to(object(mutex), hook, |_| false, refused)
    }
}

/// Whether libc supports this clock for waits.
pub fn is_supported(clock: clockid_t) -> bool {
    clock == libc::CLOCK_REALTIME || clock == libc::CLOCK_MONOTONIC
}

unsafe extern "C-unwind" fn unlock(mutex: *mut pthread_mutex_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` passes the registers.
    unsafe {
        if Thread::current().is_none() {
            if swapped::unlock_at_once(mutex) {
                return 0;
            }
            if swapped::is_libcs(mutex) {
                return real::mutex_unlock(mutex);
            }
            return swapped::unlock(mutex, Hook::new(sp, bp));
        }
        any_unlock(mutex, sp, bp)
    }
}

/// Unlocks any mutex, whether the thread is recorded or not.
///
/// # Safety
/// The program's mutex, and the registers that `entry` passes.
#[inline(never)]
pub unsafe extern "C-unwind" fn any_unlock(mutex: *mut pthread_mutex_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let hook = Hook::new(sp, bp);
        release(object(mutex), hook, || swapped::unlock(mutex, hook))
    }
}
