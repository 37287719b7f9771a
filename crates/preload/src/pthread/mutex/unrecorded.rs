//! Lock and unlock in a thread that is not recorded, in a process with a plan.
//!
//! Each function tries the path of the fewest instructions and leaves the rest to the next one, which is a function of its
//! own: so the paths before it need no stack.

use crate::glibc::mutex::MutexLayout;
use crate::swap::fast_path::{lock_fast, lock_known, unlock_fast, unlock_known};
use crate::swap::mutex::Mutex;
use crate::watch::Hook;
use core::ffi::c_int;

/// Locks the mutex: one of the most frequent kind here.
#[inline(always)]
pub fn lock(mutex: &MutexLayout, hook: Hook) -> c_int {
    match lock_fast(mutex) {
        Some(code) => code,
        None => lock_other(mutex, hook),
    }
}

/// Locks a mutex whose implementation was decided before.
#[inline(never)]
fn lock_other(mutex: &MutexLayout, hook: Hook) -> c_int {
    match lock_known(mutex) {
        Some(code) => code,
        None => lock_any(mutex, hook),
    }
}

#[inline(never)]
fn lock_any(mutex: &MutexLayout, hook: Hook) -> c_int {
    Mutex::new(mutex, hook).lock().code
}

/// Unlocks the mutex: one of the most frequent kind here.
#[inline(always)]
pub fn unlock(mutex: &MutexLayout, hook: Hook) -> c_int {
    match unlock_fast(mutex) {
        true => 0,
        false => unlock_other(mutex, hook),
    }
}

/// Unlocks a mutex whose implementation was decided before.
#[inline(never)]
fn unlock_other(mutex: &MutexLayout, hook: Hook) -> c_int {
    match unlock_known(mutex) {
        Some(code) => code,
        None => unlock_any(mutex, hook),
    }
}

#[inline(never)]
fn unlock_any(mutex: &MutexLayout, hook: Hook) -> c_int {
    Mutex::new(mutex, hook).unlock()
}
