//! The calls of a thread that is not recorded, for mutexes whose implementation was decided before. Each does at most one
//! call, as its last act, so it needs no stack.

use super::algorithm::{Algorithm, Fast};
use super::mutex_impl::MutexImpl;
use super::plan;
use super::replaced::ReplacedMutex;
use super::tag::{FAST_KIND, Tag, Type};
use crate::bypass;
use crate::glibc::mutex::MutexLayout;
use core::ffi::c_int;
use unspin_locks::RawLock;
use unspin_sys::tid;

/// Acquires a free mutex of the most frequent kind ([`Tag::FAST`]) for which no thread waits; else `None`.
#[inline(always)]
pub fn lock_fast(mutex: &MutexLayout) -> Option<c_int> {
    if Tag::of(mutex) != Tag::FAST {
        return None;
    }
    let tid = tid::get_cached();
    if tid == 0 || !mutex.lock_in_place::<Fast>().try_lock_uncontended() {
        return None;
    }
    if bypass::exists() {
        return Some(move_fast_to_libc(mutex));
    }
    mutex.own(tid);
    Some(0)
}

/// [`ReplacedMutex::move_to_libc`] for a mutex of the most frequent kind.
#[cold]
#[inline(never)]
fn move_fast_to_libc(mutex: &MutexLayout) -> c_int {
    match Algorithm::of(FAST_KIND) {
        Some(algorithm) => move_normal_to_libc(mutex, algorithm),
        None => unreachable!("the lock of the fast path is ours"),
    }
}

#[cold]
fn move_normal_to_libc(words: &MutexLayout, algorithm: &'static Algorithm) -> c_int {
    ReplacedMutex { words, algorithm, of: Type::Normal }.move_to_libc(MutexLayout::libc_lock)
}

/// Releases a mutex of the most frequent kind ([`Tag::FAST`]). Returns whether it did.
#[inline(always)]
pub fn unlock_fast(mutex: &MutexLayout) -> bool {
    if Tag::of(mutex) != Tag::FAST || bypass::exists() {
        return false;
    }
    mutex.disown();
    // SAFETY: the program releases the mutex; a thread that releases a lock that another thread holds is responsible
    // for the result.
    unsafe { mutex.lock_in_place::<Fast>().unlock() };
    true
}

/// Locks a mutex whose implementation was decided before, if that needs no more than one call; else `None`.
#[inline(always)]
pub fn lock_known(mutex: &MutexLayout) -> Option<c_int> {
    if Tag::of(mutex) == Tag::LIBC && plan::never_polls() {
        return Some(mutex.libc_lock());
    }
    match *MutexImpl::known(mutex)? {
        MutexImpl::Inheriting(_) if mutex.inherits() && plan::never_polls() => Some(mutex.libc_lock()),
        // Some locks store their owner's thread id, and would make a system call for it.
        MutexImpl::Lock(algorithm, Type::Normal) if tid::get_cached() != 0 => {
            Some(lock_normal(mutex, algorithm))
        }
        _ => None,
    }
}

/// Locks a normal mutex, in a thread whose id is known. A function of its own, so that [`lock_known`] needs no stack.
#[inline(never)]
fn lock_normal(mutex: &MutexLayout, algorithm: &'static Algorithm) -> c_int {
    (algorithm.lock)(mutex);
    if bypass::exists() {
        return move_normal_to_libc(mutex, algorithm);
    }
    mutex.own(tid::get_cached());
    0
}

/// Unlocks a mutex whose implementation was decided before, if that needs no more than one call; else `None`.
#[inline(always)]
pub fn unlock_known(mutex: &MutexLayout) -> Option<c_int> {
    if Tag::of(mutex) == Tag::LIBC {
        return Some(mutex.libc_unlock());
    }
    match *MutexImpl::known(mutex)? {
        MutexImpl::Inheriting(_) if tid::get_cached() != 0 && mutex.is_owned_by(tid::get_cached()) => {
            Some(mutex.libc_unlock())
        }
        MutexImpl::Lock(algorithm, Type::Normal) if tid::get_cached() != 0 && !bypass::exists() => {
            mutex.disown();
            // SAFETY: as in `unlock_fast`.
            unsafe { (algorithm.unlock)(mutex) };
            Some(0)
        }
        _ => None,
    }
}
