//! Mutexes.

use super::acquire::{Waiting, acquire, initialised, release, try_to};
use super::layout::{self, Kind};
use super::real;
use crate::next::forward;
use crate::watch::{Hook, Object, Thread};
use core::convert::identity;
use core::ffi::c_int;
use libc::{clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
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
}

forward! { identity:
    /// pthread_mutex_destroy(3).
    fn pthread_mutex_destroy(mutex: *mut pthread_mutex_t) -> c_int;
    /// pthread_mutex_consistent(3).
    fn pthread_mutex_consistent(mutex: *mut pthread_mutex_t) -> c_int;
    /// The same, by its older name.
    fn pthread_mutex_consistent_np(mutex: *mut pthread_mutex_t) -> c_int;
}

/// The mutex, to the meter.
#[inline(always)]
pub fn object<T>(mutex: *const T) -> Object {
    Object::new(unspin_meter::Kind::Mutex, mutex)
}

/// Whether the thread, which has just taken the mutex, had it before.
///
/// # Safety
/// A live mutex.
#[inline(always)]
unsafe fn again(mutex: *const pthread_mutex_t, thread: &Thread) -> bool {
    // SAFETY: the caller's promise.
    unsafe { layout::kind(mutex) == Kind::Recursive && thread.table().holds(object(mutex).held()) }
}

/// # Safety
/// A live mutex.
unsafe fn waiting(mutex: *const pthread_mutex_t) -> Waiting {
    // SAFETY: the caller's promise.
    match unsafe { layout::kind(mutex) } {
        Kind::Adaptive => Waiting::SpinningFirst,
        _ => Waiting::Asleep,
    }
}

/// The attempt that does not block, before `blocked`.
///
/// glibc's trylock of a robust mutex that is not recoverable leaves it locked for good, where the blocking functions do not.
/// So a robust mutex is looked at instead, and `blocked` called where it need not wait.
///
/// # Safety
/// A live mutex.
#[inline(always)]
unsafe fn try_first(mutex: *mut pthread_mutex_t, blocked: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match layout::is_robust(mutex) {
            false => real::mutex_trylock(mutex),
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
    // SAFETY: the program's arguments; `entry` gives the registers.
    let (code, hook) = unsafe { (real::mutex_init(mutex, attributes), Hook::new(sp, bp)) };
    if code == 0 {
        initialised(mutex, hook);
    }
    code
}

unsafe extern "C-unwind" fn lock(mutex: *mut pthread_mutex_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` gives the registers.
    unsafe {
        let hook = Hook::new(sp, bp);
        acquire(
            object(mutex),
            hook,
            || waiting(mutex),
            |thread| again(mutex, thread),
            || try_first(mutex, || real::mutex_lock(mutex)),
            || real::mutex_lock(mutex),
        )
    }
}

unsafe extern "C-unwind" fn trylock(mutex: *mut pthread_mutex_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` gives the registers.
    unsafe {
        let hook = Hook::new(sp, bp);
        try_to(object(mutex), hook, |thread| again(mutex, thread), || real::mutex_trylock(mutex))
    }
}

unsafe extern "C-unwind" fn timedlock(
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    unsafe {
        let hook = Hook::new(sp, bp);
        acquire(
            object(mutex),
            hook,
            || waiting(mutex),
            |thread| again(mutex, thread),
            || try_first(mutex, || real::mutex_timedlock(mutex, until)),
            || real::mutex_timedlock(mutex, until),
        )
    }
}

unsafe extern "C-unwind" fn clocklock(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    unsafe {
        let hook = Hook::new(sp, bp);
        let blocked = || real::mutex_clocklock(mutex, clock, until);
        acquire(
            object(mutex),
            hook,
            || waiting(mutex),
            |thread| again(mutex, thread),
            // A clock that will not do is EINVAL even where the mutex is free.
            || if is_supported(clock) { try_first(mutex, blocked) } else { libc::EBUSY },
            blocked,
        )
    }
}

/// Whether libc waits by this clock.
pub fn is_supported(clock: clockid_t) -> bool {
    clock == libc::CLOCK_REALTIME || clock == libc::CLOCK_MONOTONIC
}

unsafe extern "C-unwind" fn unlock(mutex: *mut pthread_mutex_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` gives the registers.
    unsafe { release(object(mutex), Hook::new(sp, bp), || real::mutex_unlock(mutex)) }
}
