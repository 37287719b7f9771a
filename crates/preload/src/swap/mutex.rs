//! The mutex operations of a program, carried out by the lock that replaces the mutex, or by libc.
//!
//! The return values are glibc's (nptl/pthread_mutex_lock.c, _trylock.c, _timedlock.c, _unlock.c). The owner of a
//! recursive or errorcheck mutex is compared first. A deadline is read only if the thread must wait. A normal mutex is
//! not checked for its owner.
//!
//! Once code [bypasses](crate::bypass) the hooks, a mutex must be libc's for everyone. The thread that acquires our lock
//! then moves the mutex to libc ([`two_locks`] has the protocol). So each acquisition of our lock looks afterwards whether
//! there is such code.

use super::algorithm::{Algorithm, Fast};
use super::mutex_impl::MutexImpl;
use super::plan;
use super::tag::{FAST_KIND, Tag, Type};
use crate::bypass;
use crate::glibc::mutex::{MutexLayout, current_tid};
use crate::waits::{Ended, Look, Wait};
use crate::watch::Hook;
use core::ffi::c_int;
use core::time::Duration;
use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT, clockid_t, timespec};
use unspin_locks::handover::two_locks::{self, OwnerCheck, TwoLocks};
use unspin_locks::{Clock, RawLock, Until, Waited};
use unspin_sys::tid;
use unspin_waiting::CheckKind;

/// A mutex of the program, for one call of a hook: with the implementation that serves it.
#[derive(Clone, Copy)]
pub struct Mutex<'mutex> {
    words: &'mutex MutexLayout,
    served_by: &'static MutexImpl,
    hook: Hook,
}

/// The result of an acquisition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acquisition {
    /// 0, or an error number.
    pub code: c_int,
    /// How the thread waited, if that is known: libc does not tell.
    pub waited: Option<Waited>,
}

impl Acquisition {
    /// libc's return value.
    #[inline(always)]
    pub fn by_libc(code: c_int) -> Acquisition {
        Acquisition { code, waited: None }
    }

    /// The thread has acquired the mutex.
    pub fn done(waited: Waited) -> Acquisition {
        Acquisition { code: 0, waited: Some(waited) }
    }

    fn failed(code: c_int) -> Acquisition {
        Acquisition { code, waited: None }
    }
}

/// The deadline of a call.
#[derive(Clone, Copy)]
pub struct Deadline {
    clock: clockid_t,
    until: *const timespec,
}

impl Deadline {
    /// A time of this clock.
    ///
    /// # Safety
    /// `until` is live as long as the value is used with a mutex that is not free.
    #[inline(always)]
    pub unsafe fn new(clock: clockid_t, until: *const timespec) -> Deadline {
        Deadline { clock, until }
    }

    /// The time, for our locks; `None` if it is malformed.
    fn read(self, clock: Clock) -> Option<Until> {
        // SAFETY: `new`'s promise; the callers have found that the mutex is not free.
        unsafe { time(clock, self.until) }
    }
}

/// Acquires a free mutex of the most frequent kind ([`Tag::FAST`]) for which no thread waits; else `None`.
#[inline(always)]
pub fn lock_fast(mutex: &MutexLayout) -> Option<c_int> {
    if Tag::of(mutex) != Tag::FAST {
        return None;
    }
    let tid = tid::cached();
    if tid == 0 || !mutex.lock_in_place::<Fast>().try_lock_uncontended() {
        return None;
    }
    if bypass::exists() {
        return Some(move_fast_to_libc(mutex));
    }
    mutex.own(tid);
    Some(0)
}

/// [`move_to_libc`] for a mutex of the most frequent kind. Its call is the caller's last, so the path beside it needs no stack.
#[cold]
#[inline(never)]
fn move_fast_to_libc(mutex: &MutexLayout) -> c_int {
    match Algorithm::of(FAST_KIND) {
        Some(algorithm) => move_to_libc(mutex, algorithm, MutexLayout::libc_lock),
        None => unreachable!("the lock of the fast path is ours"),
    }
}

