//! Read-write locks: which implementation serves one, and the operations of a program, carried out by libc or by the lock that
//! replaces it.
//!
//! | module | contents |
//! |---|---|
//! | `implementation` | which rule of the plan applies: decided once in a lock's life, at pthread_rwlock_init(3) or its first use |
//! | `tag` | the decision, stored in the `pthread_rwlock_t` |
//! | `algorithm` | the locks of `unspin-locks` as a table |
//! | `replaced`, `moving` | a lock of ours, and how it is handed to libc |
//! | [`fast_path`] | lock and unlock in one call |
//!
//! The writer stays where glibc keeps it (`__cur_writer`), so the meter and EDEADLK need nothing else. The return values are
//! glibc's, and do not depend on the implementation. pthread_rwlock_destroy(3) does nothing in glibc, and nothing here: the next
//! initialisation clears the tag with the lock.

mod algorithm;
pub mod fast_path;
mod implementation;
mod moving;
mod replaced;
mod tag;

pub use implementation::decide_at_init;

use super::acquisition::Acquisition;
use super::deadline::{Deadline, clock_of};
use crate::glibc::rwlock::{Mode, RwLockLayout};
use crate::watch::Hook;
use core::ffi::c_int;
use implementation::RwLockImpl;
use libc::EBUSY;
use replaced::ReplacedRwLock;
use unspin_locks::Until;

/// A read-write lock of the program, for one call of a hook: with the implementation that serves it.
#[derive(Clone, Copy)]
pub enum RwLock<'lock> {
    /// libc serves it.
    Libcs(&'lock RwLockLayout),
    /// It contains a lock of ours.
    Replaced(ReplacedRwLock<'lock>),
}

impl<'lock> RwLock<'lock> {
    /// The lock with these words, used by the function that called this hook.
    #[inline(always)]
    pub fn new(words: &'lock RwLockLayout, hook: Hook) -> RwLock<'lock> {
        match *RwLockImpl::of(words, hook) {
            RwLockImpl::Libc => RwLock::Libcs(words),
            RwLockImpl::Lock(algorithm, recursion) => {
                RwLock::Replaced(ReplacedRwLock { words, algorithm, recursion })
            }
        }
    }

    /// The words of the `pthread_rwlock_t`.
    #[inline(always)]
    pub fn words(self) -> &'lock RwLockLayout {
        match self {
            RwLock::Libcs(words) => words,
            RwLock::Replaced(lock) => lock.words,
        }
    }

    /// How many times it is held for reading.
    #[inline(always)]
    pub fn readers(self) -> u32 {
        match self {
            RwLock::Libcs(words) => words.readers(),
            RwLock::Replaced(lock) => (lock.algorithm.readers)(lock.words),
        }
    }

    /// pthread_rwlock_rdlock(3) or pthread_rwlock_wrlock(3), or the function with a deadline.
    #[inline(always)]
    pub fn acquire<M: Mode>(self, deadline: Option<Deadline>) -> Acquisition {
        match self {
            RwLock::Libcs(words) => Acquisition::by_libc(acquire_libcs::<M>(words, deadline)),
            RwLock::Replaced(lock) => lock.acquire::<M>(deadline),
        }
    }

    /// The attempt that does not block, before [`acquire`](Self::acquire). With a malformed deadline, which `acquire` refuses
    /// even if the lock is free, EBUSY.
    #[inline(always)]
    pub fn try_first<M: Mode>(self, deadline: Option<Deadline>) -> c_int {
        match self {
            _ if read_deadline(deadline).is_none() => EBUSY,
            RwLock::Libcs(words) => M::trylock(words),
            RwLock::Replaced(lock) => lock.try_first::<M>(),
        }
    }

    /// pthread_rwlock_tryrdlock(3) or pthread_rwlock_trywrlock(3).
    #[inline(always)]
    pub fn try_lock<M: Mode>(self) -> c_int {
        match self {
            RwLock::Libcs(words) => M::trylock(words),
            RwLock::Replaced(lock) => lock.try_lock::<M>(),
        }
    }

    /// pthread_rwlock_unlock(3).
    #[inline(always)]
    pub fn unlock(self) -> c_int {
        match self {
            RwLock::Libcs(words) => words.unlock(),
            RwLock::Replaced(lock) => lock.unlock(),
        }
    }
}

/// libc's function that blocks.
#[inline(always)]
fn acquire_libcs<M: Mode>(words: &RwLockLayout, deadline: Option<Deadline>) -> c_int {
    match deadline {
        None => M::lock(words),
        // SAFETY: the promise of `Deadline::new`.
        Some(deadline) => unsafe { M::clocklock(words, deadline.clock(), deadline.until()) },
    }
}

/// The time of a deadline, if there is one; `None` if it is malformed, or its clock is not supported.
#[inline(always)]
fn read_deadline(deadline: Option<Deadline>) -> Option<Option<Until>> {
    let Some(deadline) = deadline else { return Some(None) };
    deadline.read(clock_of(deadline.clock())?).map(Some)
}
