//! Read-write locks. Holds for reading and for writing have separate rows.

use super::acquire::{Waiting, acquire, initialised, is_success, release, try_to};
use super::mutex::is_supported;
use super::semaphore::is_time;
use super::{busy, layout, real};
use crate::next::forward;
use crate::watch::{Hook, Object};
use core::convert::identity;
use core::ffi::c_int;
use libc::{clockid_t, pthread_rwlock_t, pthread_rwlockattr_t, timespec};
use unspin_meter::RecordKind;
use unspin_sys::entry;

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

type Lock = *mut pthread_rwlock_t;

unsafe extern "C-unwind" fn init(
    lock: Lock,
    attributes: *const pthread_rwlockattr_t,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    let (code, hook) = unsafe { (real::rwlock_init(lock, attributes), Hook::new(sp, bp)) };
    if code == 0 {
        initialised(lock, hook);
    }
    code
}

/// Whether a lock is acquired for reading or for writing.
///
/// # Safety (all functions)
/// As for libc's.
trait Mode {
    const KIND: RecordKind;
    unsafe fn lock(lock: Lock) -> c_int;
    unsafe fn trylock(lock: Lock) -> c_int;
    unsafe fn timedlock(lock: Lock, until: *const timespec) -> c_int;
    unsafe fn clocklock(lock: Lock, clock: clockid_t, until: *const timespec) -> c_int;
    /// To be called after the thread has acquired the lock.
    unsafe fn taken(lock: Lock);
}

struct Reading;
struct Writing;

/// Implements [`Mode`] by libc's functions of these names.
macro_rules! mode {
    ($mode:ident: $kind:ident, $lock:ident, $trylock:ident, $timedlock:ident, $clocklock:ident, $taken:expr) => {
        impl Mode for $mode {
            const KIND: RecordKind = RecordKind::$kind;

            #[inline(always)]
            unsafe fn lock(lock: Lock) -> c_int {
                // SAFETY: the caller's promise.
                unsafe { real::$lock(lock) }
            }

            #[inline(always)]
            unsafe fn trylock(lock: Lock) -> c_int {
                // SAFETY: the caller's promise.
                unsafe { real::$trylock(lock) }
            }

            #[inline(always)]
            unsafe fn timedlock(lock: Lock, until: *const timespec) -> c_int {
                // SAFETY: the caller's promise.
                unsafe { real::$timedlock(lock, until) }
            }

            #[inline(always)]
            unsafe fn clocklock(lock: Lock, clock: clockid_t, until: *const timespec) -> c_int {
                // SAFETY: the caller's promise.
                unsafe { real::$clocklock(lock, clock, until) }
            }

            #[inline(always)]
            unsafe fn taken(lock: Lock) {
                let taken: unsafe fn(Lock) = $taken;
                // SAFETY: the caller's promise.
                unsafe { taken(lock) }
            }
        }
    };
}

mode!(Reading: Read, rwlock_rdlock, rwlock_tryrdlock, rwlock_timedrdlock, rwlock_clockrdlock, |lock| {
    // SAFETY: the caller's promise.
    unsafe { busy::reader_came(lock) }
});
mode!(Writing: Write, rwlock_wrlock, rwlock_trywrlock, rwlock_timedwrlock, rwlock_clockwrlock, |_| ());

/// A blocking attempt.
///
/// # Safety
/// `lock` is live; `sp` and `bp` are the registers that `entry` passes.
#[inline(always)]
unsafe fn take<M: Mode>(
    lock: Lock,
    (sp, bp): (usize, usize),
    tried: impl FnOnce() -> c_int,
    blocked: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let hook = unsafe { Hook::new(sp, bp) };
    let code = acquire(Object::new(M::KIND, lock), hook, || Waiting::Asleep, |_| false, tried, blocked);
    if is_success(code) {
        // SAFETY: the caller's promise.
        unsafe { M::taken(lock) };
    }
    code
}

unsafe extern "C-unwind" fn lock<M: Mode>(lock: Lock, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    unsafe { take::<M>(lock, (sp, bp), || M::trylock(lock), || M::lock(lock)) }
}

unsafe extern "C-unwind" fn trylock<M: Mode>(lock: Lock, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    unsafe {
        let code = try_to(Object::new(M::KIND, lock), Hook::new(sp, bp), |_| false, || M::trylock(lock));
        if is_success(code) {
            M::taken(lock);
        }
        code
    }
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

unsafe extern "C-unwind" fn timedlock<M: Mode>(
    lock: Lock,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe {
        let valid = is_deadline(libc::CLOCK_REALTIME, until);
        let tried = || if valid { M::trylock(lock) } else { libc::EBUSY };
        take::<M>(lock, (sp, bp), tried, || M::timedlock(lock, until))
    }
}

unsafe extern "C-unwind" fn clocklock<M: Mode>(
    lock: Lock,
    clock: clockid_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    unsafe {
        let valid = is_deadline(clock, until);
        let tried = || if valid { M::trylock(lock) } else { libc::EBUSY };
        take::<M>(lock, (sp, bp), tried, || M::clocklock(lock, clock, until))
    }
}

unsafe extern "C-unwind" fn unlock(lock: Lock, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock. The calling thread holds it; if any thread holds it for writing, that is the calling
    // thread.
    unsafe {
        let hook = Hook::new(sp, bp);
        if layout::has_writer(lock) {
            release(Object::new(RecordKind::Write, lock), hook, || real::rwlock_unlock(lock))
        } else {
            busy::release(lock, hook, || real::rwlock_unlock(lock))
        }
    }
}
