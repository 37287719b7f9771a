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
use unspin_locks::Recursion;
use unspin_locks::rw::{FirstRead, Retired};
use unspin_sys::tid;

/// Whether a lock is of the most frequent kind, which has calls of its own here.
#[inline(always)]
pub fn is_fast(lock: &RwLockLayout) -> bool {
    Tag::of(lock) == Tag::FAST
}

/// The first step of an acquisition for reading of a lock for which [`is_fast`] holds.
#[inline(always)]
pub fn read_first(lock: &RwLockLayout) -> FirstRead {
    lock.lock_in_place::<Fast>().read_first()
}

/// To be called when [`read_first`] has left the thread unsettled.
pub fn retract(lock: &RwLockLayout) {
    lock.lock_in_place::<Fast>().retract();
}

/// Ends the acquisition for reading of a lock for which [`is_fast`] holds.
#[inline(always)]
pub fn end_read(lock: &RwLockLayout) -> c_int {
    if bypass::exists() { end_read_during_hand_over(lock) } else { 0 }
}

#[cold]
#[inline(never)]
fn end_read_during_hand_over(lock: &RwLockLayout) -> c_int {
    match Algorithm::of(FAST_KIND) {
        Some(algorithm) => {
            let lock = ReplacedRwLock { words: lock, algorithm, recursion: Recursion::Allowed };
            lock.read_during_hand_over(None, None).code
        }
        None => unreachable!("the lock of the fast path is ours"),
    }
}

/// The first step of the release of a lock for which [`is_fast`] holds.
#[inline(always)]
pub fn unlock_first(lock: &RwLockLayout) -> Retired {
    if bypass::exists() {
        return Retired::Not;
    }
    // SAFETY: the program releases the lock. The step does nothing unless the thread has published itself as a reader.
    unsafe { lock.lock_in_place::<Fast>().unlock_read_first() }
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
