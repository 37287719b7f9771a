//! The mutex operations of a program, carried out by libc or by the lock that replaces the mutex.
//!
//! The return values are glibc's (nptl/pthread_mutex_lock.c, _trylock.c, _timedlock.c, _unlock.c). They do not depend on the
//! implementation.

use super::acquisition::{Acquisition, Released, Tried};
use super::deadline::Deadline;
use super::libcs::LibcMutex;
use super::mutex_impl::MutexImpl;
use super::replaced::ReplacedMutex;
use crate::glibc::mutex::MutexLayout;
use crate::watch::Hook;
use core::ffi::c_int;
use libc::EBUSY;

/// A mutex of the program, for one call of a hook: with the implementation that serves it.
#[derive(Clone, Copy)]
pub enum Mutex<'mutex> {
    /// libc serves it.
    Libcs(LibcMutex<'mutex>),
    /// It contains a lock of ours.
    Replaced(ReplacedMutex<'mutex>),
}

impl<'mutex> Mutex<'mutex> {
    /// The mutex with these words, used by the function that called this hook.
    #[inline(always)]
    pub fn new(words: &'mutex MutexLayout, hook: Hook) -> Mutex<'mutex> {
        match *MutexImpl::of(words, hook) {
            MutexImpl::Libc => Mutex::Libcs(LibcMutex { words, inherits: None, hook }),
            MutexImpl::Inheriting(of) => Mutex::Libcs(LibcMutex { words, inherits: Some(of), hook }),
            MutexImpl::Lock(algorithm, of) => Mutex::Replaced(ReplacedMutex { words, algorithm, of }),
        }
    }

    /// The words of the `pthread_mutex_t`.
    #[inline(always)]
    pub fn words(self) -> &'mutex MutexLayout {
        match self {
            Mutex::Libcs(mutex) => mutex.words,
            Mutex::Replaced(mutex) => mutex.words,
        }
    }

    /// Whether one of our locks replaces the mutex.
    pub fn is_replaced(self) -> bool {
        matches!(self, Mutex::Replaced(_))
    }

    /// pthread_mutex_lock(3), or pthread_mutex_clocklock(3) if there is a deadline.
    #[inline(always)]
    pub fn acquire(self, deadline: Option<Deadline>) -> Acquisition {
        match deadline {
            None => self.lock(),
            Some(deadline) => self.lock_until(deadline),
        }
    }

    /// pthread_mutex_lock(3).
    #[inline(always)]
    pub fn lock(self) -> Acquisition {
        match self {
            Mutex::Libcs(mutex) => mutex.lock(),
            Mutex::Replaced(mutex) => mutex.lock(),
        }
    }

    /// pthread_mutex_clocklock(3), and pthread_mutex_timedlock(3) with CLOCK_REALTIME.
    pub fn lock_until(self, deadline: Deadline) -> Acquisition {
        match self {
            Mutex::Libcs(mutex) => Acquisition::by_libc(mutex.lock_until(deadline)),
            Mutex::Replaced(mutex) => mutex.lock_until(deadline),
        }
    }

    /// The attempt that does not block, before [`acquire`](Self::acquire).
    ///
    /// glibc's trylock cannot be used with a robust mutex ([`LibcMutex::try_once`]). So the owner of a robust mutex is only
    /// read. If there is none, `acquire` need not wait.
    #[inline(always)]
    pub fn try_first(self, deadline: Option<Deadline>) -> c_int {
        match self.words().is_robust() {
            false => self.try_lock(),
            true if self.words().has_owner() => EBUSY,
            true => self.acquire(deadline).code,
        }
    }

    /// pthread_mutex_trylock(3).
    #[inline(always)]
    pub fn try_lock(self) -> c_int {
        match self {
            Mutex::Libcs(mutex) => mutex.try_lock(),
            Mutex::Replaced(mutex) => mutex.try_lock(),
        }
    }

    /// pthread_mutex_unlock(3).
    #[inline(always)]
    pub fn unlock(self) -> c_int {
        match self {
            Mutex::Libcs(mutex) => mutex.unlock(),
            Mutex::Replaced(mutex) => mutex.unlock(),
        }
    }

    /// The release at the beginning of a wait for a condition: the thread stays one of the users, so that
    /// pthread_mutex_destroy(3) answers EBUSY meanwhile.
    pub fn unlock_to_wait(self) -> Released {
        match self {
            Mutex::Libcs(mutex) => mutex.unlock_to_wait(),
            Mutex::Replaced(mutex) => Released { code: mutex.unlock_to_wait(), is_user_of_libcs: false },
        }
    }

    /// One attempt at the end of a wait for a condition, after [`unlock_to_wait`](Self::unlock_to_wait). A replaced
    /// mutex is not tried: [`lock_after_wait`](Self::lock_after_wait) acquires it.
    pub fn try_after_wait(self) -> Tried {
        match self {
            Mutex::Libcs(mutex) => mutex.try_once(),
            Mutex::Replaced(_) => Tried::Untried,
        }
    }

    /// The acquisition at the end of a wait for a condition. `wake_others` wakes the threads that are to be woken after this
    /// thread has the mutex, or before, if that takes long ([`ReplacedMutex::lock_after_wait`]).
    pub fn lock_after_wait(self, wake_others: Option<impl FnOnce()>) -> Acquisition {
        match self {
            Mutex::Libcs(mutex) => {
                if let Some(wake) = wake_others {
                    wake()
                }
                Acquisition::by_libc(mutex.words.libc_lock())
            }
            Mutex::Replaced(mutex) => mutex.lock_after_wait(wake_others),
        }
    }

    /// The thread, which counted as a user of libc's mutex during a wait, has acquired the mutex, and so counts twice.
    pub fn count_once(self) {
        self.words().remove_user();
    }

    /// Whether the thread owns a mutex that it cannot have kept from before a wait for a condition.
    pub fn is_locked_since_wait(self) -> bool {
        !self.words().is_recursive() && self.words().is_mine()
    }

    /// Hands the mutex, which the calling thread holds, to libc: for libc's wait for a condition.
    pub fn hand_to_libc(self) {
        if let Mutex::Replaced(mutex) = self {
            mutex.hand_to_libc();
        }
    }
}
