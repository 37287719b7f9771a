//! The calls of a thread that is not recorded, for read-write locks whose implementation was decided before. Each does at most
//! one call, as its last act, so it needs no stack.

use super::algorithm::{Algorithm, Fast};
use super::implementation::RwLockImpl;
use super::replaced::ReplacedRwLock;
use super::tag::{FAST_KIND, Tag};
use crate::bypass;
use crate::glibc::rwlock::{Mode, RwLockLayout};
use crate::swap::plan;
use core::ffi::c_int;
use unspin_locks::{RawRwLock, Recursion};
use unspin_sys::tid;

/// Acquires a lock of the most frequent kind ([`Tag::FAST`]) for reading, if it is free; else `None`.
#[inline(always)]
pub fn lock_fast<M: Mode>(lock: &RwLockLayout) -> Option<c_int> {
    if !M::IS_READING || Tag::of(lock) != Tag::FAST {
        return None;
    }
    if !lock.lock_in_place::<Fast>().read_alone() {
        return None;
    }
    if bypass::exists() {
        return Some(read_fast_during_hand_over(lock));
    }
    Some(0)
}

#[cold]
#[inline(never)]
fn read_fast_during_hand_over(lock: &RwLockLayout) -> c_int {
    match Algorithm::of(FAST_KIND) {
        Some(algorithm) => {
            let lock = ReplacedRwLock { words: lock, algorithm, recursion: Recursion::Allowed };
            lock.read_during_hand_over(None, None).code
        }
        None => unreachable!("the lock of the fast path is ours"),
    }
}

/// Releases a lock of the most frequent kind ([`Tag::FAST`]) that no thread holds for writing. Returns whether it did.
#[inline(always)]
pub fn unlock_fast(lock: &RwLockLayout) -> bool {
    if Tag::of(lock) != Tag::FAST || bypass::exists() || lock.has_writer() {
        return false;
    }
    // SAFETY: the program releases the lock; a thread that releases a lock that another thread holds is responsible for
    // the result.
    unsafe { lock.lock_in_place::<Fast>().unlock_read() };
    true
}

/// Acquires a lock whose implementation was decided before, if that needs no more than one call; else `None`.
#[inline(always)]
pub fn lock_known<M: Mode>(lock: &RwLockLayout) -> Option<c_int> {
    if plan::never_replaces_rwlocks() || Tag::of(lock) == Tag::LIBC {
        return Some(M::lock(lock));
    }
    match *RwLockImpl::known(lock)? {
        RwLockImpl::Lock(algorithm, recursion) if tid::get_cached() != 0 => {
            Some(acquire::<M>(lock, algorithm, recursion))
        }
        _ => None,
    }
}

/// A function of its own, so that [`lock_known`] needs no stack.
#[inline(never)]
fn acquire<M: Mode>(words: &RwLockLayout, algorithm: &'static Algorithm, recursion: Recursion) -> c_int {
    ReplacedRwLock { words, algorithm, recursion }.acquire::<M>(None).code
}

/// Releases a lock whose implementation was decided before, if that needs no more than one call; else `None`.
#[inline(always)]
pub fn unlock_known(lock: &RwLockLayout) -> Option<c_int> {
    if plan::never_replaces_rwlocks() || Tag::of(lock) == Tag::LIBC {
        return Some(lock.unlock());
    }
    match *RwLockImpl::known(lock)? {
        RwLockImpl::Lock(algorithm, _) if !bypass::exists() => Some(release(lock, algorithm)),
        _ => None,
    }
}

/// [`ReplacedRwLock::unlock`], with one call as its last act.
#[inline(always)]
fn release(lock: &RwLockLayout, algorithm: &'static Algorithm) -> c_int {
    ReplacedRwLock { words: lock, algorithm, recursion: Recursion::Allowed }.unlock()
}
