//! A mutex that libc serves: one that is not replaced, or one that the plan lets inherit priorities.

use super::acquisition::{Acquisition, Released, Tried};
use super::deadline::Deadline;
use super::plan;
use super::tag::Type;
use crate::glibc::mutex::MutexLayout;
use crate::waits::{Ended, Look, Wait};
use crate::watch::Hook;
use core::ffi::c_int;
use libc::{EBUSY, timespec};
use unspin_locks::Waited;
use unspin_waiting::CheckKind;
use unspin_wire::looks::Looks;

/// A mutex that libc serves, for one call of a hook.
#[derive(Clone, Copy)]
pub struct LibcMutex<'mutex> {
    /// The words of the `pthread_mutex_t`.
    pub words: &'mutex MutexLayout,
    /// The type of a mutex that inherits priorities although the program has not requested it.
    pub inherits: Option<Type>,
    /// The hook that the program called.
    pub hook: Hook,
}

impl LibcMutex<'_> {
    /// pthread_mutex_lock(3). If waits poll, the thread polls before it sleeps.
    #[inline(always)]
    pub fn lock(self) -> Acquisition {
        match plan::is_polling() && self.words.has_owner() {
            true => self.poll(),
            false => Acquisition::by_libc(self.words.libc_lock()),
        }
    }

    /// Polls, then calls libc.
    #[inline(never)]
    fn poll(self) -> Acquisition {
        // The thread must not poll for a mutex that it owns already: libc counts, refuses, or waits for ever.
        if self.words.is_mine() {
            return Acquisition::by_libc(self.words.libc_lock());
        }
        let wait = Wait::begin(self.hook, Looks::NONE);
        let look = || match self.try_once() {
            Tried::Acquired => Look::Found(Acquisition::success(Waited::Spun)),
            Tried::Taken => Look::Nothing,
            Tried::Untried => Look::Found(Acquisition::by_libc(self.words.libc_lock())),
        };
        if let Ended::Found(acquisition) = wait.poll(CheckKind::Load, look, |_| None) {
            return acquisition;
        }
        let code = self.words.libc_lock();
        wait.report_sleep();
        Acquisition::by_libc(code)
    }

    /// Acquires the mutex if it is free. glibc's trylock of a robust mutex that is not recoverable leaves it locked for
    /// ever. So a robust mutex that is free is not tried.
    pub fn try_once(self) -> Tried {
        if self.words.has_owner() {
            return Tried::Taken;
        }
        if self.words.is_robust() {
            return Tried::Untried;
        }
        match self.words.libc_trylock() {
            0 => Tried::Acquired,
            EBUSY => Tried::Taken,
            _ => Tried::Untried,
        }
    }

    /// pthread_mutex_trylock(3).
    #[inline(always)]
    pub fn try_lock(self) -> c_int {
        match self.inherits {
            // If the calling thread owns the mutex, glibc's trylock of an errorcheck mutex returns EBUSY, but EDEADLK with
            // PTHREAD_PRIO_INHERIT, which the program has not chosen.
            Some(Type::ErrorCheck) if self.words.is_mine() => EBUSY,
            _ => self.words.libc_trylock(),
        }
    }

    /// pthread_mutex_clocklock(3). For the kernel's PI futexes a time before the clock's zero is malformed. For all other
    /// mutexes it is a deadline that has passed. So zero replaces it if the program has not requested priority inheritance.
    pub fn lock_until(self, deadline: Deadline) -> c_int {
        let (clock, until) = (deadline.clock(), deadline.until());
        if self.inherits.is_none() {
            // SAFETY: `Deadline::new`'s promise.
            return unsafe { self.words.libc_clocklock(clock, until) };
        }
        if self.words.libc_trylock() == 0 {
            return 0;
        }
        // SAFETY: `Deadline::new`'s promise, as the mutex is not free; and a local variable.
        unsafe {
            let zero = timespec { tv_sec: 0, tv_nsec: (*until).tv_nsec };
            self.words.libc_clocklock(clock, if (*until).tv_sec < 0 { &zero } else { until })
        }
    }

    /// pthread_mutex_unlock(3).
    #[inline(always)]
    pub fn unlock(self) -> c_int {
        match self.inherits {
            Some(Type::Normal) if self.words.seize() => 0,
            _ => self.words.libc_unlock(),
        }
    }

    /// The release at the beginning of a wait for a condition. libc's waits keep the count of users, but its unlock lowers
    /// it.
    pub fn unlock_to_wait(self) -> Released {
        // Where libc checks no owner, it also lowers the count if another thread has locked the mutex. A recursive mutex
        // that the thread has locked more than once stays locked.
        let is_released = self.words.is_mine() || !self.words.libc_checks_owner();
        let is_user = is_released && self.words.depth() <= 1;
        if is_user {
            self.words.add_user();
        }
        let code = self.unlock();
        if is_user && code != 0 {
            self.words.remove_user();
        }
        Released { code, is_user_of_libcs: is_user && code == 0 }
    }
}
