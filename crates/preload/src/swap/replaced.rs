//! A mutex that contains a lock of ours.
//!
//! The owner of a recursive or errorcheck mutex is compared first, as in glibc. A deadline is read only if the thread must
//! wait. A normal mutex is not checked for its owner.
//!
//! Once code [bypasses](crate::bypass) the hooks, a mutex must be libc's for everyone. The thread that acquires our lock
//! then moves the mutex to libc ([`two_locks`] has the protocol). So each acquisition of our lock looks afterwards whether
//! there is such code.

use super::acquisition::Acquisition;
use super::algorithm::Algorithm;
use super::deadline::{Deadline, clock_of};
use super::tag::{Tag, Type};
use crate::bypass;
use crate::glibc::mutex::{MutexLayout, current_tid};
use core::ffi::c_int;
use core::time::Duration;
use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT};
use unspin_locks::handover::two_locks::{self, OwnerCheck, TwoLocks};
use unspin_locks::{Until, Waited};

/// A mutex that contains a lock of ours, beside libc's.
#[derive(Clone, Copy)]
pub struct ReplacedMutex<'mutex> {
    /// The words of the `pthread_mutex_t`.
    pub words: &'mutex MutexLayout,
    /// The operations of the lock.
    pub algorithm: &'static Algorithm,
    /// The type of the mutex.
    pub of: Type,
}

/// Longer than most mutexes are held. The kernel's timer slack adds some fifty microseconds.
const SOON: Duration = Duration::from_micros(30);

