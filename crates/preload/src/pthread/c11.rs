//! C11's mutexes and conditions. In glibc these are the pthread functions with other return values; the same holds
//! here.

use super::cond;
use super::mutex::{self, note_init};
use crate::glibc::mutex::MutexLayout;
use crate::swap::deadline::Deadline;
use crate::watch::Hook;
use core::ffi::{c_int, c_void};
use libc::{EBUSY, ENOMEM, ETIMEDOUT, timespec};
use unspin_sys::entry;

crate::next::define_next_codes! {
    /// mtx_init(3).
    fn mtx_init = mtx_init(mutex: *mut c_void, kind: c_int);
}

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
    /// cnd_signal(3).
    fn cnd_signal(1) = signal;
    /// cnd_broadcast(3).
    fn cnd_broadcast(1) = broadcast;
}

type Pointer = *mut c_void;

/// Converts a pthread return value to the value of threads.h. Like glibc, converts every code without a C11 name to an
/// error (nptl/thrd_priv.h).
fn answer(code: c_int) -> c_int {
    match code {
        0 => 0,
        EBUSY => 1,
        ENOMEM => 3,
        ETIMEDOUT => 4,
        _ => 2,
    }
}

unsafe extern "C-unwind" fn init(object: Pointer, kind: c_int, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's arguments.
    let code = unsafe { real::mtx_init(object, kind) };
    if code == answer(0) {
        // SAFETY: libc has initialised the mutex; `entry` passes the registers.
        let (mutex, hook) = unsafe { call(object, sp, bp) };
        note_init(mutex, hook);
    }
    code
}

/// The mutex and the hook of a call.
///
/// # Safety
/// `object` is a live `mtx_t`, which is a mutex; `entry` passes the registers.
unsafe fn call<'mutex>(object: Pointer, sp: usize, bp: usize) -> (&'mutex MutexLayout, Hook) {
    // SAFETY: the caller's promise.
    unsafe { (MutexLayout::of(object.cast()), Hook::new(sp, bp)) }
}

unsafe extern "C-unwind" fn lock(object: Pointer, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` passes the registers.
    let (mutex, hook) = unsafe { call(object, sp, bp) };
    answer(mutex::acquire(mutex, hook, None))
}

unsafe extern "C-unwind" fn timedlock(
    object: Pointer,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's mutex and time; `entry` passes the registers.
    let ((mutex, hook), deadline) =
        unsafe { (call(object, sp, bp), Deadline::new(libc::CLOCK_REALTIME, until)) };
    answer(mutex::acquire(mutex, hook, Some(deadline)))
}

unsafe extern "C-unwind" fn trylock(object: Pointer, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` passes the registers.
    let (mutex, hook) = unsafe { call(object, sp, bp) };
    answer(mutex::try_lock(mutex, hook))
}

unsafe extern "C-unwind" fn unlock(object: Pointer, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's mutex; `entry` passes the registers.
    let (mutex, hook) = unsafe { call(object, sp, bp) };
    answer(mutex::release(mutex, hook))
}

/// mtx_destroy(3).
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mtx_destroy(object: Pointer) {
    // SAFETY: the program's mutex.
    unsafe { mutex::pthread_mutex_destroy(object.cast()) };
}

// cnd_init does nothing that the meter measures, so it is left to libc.

unsafe extern "C-unwind" fn wait(condition: Pointer, object: Pointer, sp: usize, bp: usize) -> c_int {
    // SAFETY: a `cnd_t` is a condition; `entry` passes the registers.
    unsafe { answer(cond::wait(condition.cast(), object.cast(), sp, bp)) }
}

unsafe extern "C-unwind" fn timedwait(
    condition: Pointer,
    object: Pointer,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: as above, and the program's time.
    unsafe { answer(cond::timedwait(condition.cast(), object.cast(), until, sp, bp)) }
}

unsafe extern "C-unwind" fn signal(condition: Pointer, sp: usize, bp: usize) -> c_int {
    // SAFETY: a `cnd_t` is a condition; `entry` passes the registers.
    unsafe { answer(cond::signal(condition.cast(), sp, bp)) }
}

unsafe extern "C-unwind" fn broadcast(condition: Pointer, sp: usize, bp: usize) -> c_int {
    // SAFETY: as above.
    unsafe { answer(cond::broadcast(condition.cast(), sp, bp)) }
}

/// cnd_destroy(3).
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn cnd_destroy(condition: Pointer) {
    // SAFETY: the program's condition.
    unsafe { cond::pthread_cond_destroy(condition.cast()) };
}
