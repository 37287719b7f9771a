//! Read-write locks. Holds for reading and for writing have separate rows. As for [mutexes](super::mutex), lock and unlock
//! have a path for each state of the calling thread; all other calls take the last one.
//!
//! | thread | path | does |
//! |---|---|---|
//! | `Idle` | libc's function | nothing is recorded, nothing is replaced |
//! | [in a plan only](Thread::is_in_plan_only) | `unrecorded` | the call of the implementation, if it was decided before; else decides it |
//! | `Counted`, `Timed` | `libcs` | records, and calls libc |
//! | `Absent`, `Planned`, `Unknown` | `any` | records, and calls the implementation |

mod any;
mod libcs;
mod unrecorded;

use super::attempt::record_init;
use super::property::note_rwlock_init;
use crate::glibc::rwlock::{Mode, Reading, RwLockLayout, Writing};
use crate::next::forward;
use crate::swap::deadline::Deadline;
use crate::swap::rwlock::decide_at_init;
use crate::watch::{Hook, Known, Thread};
use core::convert::identity;
use core::ffi::c_int;
use libc::{CLOCK_REALTIME, clockid_t, pthread_rwlock_t, pthread_rwlockattr_t, timespec};
use unspin_sys::entry;

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
        // SAFETY: libc has initialised the lock.
        decide_at_init(unsafe { RwLockLayout::of(lock) }, hook);
        record_init(lock, hook);
        // SAFETY: as above.
        note_rwlock_init(unsafe { RwLockLayout::of(lock) }, hook);
    }
    code
}

unsafe extern "C-unwind" fn lock<M: Mode>(lock: *mut pthread_rwlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    let (lock, hook) = unsafe { (RwLockLayout::of(lock), Hook::new(sp, bp)) };
    if Thread::is_in_plan_only() {
        return unrecorded::lock::<M>(lock, hook);
    }
    match Thread::known() {
        Known::Idle => M::lock(lock),
        Known::Counted(thread) | Known::Timed(thread) => libcs::lock::<M>(lock, hook, thread),
        Known::Absent | Known::Planned(_) | Known::Unknown => any::lock::<M>(lock, hook),
    }
}

unsafe extern "C-unwind" fn trylock<M: Mode>(lock: *mut pthread_rwlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    let (lock, hook) = unsafe { (RwLockLayout::of(lock), Hook::new(sp, bp)) };
    match Thread::known() {
        Known::Idle => M::trylock(lock),
        _ => any::try_lock::<M>(lock, hook),
    }
}

unsafe extern "C-unwind" fn timedlock<M: Mode>(
    lock: *mut pthread_rwlock_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    let (lock, hook, deadline) =
        unsafe { (RwLockLayout::of(lock), Hook::new(sp, bp), Deadline::unless_null(CLOCK_REALTIME, until)) };
    any::acquire::<M>(lock, hook, deadline)
}

unsafe extern "C-unwind" fn clocklock<M: Mode>(
    lock: *mut pthread_rwlock_t,
    clock: clockid_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    let (lock, hook, deadline) =
        unsafe { (RwLockLayout::of(lock), Hook::new(sp, bp), Deadline::unless_null(clock, until)) };
    any::acquire::<M>(lock, hook, deadline)
}

unsafe extern "C-unwind" fn unlock(lock: *mut pthread_rwlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    let (lock, hook) = unsafe { (RwLockLayout::of(lock), Hook::new(sp, bp)) };
    if Thread::is_in_plan_only() {
        return unrecorded::unlock(lock, hook);
    }
    match Thread::known() {
        Known::Idle => lock.unlock(),
        Known::Counted(thread) | Known::Timed(thread) => libcs::unlock(lock, hook, thread),
        Known::Absent | Known::Planned(_) | Known::Unknown => any::unlock(lock, hook),
    }
}
