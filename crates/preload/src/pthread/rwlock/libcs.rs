//! Lock and unlock in a thread that is recorded, in a process in which libc serves all locks.

use super::any::{acquire_recorded, release_recorded};
use crate::glibc::rwlock::{Mode, RwLockLayout};
use crate::swap::rwlock::RwLock;
use crate::watch::{Hook, Thread};
use core::ffi::c_int;

/// Acquires a lock of libc.
#[inline(never)]
pub fn lock<M: Mode>(lock: &RwLockLayout, hook: Hook, thread: &'static Thread) -> c_int {
    acquire_recorded::<M>(thread, RwLock::Libcs(lock), hook, None)
}

/// Releases a lock of libc.
#[inline(never)]
pub fn unlock(lock: &RwLockLayout, hook: Hook, thread: &'static Thread) -> c_int {
    release_recorded(thread, RwLock::Libcs(lock), hook)
}
