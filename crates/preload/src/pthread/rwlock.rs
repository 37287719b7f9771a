//! Locks for reading and writing: reads and writes are rows of their own.

use super::acquire::{Waiting, acquire, initialised, is_success, release, try_to};
use super::mutex::is_supported;
use super::{busy, layout, real};
use crate::next::forward;
use crate::watch::{Hook, Object};
use core::convert::identity;
use core::ffi::c_int;
use libc::{clockid_t, pthread_rwlock_t, pthread_rwlockattr_t, timespec};
use unspin_meter::Kind;
use unspin_sys::entry;

entry! {
    /// pthread_rwlock_init(3).
    fn pthread_rwlock_init(2) = init;
    /// pthread_rwlock_rdlock(3).
    fn pthread_rwlock_rdlock(1) = rdlock;
    /// pthread_rwlock_tryrdlock(3).
    fn pthread_rwlock_tryrdlock(1) = tryrdlock;
    /// pthread_rwlock_timedrdlock(3).
    fn pthread_rwlock_timedrdlock(2) = timedrdlock;
    /// pthread_rwlock_clockrdlock(3).
    fn pthread_rwlock_clockrdlock(3) = clockrdlock;
    /// pthread_rwlock_wrlock(3).
    fn pthread_rwlock_wrlock(1) = wrlock;
    /// pthread_rwlock_trywrlock(3).
    fn pthread_rwlock_trywrlock(1) = trywrlock;
    /// pthread_rwlock_timedwrlock(3).
    fn pthread_rwlock_timedwrlock(2) = timedwrlock;
    /// pthread_rwlock_clockwrlock(3).
    fn pthread_rwlock_clockwrlock(3) = clockwrlock;
    /// pthread_rwlock_unlock(3).
    fn pthread_rwlock_unlock(1) = unlock;
}

forward! { identity:
    /// pthread_rwlock_destroy(3).
    fn pthread_rwlock_destroy(lock: *mut pthread_rwlock_t) -> c_int;
}

type Lock = *mut pthread_rwlock_t;

unsafe extern "C-unwind" fn init(
    lock: Lock,
    attributes: *const pthread_rwlockattr_t,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    let (code, hook) = unsafe { (real::rwlock_init(lock, attributes), Hook::new(sp, bp)) };
    if code == 0 {
        initialised(lock, hook);
    }
    code
}

/// A blocking attempt.
///
/// # Safety
/// A live lock, and the registers that `entry` gives.
#[inline(always)]
unsafe fn take(
    kind: Kind,
    lock: Lock,
    (sp, bp): (usize, usize),
    tried: impl FnOnce() -> c_int,
    blocked: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let hook = unsafe { Hook::new(sp, bp) };
    let code = acquire(Object::new(kind, lock), hook, || Waiting::Asleep, |_| false, tried, blocked);
    if kind == Kind::Read && is_success(code) {
        // SAFETY: the caller's promise.
        unsafe { busy::reader_came(lock) };
    }
    code
}

/// An attempt that does not block.
///
/// # Safety
/// As for `take`.
#[inline(always)]
unsafe fn try_take(kind: Kind, lock: Lock, (sp, bp): (usize, usize), tried: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's promise.
    let hook = unsafe { Hook::new(sp, bp) };
    let code = try_to(Object::new(kind, lock), hook, |_| false, tried);
    if kind == Kind::Read && is_success(code) {
        // SAFETY: the caller's promise.
        unsafe { busy::reader_came(lock) };
    }
    code
}

unsafe extern "C-unwind" fn rdlock(lock: Lock, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` gives the registers.
    unsafe {
        let tried = || real::rwlock_tryrdlock(lock);
        take(Kind::Read, lock, (sp, bp), tried, || real::rwlock_rdlock(lock))
    }
}

unsafe extern "C-unwind" fn tryrdlock(lock: Lock, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` gives the registers.
    unsafe { try_take(Kind::Read, lock, (sp, bp), || real::rwlock_tryrdlock(lock)) }
}

unsafe extern "C-unwind" fn timedrdlock(lock: Lock, until: *const timespec, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    unsafe {
        let tried = || real::rwlock_tryrdlock(lock);
        take(Kind::Read, lock, (sp, bp), tried, || real::rwlock_timedrdlock(lock, until))
    }
}

unsafe extern "C-unwind" fn clockrdlock(
    lock: Lock,
    clock: clockid_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    unsafe {
        let tried = || if is_supported(clock) { real::rwlock_tryrdlock(lock) } else { libc::EBUSY };
        take(Kind::Read, lock, (sp, bp), tried, || real::rwlock_clockrdlock(lock, clock, until))
    }
}

unsafe extern "C-unwind" fn wrlock(lock: Lock, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` gives the registers.
    unsafe {
        let tried = || real::rwlock_trywrlock(lock);
        take(Kind::Write, lock, (sp, bp), tried, || real::rwlock_wrlock(lock))
    }
}

unsafe extern "C-unwind" fn trywrlock(lock: Lock, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` gives the registers.
    unsafe { try_take(Kind::Write, lock, (sp, bp), || real::rwlock_trywrlock(lock)) }
}

unsafe extern "C-unwind" fn timedwrlock(lock: Lock, until: *const timespec, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    unsafe {
        let tried = || real::rwlock_trywrlock(lock);
        take(Kind::Write, lock, (sp, bp), tried, || real::rwlock_timedwrlock(lock, until))
    }
}

unsafe extern "C-unwind" fn clockwrlock(
    lock: Lock,
    clock: clockid_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    unsafe {
        let tried = || if is_supported(clock) { real::rwlock_trywrlock(lock) } else { libc::EBUSY };
        take(Kind::Write, lock, (sp, bp), tried, || real::rwlock_clockwrlock(lock, clock, until))
    }
}

unsafe extern "C-unwind" fn unlock(lock: Lock, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock, which the thread holds, for writing if anybody does.
    unsafe {
        let hook = Hook::new(sp, bp);
        if layout::has_writer(lock) {
            release(Object::new(Kind::Write, lock), hook, || real::rwlock_unlock(lock))
        } else {
            busy::release(lock, hook, || real::rwlock_unlock(lock))
        }
    }
}