/// [`two_locks::move_to_libc`]. `lock` is a function of libc that acquires the mutex. Returns its code.
#[cold]
fn move_to_libc(
    words: &MutexLayout,
    algorithm: &Algorithm,
    lock: impl FnOnce(&MutexLayout) -> c_int,
) -> c_int {
    two_locks::move_to_libc(Replaced { words, algorithm }, || lock(words))
}

/// A mutex that contains a lock of ours, beside libc's.
#[derive(Clone, Copy)]
struct Replaced<'mutex> {
    words: &'mutex MutexLayout,
    algorithm: &'mutex Algorithm,
}

impl TwoLocks for Replaced<'_> {
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

/// Locks a normal mutex, in a thread whose id is known. A function of its own, so that [`lock_known`] needs no stack.
#[inline(never)]
fn lock_normal(mutex: &MutexLayout, algorithm: &Algorithm) -> c_int {
    (algorithm.lock)(mutex);
    if bypass::exists() {
        return move_to_libc(mutex, algorithm, MutexLayout::libc_lock);
    }
    mutex.own(tid::cached());
    0
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
        MutexImpl::Lock(algorithm, Type::Normal) if tid::cached() != 0 => Some(lock_normal(mutex, algorithm)),
        _ => None,
    }
}

/// Unlocks a mutex whose implementation was decided before, if that needs no more than one call; else `None`.
#[inline(always)]
pub fn unlock_known(mutex: &MutexLayout) -> Option<c_int> {
    if Tag::of(mutex) == Tag::LIBC {
        return Some(mutex.libc_unlock());
    }
    match *MutexImpl::known(mutex)? {
        MutexImpl::Inheriting(_) if tid::cached() != 0 && mutex.is_owned_by(tid::cached()) => {
            Some(mutex.libc_unlock())
        }
        MutexImpl::Lock(algorithm, Type::Normal) if tid::cached() != 0 && !bypass::exists() => {
            mutex.disown();
            // SAFETY: as in `unlock_fast`.
            unsafe { (algorithm.unlock)(mutex) };
            Some(0)
        }
        _ => None,
    }
}

/// The result of one attempt to acquire a mutex that libc serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tried {
    /// The thread has acquired the mutex.
    Acquired,
    /// Another thread holds the mutex.
    Taken,
    /// Not tried, or undecided: only a call that may block can tell.
    Untried,
}

/// How a mutex was released at the beginning of a wait for a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Released {
    /// 0, or the error number of a mutex that was not released.
    pub code: c_int,
    /// Whether libc serves the mutex, and the thread counts as one of its users during the wait.
    pub is_user_of_libcs: bool,
}

/// Longer than most mutexes are held. The kernel's timer slack adds some fifty microseconds.
const SOON: Duration = Duration::from_micros(30);

impl<'mutex> Mutex<'mutex> {
    /// The mutex with these words, used by the function that called this hook.
    #[inline(always)]
    pub fn new(words: &'mutex MutexLayout, hook: Hook) -> Mutex<'mutex> {
        Mutex { words, served_by: MutexImpl::of(words, hook), hook }
    }

    /// Its words.
    #[inline(always)]
    pub fn words(self) -> &'mutex MutexLayout {
        self.words
    }

    /// Whether one of our locks replaces the mutex.
    pub fn is_replaced(self) -> bool {
        matches!(*self.served_by, MutexImpl::Lock(..))
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
        match *self.served_by {
            MutexImpl::Libc | MutexImpl::Inheriting(_) => self.lock_libcs(),
            MutexImpl::Lock(algorithm, of) => {
                let lock = || self.enter(algorithm, of, (algorithm.lock)(self.words), MutexLayout::libc_lock);
                self.owned(of).unwrap_or_else(lock)
            }
        }
    }

    /// pthread_mutex_lock(3) of a mutex that libc serves. If waits poll, the thread polls before it sleeps.
    #[inline(always)]
    fn lock_libcs(self) -> Acquisition {
        match plan::is_polling() && self.words.has_owner() {
            true => self.poll_for_libcs(),
            false => Acquisition::by_libc(self.words.libc_lock()),
        }
    }