impl ReplacedMutex<'_> {
    /// pthread_mutex_lock(3).
    #[inline(always)]
    pub fn lock(self) -> Acquisition {
        self.answer_owner()
            .unwrap_or_else(|| self.finish_lock((self.algorithm.lock)(self.words), MutexLayout::libc_lock))
    }

    /// pthread_mutex_trylock(3).
    pub fn try_lock(self) -> c_int {
        match self.of {
            // Without PTHREAD_PRIO_INHERIT glibc returns EBUSY.
            Type::ErrorCheck if self.words.inherits() && self.words.is_mine() => EDEADLK,
            Type::Recursive if self.words.is_mine() => self.lock_again(),
            _ if (self.algorithm.try_lock)(self.words) => {
                self.finish_lock(Waited::No, MutexLayout::libc_trylock).code
            }
            _ => EBUSY,
        }
    }

    /// pthread_mutex_clocklock(3).
    pub fn lock_until(self, deadline: Deadline) -> Acquisition {
        let Some(clock) = clock_of(deadline.clock()) else { return Acquisition::with_code(EINVAL) };
        if let Some(acquisition) = self.answer_owner() {
            return acquisition;
        }
        // SAFETY: `Deadline::new`'s promise.
        let in_libc =
            |words: &MutexLayout| unsafe { words.libc_clocklock(deadline.clock(), deadline.until()) };
        if (self.algorithm.try_lock)(self.words) {
            return self.finish_lock(Waited::No, in_libc);
        }
        let Some(until) = deadline.read(clock) else { return Acquisition::with_code(EINVAL) };
        match (self.algorithm.lock_until)(self.words, until) {
            Some(waited) => self.finish_lock(waited, in_libc),
            None => Acquisition::with_code(ETIMEDOUT),
        }
    }

    /// The answer to a thread that acquires a mutex which it owns already. `None` if it does not own it, or if the mutex
    /// is normal, as that type does not check.
    #[inline(always)]
    fn answer_owner(self) -> Option<Acquisition> {
        match self.of {
            Type::Normal => None,
            _ if !self.words.is_mine() => None,
            Type::Recursive => Some(Acquisition::with_code(self.lock_again())),
            Type::ErrorCheck => Some(Acquisition::with_code(EDEADLK)),
        }
    }

    /// Counts another acquisition by the owner.
    fn lock_again(self) -> c_int {
        match self.words.depth().checked_add(1) {
            Some(depth) => {
                self.words.set_depth(depth);
                0
            }
            None => EAGAIN,
        }
    }

    /// To be called after the thread has acquired the lock: notes the owner. `in_libc` acquires the mutex where it is to be
    /// handed to libc.
    #[inline(always)]
    fn finish_lock(self, waited: Waited, in_libc: impl FnOnce(&MutexLayout) -> c_int) -> Acquisition {
        if bypass::exists() {
            return Acquisition::by_libc(self.move_to_libc(in_libc));
        }
        self.words.own(current_tid());
        self.begin_depth();
        Acquisition::success(waited)
    }

    #[inline(always)]
    fn begin_depth(self) {
        if self.of == Type::Recursive {
            self.words.set_depth(1);
        }
    }

    /// [`two_locks::move_to_libc`]. `lock` is a function of libc that acquires the mutex. Returns its code.
    #[cold]
    pub fn move_to_libc(self, lock: impl FnOnce(&MutexLayout) -> c_int) -> c_int {
        two_locks::move_to_libc(self, || lock(self.words))
    }

    /// pthread_mutex_unlock(3).
    #[inline(always)]
    pub fn unlock(self) -> c_int {
        if two_locks::is_libcs_by_now(self, &bypass::HAND_OVER) {
            return self.words.libc_unlock();
        }
        self.release(MutexLayout::disown)
    }

    /// The release at the beginning of a wait for a condition: the thread stays one of the users.
    pub fn unlock_to_wait(self) -> c_int {
        self.release(MutexLayout::disown_for_now)
    }

    /// Releases the lock, unless the thread holds it more than once or must not release it. `disown` removes the owner.
    #[inline(always)]
    fn release(self, disown: impl FnOnce(&MutexLayout)) -> c_int {
        match self.begin_release() {
            ReleaseStep::Refuse => EPERM,
            ReleaseStep::KeepLocked => 0,
            ReleaseStep::Free => {
                disown(self.words);
                // SAFETY: the program releases the mutex; a thread that releases a lock that another thread holds is
                // responsible for the result.
                unsafe { (self.algorithm.unlock)(self.words) };
                0
            }
        }
    }

    /// Checks the owner and lowers the depth. Returns what is left to do.
    #[inline(always)]
    fn begin_release(self) -> ReleaseStep {
        match self.of {
            Type::Normal => ReleaseStep::Free,
            _ if !self.words.is_mine() => ReleaseStep::Refuse,
            Type::ErrorCheck if !(self.algorithm.is_locked)(self.words) => ReleaseStep::Refuse,
            Type::ErrorCheck => ReleaseStep::Free,
            Type::Recursive => {
                self.words.set_depth(self.words.depth().wrapping_sub(1));
                if self.words.depth() == 0 { ReleaseStep::Free } else { ReleaseStep::KeepLocked }
            }
        }
    }

    /// The acquisition at the end of a wait for a condition. `others` wakes the threads that are to be woken after this
    /// thread has the mutex. If the acquisition takes longer than [`SOON`], it wakes them before. It takes long if all
    /// other threads are faster; then the thread that is woken last would wait for as long as all threads before it
    /// together.
    pub fn lock_after_wait(self, others: Option<impl FnOnce()>) -> Acquisition {
        if let Some(acquisition) = self.answer_owner() {
            wake(others);
            return acquisition;
        }
        let (waited, others) = self.lock_or_wake(others);
        if bypass::exists() {
            wake(others);
            let code = self.move_to_libc(MutexLayout::libc_lock);
            // libc counts the thread as one more user, but it has stayed one during its wait.
            self.words.remove_user();
            return Acquisition::by_libc(code);
        }
        self.words.own_again(current_tid());
        self.begin_depth();
        wake(others);
        Acquisition::success(waited)
    }

    /// Acquires the lock. Wakes the others if that takes longer than [`SOON`]; else returns `others`, to be called later.
    fn lock_or_wake<W: FnOnce()>(self, others: Option<W>) -> (Waited, Option<W>) {
        let Some(others) = others else { return ((self.algorithm.lock)(self.words), None) };
        let in_time = match (self.algorithm.try_lock)(self.words) {
            true => Some(Waited::No),
            false => (self.algorithm.lock_until)(self.words, Until::after(SOON)),
        };
        match in_time {
            Some(waited) => (waited, Some(others)),
            None => {
                others();
                ((self.algorithm.lock)(self.words), None)
            }
        }
    }

    /// Hands the mutex, which the calling thread holds, to libc: for libc's wait for a condition. A mutex that checks its
    /// owner, and is not the thread's, is left as it is: libc's wait refuses it (EPERM), as it compares the same word.
    pub fn hand_to_libc(self) {
        let check = match self.of {
            Type::Normal => OwnerCheck::None,
            Type::Recursive => OwnerCheck::Owner,
            Type::ErrorCheck => OwnerCheck::LockedAndOwner,
        };
        two_locks::move_held_to_libc(self, check, &bypass::HAND_OVER, || self.words.libc_lock());
    }
}

fn wake(others: Option<impl FnOnce()>) {
    if let Some(wake) = others {
        wake()
    }
}

/// What is left to do for a release.
enum ReleaseStep {
    /// Nothing: the thread does not own the mutex.
    Refuse,
    /// Nothing: the thread has acquired the mutex more often than it has released it.
    KeepLocked,
    /// The lock must be released.
    Free,
}

impl TwoLocks for ReplacedMutex<'_> {
    fn is_libcs(self) -> bool {
        Tag::of(self.words) == Tag::LIBC
    }

    fn make_libcs(self) {
        Tag::move_to_libc(self.words);
    }

    fn has_libcs_locked(self) -> bool {
        self.words.has_owner()
    }

    fn has_ours_locked(self) -> bool {
        (self.algorithm.is_locked)(self.words)
    }

    unsafe fn unlock_ours(self) {
        // SAFETY: the caller's promise.
        unsafe { (self.algorithm.unlock)(self.words) };
    }

    fn is_mine(self) -> bool {
        self.words.is_mine()
    }

    fn disown(self) {
        self.words.disown();
    }

    fn depth(self) -> u32 {
        self.words.depth()
    }

    fn set_depth(self, depth: u32) {
        self.words.set_depth(depth);
    }
}
