//! Locks for reading and writing: reads and writes are rows of their own.

use super::acquire::{Waiting, acquire, initialised, is_success, release, try_to};
use super::mutex::is_supported;
use super::{busy, layout, real};
use crate::next::forward;
use crate::watch::Caller;
use core::convert::identity;
use core::ffi::c_int;
use libc::{clockid_t, pthread_rwlock_t, pthread_rwlockattr_t, timespec};
use unspin_meter::{Key, Kind};
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
    let (code, caller) = unsafe { (real::rwlock_init(lock, attributes), Caller::new(sp, bp)) };
    if code == 0 {
        initialised(lock as usize, caller);
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
    let caller = unsafe { Caller::new(sp, bp) };
    let key = Key::new(kind, lock as usize, caller.address());
    let held = Key::new(kind, lock as usize, 0).lock;
    let code = acquire((key, held), caller, || Waiting::Asleep, |_| false, tried, blocked);
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
    let caller = unsafe { Caller::new(sp, bp) };
    let key = Key::new(kind, lock as usize, caller.address());
    let code = try_to((key, Key::new(kind, lock as usize, 0).lock), caller, |_| false, tried);
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

/// pthread_rwlock_unlock(3).
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_rwlock_unlock(lock: Lock) -> c_int {
    // SAFETY: the program's lock, which the thread holds, for writing if anybody does.
    unsafe {
        let kind = if layout::has_writer(lock) { Kind::Write } else { Kind::Read };
        let held = Key::new(kind, lock as usize, 0).lock;
        if kind == Kind::Read {
            busy::reader_goes(lock, held);
        }
        release(held, || real::rwlock_unlock(lock))
    }
}
