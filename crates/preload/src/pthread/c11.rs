//! C11's mutexes and conditions, which glibc makes of its own: the same objects, other names and answers.

use super::acquire::{Waiting, acquire, initialised, release, try_to};
use super::{cond, layout, mutex, real};
use crate::watch::{Caller, Thread};
use core::ffi::{c_int, c_void};
use libc::{EBUSY, ETIMEDOUT, timespec};
use unspin_meter::{Key, Kind};
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

type Object = *mut c_void;

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

fn names(object: Object, caller: Caller) -> (Key, u64) {
    (Key::new(Kind::Mutex, object as usize, caller.address()), mutex::held(object.cast()))
}

/// # Safety
/// A live mutex.
unsafe fn again(object: Object, thread: &Thread) -> bool {
    // SAFETY: a `mtx_t` is a mutex.
    let recursive = unsafe { layout::kind(object.cast()) } == layout::Kind::Recursive;
    recursive && thread.table().holds(mutex::held(object.cast()))
}

unsafe extern "C-unwind" fn init(object: Object, kind: c_int, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    let (code, caller) = unsafe { (real::mtx_init(object, kind), Caller::new(sp, bp)) };
    if code == SUCCESS {
        initialised(object as usize, caller);
    }
    code
}

// mtx_destroy, cnd_init and cnd_destroy do nothing that anybody measures, and are left to libc.

unsafe extern "C-unwind" fn lock(object: Object, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` gives the registers.
    unsafe { take(object, Caller::new(sp, bp), || real::mtx_lock(object)) }
}

unsafe extern "C-unwind" fn timedlock(object: Object, until: *const timespec, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    unsafe { take(object, Caller::new(sp, bp), || real::mtx_timedlock(object, until)) }
}

/// # Safety
/// A live mutex.
unsafe fn take(object: Object, caller: Caller, blocked: impl FnOnce() -> c_int) -> c_int {
    to_c11(acquire(
        names(object, caller),
        caller,
        || Waiting::Asleep,
        // SAFETY: the caller's promise.
        |thread| unsafe { again(object, thread) },
        // SAFETY: as above.
        || from_c11(unsafe { real::mtx_trylock(object) }),
        || from_c11(blocked()),
    ))
}

unsafe extern "C-unwind" fn trylock(object: Object, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` gives the registers.
    unsafe {
        let caller = Caller::new(sp, bp);
        let tried = || from_c11(real::mtx_trylock(object));
        to_c11(try_to(names(object, caller), caller, |thread| again(object, thread), tried))
    }
}

unsafe extern "C-unwind" fn unlock(object: Object, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex.
    release(mutex::held(object.cast()), (sp, bp), || unsafe { real::mtx_unlock(object) })
}

unsafe extern "C-unwind" fn wait(condition: Object, object: Object, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    unsafe {
        let waited = || from_c11(real::cnd_wait(condition, object));
        to_c11(cond::during(condition.cast(), object.cast(), Caller::new(sp, bp), waited))
    }
}

unsafe extern "C-unwind" fn timedwait(
    condition: Object,
    object: Object,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    unsafe {
        let waited = || from_c11(real::cnd_timedwait(condition, object, until));
        to_c11(cond::during(condition.cast(), object.cast(), Caller::new(sp, bp), waited))
    }
}

/// cnd_signal(3).
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn cnd_signal(condition: Object) -> c_int {
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
pub unsafe extern "C-unwind" fn cnd_broadcast(condition: Object) -> c_int {
    // SAFETY: the program's condition.
    unsafe {
        cond::signal(condition.cast());
        real::cnd_broadcast(condition)
    }
}
