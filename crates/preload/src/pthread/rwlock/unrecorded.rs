//! Lock and unlock in a thread that is not recorded, in a process with a plan.
//!
//! Each function tries the path of the fewest instructions and leaves the rest to the next one, which is a function of its
//! own: so the paths before it need no stack.

use crate::glibc::rwlock::{Mode, Reading, RwLockLayout};
use crate::swap::rwlock::RwLock;
use crate::swap::rwlock::fast_path::{is_fast, lock_known, read_fast, unlock_fast, unlock_known};
use crate::watch::Hook;
use core::ffi::c_int;

/// Acquires the lock.
#[inline(always)]
pub fn lock<M: Mode>(lock: &RwLockLayout, hook: Hook) -> c_int {
    if is_fast::<M>(lock) { read_first(lock, hook) } else { lock_other::<M>(lock, hook) }
}

/// Acquires a lock of the most frequent kind for reading. A function of its own: it saves registers, as not all calls need.
#[inline(never)]
fn read_first(lock: &RwLockLayout, hook: Hook) -> c_int {
    match read_fast(lock) {
        Some(code) => code,
        None => lock_other::<Reading>(lock, hook),
    }
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
    match unlock_fast(lock) {
        true => 0,
        false => unlock_other(lock, hook),
    }
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