    /// Polls for a mutex that libc serves, then calls libc.
    #[inline(never)]
    fn poll_for_libcs(self) -> Acquisition {
        // The thread must not poll for a mutex that it owns already: libc counts, refuses, or waits for ever.
        if self.words.is_mine() {
            return Acquisition::by_libc(self.words.libc_lock());
        }
        let wait = Wait::begin(self.hook);
        let look = || match self.try_libcs() {
            Tried::Acquired => Look::Found(Acquisition::done(Waited::Spun)),
            Tried::Taken => Look::Nothing,
            Tried::Untried => Look::Found(Acquisition::by_libc(self.words.libc_lock())),
        };
        if let Ended::Found(acquisition) = wait.poll(CheckKind::Load, look, |_| None) {
            return acquisition;
        }
        let code = self.words.libc_lock();
        wait.slept();
        Acquisition::by_libc(code)
    }

    /// Acquires a mutex that libc serves, if it is free. glibc's trylock of a robust mutex that is not recoverable
    /// leaves it locked for ever. So a robust mutex that is free is not tried.
    fn try_libcs(self) -> Tried {
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

    /// The attempt that does not block, before [`acquire`](Self::acquire).
    ///
    /// As glibc's trylock cannot be used with a robust mutex ([`try_libcs`](Self::try_libcs)), the owner of a robust
    /// mutex is only read. If there is none, `acquire` need not wait.
    #[inline(always)]
    pub fn try_first(self, deadline: Option<Deadline>) -> c_int {
        match self.words.is_robust() {
            false => self.try_lock(),
            true if self.words.has_owner() => EBUSY,
            true => self.acquire(deadline).code,
        }
    }

    /// pthread_mutex_trylock(3).
    #[inline(always)]
    pub fn try_lock(self) -> c_int {
        match *self.served_by {
            MutexImpl::Libc => self.words.libc_trylock(),
            _ => self.try_planned(),
        }
    }

    fn try_planned(self) -> c_int {
        match *self.served_by {
            // If the calling thread owns an errorcheck mutex, glibc's trylock returns EBUSY; but EDEADLK if the program
            // has chosen PTHREAD_PRIO_INHERIT.
            MutexImpl::Inheriting(Type::ErrorCheck) if self.words.is_mine() => EBUSY,
            MutexImpl::Lock(_, Type::ErrorCheck) if self.words.inherits() && self.words.is_mine() => EDEADLK,
            MutexImpl::Libc | MutexImpl::Inheriting(_) => self.words.libc_trylock(),
            MutexImpl::Lock(_, Type::Recursive) if self.words.is_mine() => self.lock_again(),
            MutexImpl::Lock(algorithm, of) => match (algorithm.try_lock)(self.words) {
                true => self.enter(algorithm, of, Waited::No, MutexLayout::libc_trylock).code,
                false => EBUSY,
            },
        }
    }

    /// pthread_mutex_clocklock(3), and pthread_mutex_timedlock(3) with CLOCK_REALTIME.
    pub fn lock_until(self, deadline: Deadline) -> Acquisition {
        let (algorithm, of) = match *self.served_by {
            MutexImpl::Lock(algorithm, of) => (algorithm, of),
            MutexImpl::Libc => {
                // SAFETY: `Deadline::new`'s promise.
                let code = unsafe { self.words.libc_clocklock(deadline.clock, deadline.until) };
                return Acquisition::by_libc(code);
            }
            MutexImpl::Inheriting(_) => return Acquisition::by_libc(self.inherit_until(deadline)),
        };
        let Some(clock) = clock_of(deadline.clock) else { return Acquisition::failed(EINVAL) };
        if let Some(acquisition) = self.owned(of) {
            return acquisition;
        }
        // SAFETY: `Deadline::new`'s promise.
        let in_libc = |words: &MutexLayout| unsafe { words.libc_clocklock(deadline.clock, deadline.until) };
        if (algorithm.try_lock)(self.words) {
            return self.enter(algorithm, of, Waited::No, in_libc);
        }
        let Some(until) = deadline.read(clock) else { return Acquisition::failed(EINVAL) };
        match (algorithm.lock_until)(self.words, until) {
            Some(waited) => self.enter(algorithm, of, waited, in_libc),
            None => Acquisition::failed(ETIMEDOUT),
        }
    }

    /// libc's wait with a deadline, for a mutex with priority inheritance that the program has not requested. A time
    /// before the clock's zero is malformed for the kernel's PI futexes. For all other mutexes it is a deadline that has
    /// passed. So zero replaces it.
    fn inherit_until(self, Deadline { clock, until }: Deadline) -> c_int {
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
        match *self.served_by {
            MutexImpl::Libc => self.words.libc_unlock(),
            _ => self.unlock_planned(),
        }
    }

    fn unlock_planned(self) -> c_int {
        let (algorithm, of) = match *self.served_by {
            MutexImpl::Lock(algorithm, of) => (algorithm, of),
            MutexImpl::Inheriting(Type::Normal) if self.words.seize() => return 0,
            MutexImpl::Libc | MutexImpl::Inheriting(_) => return self.words.libc_unlock(),
        };
        if self.is_libcs_by_now(algorithm) {
            return self.words.libc_unlock();
        }
        match self.leave(algorithm, of) {
            Leave::Refused => EPERM,
            Leave::Deep => 0,
            Leave::Free => {
                self.words.disown();
                // SAFETY: the program releases the mutex; a thread that releases a lock that another thread holds is
                // responsible for the result.
                unsafe { (algorithm.unlock)(self.words) };
                0
            }
        }
    }

    /// The release at the beginning of a wait for a condition: the thread stays one of the users, so that
    /// pthread_mutex_destroy(3) answers EBUSY meanwhile.
    pub fn unlock_to_wait(self) -> Released {
        let MutexImpl::Lock(algorithm, of) = *self.served_by else { return self.unlock_libcs_to_wait() };
        let code = match self.leave(algorithm, of) {
            Leave::Refused => EPERM,
            // As with libc: the thread still holds the mutex while it waits.
            Leave::Deep => 0,
            Leave::Free => {
                self.words.disown_for_now();
                // SAFETY: as in `unlock_planned`.
                unsafe { (algorithm.unlock)(self.words) };
                0
            }
        };
        Released { code, is_user_of_libcs: false }
    }

    /// The same for a mutex that libc serves. libc's own waits keep the count of users, but its unlock lowers it.
    fn unlock_libcs_to_wait(self) -> Released {
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

    /// One attempt at the end of a wait for a condition, after [`unlock_to_wait`](Self::unlock_to_wait). A replaced
    /// mutex is not tried: [`lock_after_wait`](Self::lock_after_wait) acquires it.
    pub fn try_after_wait(self) -> Tried {
        if self.is_replaced() { Tried::Untried } else { self.try_libcs() }
    }

    /// The thread, which counted as a user of libc's mutex during a wait, has acquired the mutex, and so counts twice.
    pub fn count_once(self) {
        self.words.remove_user();
    }

    /// Whether the thread owns a mutex that it cannot have kept from before a wait for a condition.
    pub fn is_locked_since_wait(self) -> bool {
        !self.words.is_recursive() && self.words.is_mine()
    }

    /// The acquisition at the end of a wait for a condition. `others` wakes the threads that are to be woken after this
    /// thread has the mutex. If the acquisition takes longer than [`SOON`], it wakes them before. It takes long if all
    /// other threads are faster; then the thread that is woken last would wait for as long as all threads before it
    /// together.
    pub fn lock_after_wait(self, others: Option<impl FnOnce()>) -> Acquisition {
        let MutexImpl::Lock(algorithm, of) = *self.served_by else {
            if let Some(wake) = others {
                wake()
            }
            return Acquisition::by_libc(self.words.libc_lock());
        };
        if let Some(acquisition) = self.owned(of) {
            if let Some(wake) = others {
                wake()
            }
            return acquisition;
        }
        let in_time = match &others {
            Some(_) if !(algorithm.try_lock)(self.words) => {
                (algorithm.lock_until)(self.words, Until::after(SOON))
            }
            Some(_) => Some(Waited::No),
            None => Some((algorithm.lock)(self.words)),
        };
        let (waited, others) = match in_time {
            Some(waited) => (waited, others),
            None => {
                if let Some(wake) = others {
                    wake()
                }
                ((algorithm.lock)(self.words), None)
            }
        };
        if bypass::exists() {
            if let Some(wake) = others {
                wake()
            }
            let code = move_to_libc(self.words, algorithm, MutexLayout::libc_lock);
            // libc counts the thread as one more user, but it has stayed one during its wait.
            self.count_once();
            return Acquisition::by_libc(code);
        }
        self.words.own_again(current_tid());
        if of == Type::Recursive {
            self.words.set_depth(1);
        }
        if let Some(wake) = others {
            wake()
        }
        Acquisition::done(waited)
    }

    /// Hands the mutex, which the calling thread holds, to libc: for libc's wait for a condition. A mutex that checks its
    /// owner, and is not the thread's, is left as it is: libc's wait refuses it (EPERM), as it compares the same word.
    pub fn hand_to_libc(self) {
        let MutexImpl::Lock(algorithm, of) = *self.served_by else { return };
        let check = match of {
            Type::Normal => OwnerCheck::None,
            Type::Recursive => OwnerCheck::Owner,
            Type::ErrorCheck => OwnerCheck::LockedAndOwner,
        };
        let replaced = Replaced { words: self.words, algorithm };
        two_locks::move_held_to_libc(replaced, check, &bypass::HAND_OVER, || self.words.libc_lock());
    }

    /// [`two_locks::is_libcs_by_now`].
    fn is_libcs_by_now(self, algorithm: &Algorithm) -> bool {
        two_locks::is_libcs_by_now(Replaced { words: self.words, algorithm }, &bypass::HAND_OVER)
    }

    /// The answer to a thread that acquires a mutex which it owns already. `None` if it does not own it, or if the mutex
    /// is normal, as that type does not check.
    fn owned(self, of: Type) -> Option<Acquisition> {
        match of {
            Type::Normal => None,
            _ if !self.words.is_mine() => None,
            Type::Recursive => Some(Acquisition::failed(self.lock_again())),
            Type::ErrorCheck => Some(Acquisition::failed(EDEADLK)),
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
    fn enter(
        self,
        algorithm: &Algorithm,
        of: Type,
        waited: Waited,
        in_libc: impl FnOnce(&MutexLayout) -> c_int,
    ) -> Acquisition {
        if bypass::exists() {
            return Acquisition::by_libc(move_to_libc(self.words, algorithm, in_libc));
        }
        self.words.own(current_tid());
        if of == Type::Recursive {
            self.words.set_depth(1);
        }
        Acquisition::done(waited)
    }

    /// To be called before a release: what it does.
    fn leave(self, algorithm: &Algorithm, of: Type) -> Leave {
        match of {
            Type::Normal => Leave::Free,
            _ if !self.words.is_mine() => Leave::Refused,
            Type::ErrorCheck if !(algorithm.is_locked)(self.words) => Leave::Refused,
            Type::ErrorCheck => Leave::Free,
            Type::Recursive => {
                self.words.set_depth(self.words.depth().wrapping_sub(1));
                if self.words.depth() == 0 { Leave::Free } else { Leave::Deep }
            }
        }
    }
}

/// What a release does.
enum Leave {
    /// Nothing: the thread does not own the mutex.
    Refused,
    /// The depth decreases: the thread has acquired the mutex more often than it has released it.
    Deep,
    /// The lock must be released.
    Free,
}

/// The clock for a wait; `None` if waits do not support it.
pub fn clock_of(clock: clockid_t) -> Option<Clock> {
    match clock {
        libc::CLOCK_REALTIME => Some(Clock::Realtime),
        libc::CLOCK_MONOTONIC => Some(Clock::Monotonic),
        _ => None,
    }
}

/// A point in time; `None` if it is malformed. A time before the clock's zero becomes zero: it has passed.
///
/// # Safety
/// `until` points to a live time.
pub unsafe fn time(clock: Clock, until: *const timespec) -> Option<Until> {
    // SAFETY: the caller's promise.
    let timespec { tv_sec, tv_nsec } = unsafe { *until };
    let nanoseconds = u32::try_from(tv_nsec).ok().filter(|&n| n < 1_000_000_000)?;
    let at = u64::try_from(tv_sec).map_or(Duration::ZERO, |seconds| Duration::new(seconds, nanoseconds));
    Some(Until { clock, at })
}
