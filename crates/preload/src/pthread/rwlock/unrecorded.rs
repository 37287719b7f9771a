//! Lock and unlock in a thread that is not recorded, in a process with a plan.
//!
//! Each function tries the path of the fewest instructions and leaves the rest to the next one, which is a function of its
//! own: so the paths before it need no stack.

use crate::glibc::rwlock::{Mode, Reading, RwLockLayout};
use crate::swap::rwlock::RwLock;
use crate::swap::rwlock::fast_path::{
    end_read, is_fast, lock_known, read_first, retract, unlock_first, unlock_known,
};
use crate::watch::Hook;
use core::ffi::c_int;
use core::hint::black_box;
use unspin_locks::rw::{FirstRead, Retired};

/// Acquires the lock.
#[inline(always)]
pub fn lock<M: Mode>(lock: &RwLockLayout, hook: Hook) -> c_int {
    if M::IS_READING && is_fast(lock) {
        return match read_first(lock) {
            FirstRead::Acquired => end_read(lock),
            FirstRead::Nothing => lock_other::<M>(lock, hook),
            FirstRead::Unsettled => retract_and_lock(lock, hook),
        };
    }
    lock_other::<M>(lock, hook)
}

#[cold]
#[inline(never)]
fn retract_and_lock(lock: &RwLockLayout, hook: Hook) -> c_int {
    retract(lock);
    lock_other::<Reading>(lock, hook)
}

/// Acquires a lock whose implementation was decided before.
#[inline(never)]
fn lock_other<M: Mode>(lock: &RwLockLayout, hook: Hook) -> c_int {
    match lock_known::<M>(lock) {
        Some(code) => code,
        None => lock_any::<M>(lock, hook),
    }
}

#[inline(never)]
fn lock_any<M: Mode>(lock: &RwLockLayout, hook: Hook) -> c_int {
    RwLock::new(lock, hook).acquire::<M>(None).code
}

/// Releases the lock: one of the most frequent kind here, held for reading.
#[inline(always)]
pub fn unlock(lock: &RwLockLayout, hook: Hook) -> c_int {
    if is_fast(lock) {
        return match unlock_first(lock) {
            Retired::Wholly => 0,
            Retired::WithoutWakes => tell_writers(),
            Retired::Not => unlock_other(lock, hook),
        };
    }
    unlock_other(lock, hook)
}

#[cold]
#[inline(never)]
fn tell_writers() -> c_int {
    unspin_locks::rw::tell_writers();
    // Where the compiler knows the value, it loads it after the call, and `unlock` needs a stack.
    black_box(0)
}

/// Releases a lock whose implementation was decided before.
#[inline(never)]
fn unlock_other(lock: &RwLockLayout, hook: Hook) -> c_int {
    match unlock_known(lock) {
        Some(code) => code,
        None => unlock_any(lock, hook),
    }
}

#[inline(never)]
fn unlock_any(lock: &RwLockLayout, hook: Hook) -> c_int {
    RwLock::new(lock, hook).unlock()
}
