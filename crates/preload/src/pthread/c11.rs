//! C11's mutexes and conditions, which glibc makes of its own: the same objects, other names and answers.

use super::acquire::{Waiting, acquire, initialised, release, try_to};
use super::{cond, layout, mutex, real};
use crate::watch::{Hook, Thread};
use core::ffi::{c_int, c_void};
use libc::{EBUSY, ETIMEDOUT, timespec};
use unspin_sys::entry;

// The answers of threads.h, in glibc.
const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const TIMED_OUT: c_int = 4;

entry! {
    /// mtx_init(3).
    fn mtx_init(2) = init;
    /// mtx_lock(3).
    fn mtx_lock(1) = lock;
    /// mtx_trylock(3).
    fn mtx_trylock(1) = trylock;
    /// mtx_timedlock(3).
    fn mtx_timedlock(2) = timedlock;
    /// mtx_unlock(3).
    fn mtx_unlock(1) = unlock;
    /// cnd_wait(3).
    fn cnd_wait(2) = wait;
    /// cnd_timedwait(3).
    fn cnd_timedwait(3) = timedwait;
}

type Pointer = *mut c_void;

/// The answers under the names that the rest of this module family knows; [`to_c11`] is the way back.
fn from_c11(code: c_int) -> c_int {
    match code {
        BUSY => EBUSY,
        TIMED_OUT => ETIMEDOUT,
        ERROR => libc::EINVAL,
        other => other,
    }
}

fn to_c11(code: c_int) -> c_int {
    match code {
        EBUSY => BUSY,
        ETIMEDOUT => TIMED_OUT,
        SUCCESS => SUCCESS,
        libc::EINVAL => ERROR,
        other => other,
    }
}

/// # Safety
/// A live mutex.
unsafe fn again(object: Pointer, thread: &Thread) -> bool {
    // SAFETY: a `mtx_t` is a mutex.
    let recursive = unsafe { layout::kind(object.cast()) } == layout::Kind::Recursive;
    recursive && thread.table().holds(mutex::object(object).held())
}

unsafe extern "C-unwind" fn init(object: Pointer, kind: c_int, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    let (code, hook) = unsafe { (real::mtx_init(object, kind), Hook::new(sp, bp)) };
    if code == SUCCESS {
        initialised(object, hook);
    }
    code
}

// mtx_destroy, cnd_init and cnd_destroy do nothing that anybody measures, and are left to libc.

unsafe extern "C-unwind" fn lock(object: Pointer, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` gives the registers.
    unsafe { take(object, Hook::new(sp, bp), || real::mtx_lock(object)) }
}

unsafe extern "C-unwind" fn timedlock(
    object: Pointer,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    unsafe { take(object, Hook::new(sp, bp), || real::mtx_timedlock(object, until)) }
}

/// # Safety
/// A live mutex.
unsafe fn take(object: Pointer, hook: Hook, blocked: impl FnOnce() -> c_int) -> c_int {
    to_c11(acquire(
        mutex::object(object),
        hook,
        || Waiting::Asleep,
        // SAFETY: the caller's promise.
        |thread| unsafe { again(object, thread) },
        // SAFETY: as above.
        || from_c11(unsafe { real::mtx_trylock(object) }),
        || from_c11(blocked()),
    ))
}

unsafe extern "C-unwind" fn trylock(object: Pointer, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` gives the registers.
    unsafe {
        let hook = Hook::new(sp, bp);
        let tried = || from_c11(real::mtx_trylock(object));
        to_c11(try_to(mutex::object(object), hook, |thread| again(object, thread), tried))
    }
}

unsafe extern "C-unwind" fn unlock(object: Pointer, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` gives the registers.
    unsafe { release(mutex::object(object), Hook::new(sp, bp), || real::mtx_unlock(object)) }
}

unsafe extern "C-unwind" fn wait(condition: Pointer, object: Pointer, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    unsafe {
        let waited = || from_c11(real::cnd_wait(condition, object));
        to_c11(cond::during(condition.cast(), object.cast(), Hook::new(sp, bp), waited))
    }
}

unsafe extern "C-unwind" fn timedwait(
    condition: Pointer,
    object: Pointer,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    unsafe {
        let waited = || from_c11(real::cnd_timedwait(condition, object, until));
        to_c11(cond::during(condition.cast(), object.cast(), Hook::new(sp, bp), waited))
    }
}

/// cnd_signal(3).
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn cnd_signal(condition: Pointer) -> c_int {
    // SAFETY: the program's condition.
    unsafe {
        cond::signal(condition.cast());
        real::cnd_signal(condition)
    }
}

/// cnd_broadcast(3).
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn cnd_broadcast(condition: Pointer) -> c_int {
    // SAFETY: the program's condition.
    unsafe {
        cond::signal(condition.cast());
        real::cnd_broadcast(condition)
    }
}
