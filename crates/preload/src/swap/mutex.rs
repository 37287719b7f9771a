//! The mutex operations of a program, carried out by the lock that replaces the mutex, or by libc.
//!
//! The return values are glibc's (nptl/pthread_mutex_lock.c, _trylock.c, _timedlock.c, _unlock.c). The owner of a
//! recursive or errorcheck mutex is compared first. A deadline is read only if the thread must wait. A normal mutex is
//! not checked for its owner.

use super::algorithm::{Algorithm, Fast};
use super::body::Body;
use super::mark::{Mark, Nature, Type};
use super::plan;
use super::server::Server;
use crate::pthread::{layout, real};
use crate::waits::{Ended, Look, Wait};
use crate::watch::Hook;
use core::ffi::c_int;
use core::time::Duration;
use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT, clockid_t, pthread_mutex_t, timespec};
use unspin_locks::{Clock, RawLock, Until, Waited};
use unspin_waiting::CheckKind;

/// The result of an acquisition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// 0, or an error number.
    pub code: c_int,
    /// How the thread waited, if that is known: libc does not tell.
    pub waited: Option<Waited>,
}

impl Answer {
    /// The answer of libc.
    #[inline(always)]
    fn of_libc(code: c_int) -> Answer {
        Answer { code, waited: None }
    }

    /// The thread has acquired the mutex.
    pub fn acquired(waited: Waited) -> Answer {
        Answer { code: 0, waited: Some(waited) }
    }

    fn refused(code: c_int) -> Answer {
        Answer { code, waited: None }
    }
}

/// Acquires a free mutex of the most frequent kind ([`Mark::FAST`]). Returns whether it did; if not, the caller must
/// call [`lock`].
///
/// # Safety
/// `mutex` is live.
#[inline(always)]
pub unsafe fn lock_at_once(mutex: *const pthread_mutex_t) -> bool {
    // SAFETY: the caller's promise.
    let body = unsafe { Body::of(mutex) };
    let is_locked = body.mark() == Mark::FAST && body.lock::<Fast>().try_lock();
    if is_locked {
        body.own();
    }
    is_locked
}

/// Releases a mutex of the most frequent kind ([`Mark::FAST`]). Returns whether it did; if not, the caller must call
/// [`unlock`].
///
/// # Safety
/// `mutex` is live. The calling thread holds it, or releases it for another thread.
#[inline(always)]
pub unsafe fn unlock_at_once(mutex: *const pthread_mutex_t) -> bool {
    // SAFETY: the caller's promise.
    let body = unsafe { Body::of(mutex) };
    if body.mark() != Mark::FAST {
        return false;
    }
    body.disown();
    // SAFETY: the caller's promise.
    unsafe { body.lock::<Fast>().unlock() };
    true
}

/// Whether libc serves the mutex. Only the fast part of the decision: false if more work is needed.
///
/// # Safety
/// `mutex` is live.
#[inline(always)]
pub unsafe fn is_libcs(mutex: *const pthread_mutex_t) -> bool {
    // SAFETY: the caller's promise.
    let body = unsafe { Body::of(mutex) };
    plan::is_off() || body.mark() == Mark::LIBC || body.nature() == Nature::Other
}

/// Whether one of our locks replaces the mutex.
///
/// # Safety
/// `mutex` is live.
pub unsafe fn is_replaced(mutex: *const pthread_mutex_t, hook: Hook) -> bool {
    // SAFETY: the caller's promise.
    matches!(unsafe { served(mutex, hook) }.1, Server::Lock(..))
}

/// pthread_mutex_lock(3).
///
/// # Safety
/// `mutex` is live.
pub unsafe fn lock(mutex: *mut pthread_mutex_t, hook: Hook) -> Answer {
    // SAFETY: the caller's promise.
    let (body, server) = unsafe { served(mutex, hook) };
    match server {
        // SAFETY: the caller's promise.
        Server::Libc | Server::Inheriting(_) => unsafe { lock_libcs(mutex, hook) },
        Server::Lock(algorithm, of) => {
            owned(body, of).unwrap_or_else(|| enter(body, of, Some((algorithm.lock)(body))))
        }
    }
}

/// pthread_mutex_lock(3) of a mutex that libc serves. If waits poll, the thread polls before it sleeps.
///
/// # Safety
/// `mutex` is live.
#[inline(always)]
pub unsafe fn lock_libcs(mutex: *mut pthread_mutex_t, hook: Hook) -> Answer {
    // SAFETY: the caller's promise.
    unsafe {
        match layout::has_owner(mutex) && plan::is_polling() {
            true => poll_for_libcs(mutex, hook),
            false => Answer::of_libc(real::mutex_lock(mutex)),
        }
    }
}

/// Polls for a mutex that libc serves, then calls libc.
///
/// # Safety
/// `mutex` is live.
#[inline(never)]
unsafe fn poll_for_libcs(mutex: *mut pthread_mutex_t, hook: Hook) -> Answer {
    // SAFETY: the caller's promise.
    unsafe {
        // The thread must not poll for a mutex that it owns already: libc counts, refuses, or waits for ever.
        if Body::of(mutex).is_mine() {
            return Answer::of_libc(real::mutex_lock(mutex));
        }
        let wait = Wait::begin(hook);
        let look = || match try_libcs(mutex) {
            Tried::Acquired => Look::Found(Answer::acquired(Waited::Spun)),
            Tried::Taken => Look::Nothing,
            Tried::Untried => Look::Found(Answer::of_libc(real::mutex_lock(mutex))),
        };
        if let Ended::Found(answer) = wait.poll(CheckKind::Load, look, |_| None) {
            return answer;
        }
        let code = real::mutex_lock(mutex);
        wait.slept();
        Answer::of_libc(code)
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

/// Acquires a mutex that libc serves, if it is free. glibc's trylock of a robust mutex that is not recoverable leaves
/// it locked for ever. So a robust mutex that is free is not tried.
///
/// # Safety
/// `mutex` is live.
unsafe fn try_libcs(mutex: *mut pthread_mutex_t) -> Tried {
    // SAFETY: the caller's promise.
    unsafe {
        if layout::has_owner(mutex) {
            return Tried::Taken;
        }
        if layout::is_robust(mutex) {
            return Tried::Untried;
        }
        match real::mutex_trylock(mutex) {
            0 => Tried::Acquired,
            EBUSY => Tried::Taken,
            _ => Tried::Untried,
        }
    }
}

/// One attempt to acquire a mutex at the end of a wait for a condition. A replaced mutex is not tried:
/// [`lock_after_wait`] acquires it.
///
/// # Safety
/// `mutex` is live, and [`unlock_to_wait`] has released it.
pub unsafe fn try_after_wait(mutex: *mut pthread_mutex_t, hook: Hook) -> Tried {
    // SAFETY: the caller's promise.
    unsafe {
        match served(mutex, hook).1 {
            Server::Lock(..) => Tried::Untried,
            Server::Libc | Server::Inheriting(_) => try_libcs(mutex),
        }
    }
}

/// pthread_mutex_trylock(3).
///
/// # Safety
/// `mutex` is live.
pub unsafe fn trylock(mutex: *mut pthread_mutex_t, hook: Hook) -> c_int {
    // SAFETY: the caller's promise.
    let (body, server) = unsafe { served(mutex, hook) };
    match server {
        // If the calling thread owns an errorcheck mutex, glibc's trylock returns EBUSY; but EDEADLK if the program has
        // chosen PTHREAD_PRIO_INHERIT.
        Server::Inheriting(Type::ErrorCheck) if body.is_mine() => EBUSY,
        Server::Lock(_, Type::ErrorCheck) if body.inherits() && body.is_mine() => EDEADLK,
        // SAFETY: the caller's promise.
        Server::Libc | Server::Inheriting(_) => unsafe { real::mutex_trylock(mutex) },
        Server::Lock(_, Type::Recursive) if body.is_mine() => deeper(body),
        Server::Lock(algorithm, of) => {
            let waited = (algorithm.try_lock)(body).then_some(Waited::No);
            enter_or(body, of, waited, EBUSY).code
        }
    }
}

/// pthread_mutex_clocklock(3), and pthread_mutex_timedlock(3) with CLOCK_REALTIME.
///
/// # Safety
/// `mutex` is live. `until` is live, unless the mutex is free.
pub unsafe fn clocklock(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
    hook: Hook,
) -> Answer {
    // SAFETY: the caller's promise.
    let (body, server) = unsafe { served(mutex, hook) };
    let (algorithm, of) = match server {
        Server::Lock(algorithm, of) => (algorithm, of),
        // SAFETY: the caller's promise.
        Server::Libc => return Answer::of_libc(unsafe { libc_clocklock(mutex, clock, until) }),
        // SAFETY: as above.
        Server::Inheriting(_) => return Answer::of_libc(unsafe { inherit_until(mutex, clock, until) }),
    };
    let Some(clock) = clock_of(clock) else { return Answer::refused(EINVAL) };
    if let Some(answer) = owned(body, of) {
        return answer;
    }
    if (algorithm.try_lock)(body) {
        return enter(body, of, Some(Waited::No));
    }
    // SAFETY: the caller's promise, as the mutex is not free.
    match unsafe { time(clock, until) } {
        Some(until) => enter_or(body, of, (algorithm.lock_until)(body, until), ETIMEDOUT),
        None => Answer::refused(EINVAL),
    }
}

/// libc's wait with a deadline.
///
/// # Safety
/// As for [`clocklock`].
unsafe fn libc_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match clock {
            libc::CLOCK_REALTIME => real::mutex_timedlock(mutex, until),
            clock => real::mutex_clocklock(mutex, clock, until),
        }
    }
}

/// The same for a mutex with priority inheritance that the program has not requested. A time before the clock's zero is
/// malformed for the kernel's PI futexes. For all other mutexes it is a deadline that has passed. So zero replaces it.
///
/// # Safety
/// As for [`clocklock`].
unsafe fn inherit_until(mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec) -> c_int {
    // SAFETY: the caller's promise; the time is read only if the mutex is not free.
    unsafe {
        if real::mutex_trylock(mutex) == 0 {
            return 0;
        }
        let zero = timespec { tv_sec: 0, tv_nsec: (*until).tv_nsec };
        libc_clocklock(mutex, clock, if (*until).tv_sec < 0 { &zero } else { until })
    }
}

/// pthread_mutex_unlock(3).
///
/// # Safety
/// `mutex` is live.
pub unsafe fn unlock(mutex: *mut pthread_mutex_t, hook: Hook) -> c_int {
    // SAFETY: the caller's promise.
    let (body, server) = unsafe { served(mutex, hook) };
    let (algorithm, of) = match server {
        Server::Lock(algorithm, of) => (algorithm, of),
        Server::Inheriting(Type::Normal) if body.seize() => return 0,
        // SAFETY: the caller's promise.
        Server::Libc | Server::Inheriting(_) => return unsafe { real::mutex_unlock(mutex) },
    };
    match leave(body, algorithm, of) {
        Leave::Refused => EPERM,
        Leave::Deep => 0,
        Leave::Free => {
            body.disown();
            // SAFETY: the caller's promise; a thread that releases a lock that another thread holds is responsible for
            // the result.
            unsafe { (algorithm.unlock)(body) };
            0
        }
    }
}

/// How a mutex was released at the beginning of a wait for a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Released {
    /// 0, or the error number of a mutex that was not released.
    pub code: c_int,
    /// Whether libc serves the mutex, and the thread counts as one of its users during the wait.
    pub is_user_of_libcs: bool,
}

/// The release at the beginning of a wait for a condition: the thread stays one of the users, so that
/// pthread_mutex_destroy(3) answers EBUSY meanwhile.
///
/// # Safety
/// A live mutex.
pub unsafe fn unlock_to_wait(mutex: *mut pthread_mutex_t, hook: Hook) -> Released {
    // SAFETY: the caller's promise.
    let (body, server) = unsafe { served(mutex, hook) };
    let Server::Lock(algorithm, of) = server else {
        // SAFETY: the caller's promise.
        return unsafe { unlock_libcs_to_wait(body, mutex, hook) };
    };
    let code = match leave(body, algorithm, of) {
        Leave::Refused => EPERM,
        // As with libc: the thread still holds the mutex while it waits.
        Leave::Deep => 0,
        Leave::Free => {
            body.disown_for_now();
            // SAFETY: as in `unlock`.
            unsafe { (algorithm.unlock)(body) };
            0
        }
    };
    Released { code, is_user_of_libcs: false }
}

/// The same for a mutex that libc serves. libc's own waits keep the count of users, but its unlock lowers it.
///
/// # Safety
/// A live mutex.
unsafe fn unlock_libcs_to_wait(body: &Body, mutex: *mut pthread_mutex_t, hook: Hook) -> Released {
    // A recursive mutex that the thread has locked more than once stays locked.
    let is_user = body.is_mine() && body.depth() <= 1;
    if is_user {
        body.add_user();
    }
    // SAFETY: the caller's promise.
    let code = unsafe { unlock(mutex, hook) };
    if is_user && code != 0 {
        body.remove_user();
    }
    Released { code, is_user_of_libcs: is_user && code == 0 }
}

/// The thread, which counted as a user of libc's mutex during a wait, has acquired the mutex, and so counts twice.
///
/// # Safety
/// A live mutex that libc serves and that the thread owns.
pub unsafe fn count_once(mutex: *mut pthread_mutex_t) {
    // SAFETY: the caller's promise.
    unsafe { Body::of(mutex) }.remove_user();
}

/// Whether the thread owns a mutex that it cannot have kept from before a wait for a condition.
///
/// # Safety
/// A live mutex.
pub unsafe fn is_locked_since_wait(mutex: *mut pthread_mutex_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { layout::kind(mutex) != layout::Kind::Recursive && Body::of(mutex).is_mine() }
}

/// The acquisition at the end of a wait for a condition. `others` wakes the threads that are to be woken after this
/// thread has the mutex. If the acquisition takes longer than [`SOON`], it wakes them before. It takes long if all
/// other threads are faster; then the thread that is woken last would wait for as long as all threads before it
/// together.
///
/// # Safety
/// `mutex` is live, and [`unlock_to_wait`] has released it.
pub unsafe fn lock_after_wait(
    mutex: *mut pthread_mutex_t,
    hook: Hook,
    others: Option<impl FnOnce()>,
) -> Answer {
    // SAFETY: the caller's promise.
    let (body, server) = unsafe { served(mutex, hook) };
    let Server::Lock(algorithm, of) = server else {
        if let Some(wake) = others {
            wake()
        }
        // SAFETY: the caller's promise.
        return Answer::of_libc(unsafe { real::mutex_lock(mutex) });
    };
    if let Some(answer) = owned(body, of) {
        if let Some(wake) = others {
            wake()
        }
        return answer;
    }
    let in_time = match &others {
        Some(_) if !(algorithm.try_lock)(body) => (algorithm.lock_until)(body, Until::after(SOON)),
        Some(_) => Some(Waited::No),
        None => Some((algorithm.lock)(body)),
    };
    let (waited, others) = match in_time {
        Some(waited) => (waited, others),
        None => {
            if let Some(wake) = others {
                wake()
            }
            ((algorithm.lock)(body), None)
        }
    };
    body.own_again();
    if of == Type::Recursive {
        body.set_depth(1);
    }
    if let Some(wake) = others {
        wake()
    }
    Answer::acquired(waited)
}

/// Longer than most mutexes are held. The kernel's timer slack adds some fifty microseconds.
const SOON: Duration = Duration::from_micros(30);

/// The body of a mutex, and the implementation that serves it.
///
/// # Safety
/// `mutex` is live.
#[inline]
unsafe fn served<'mutex>(mutex: *const pthread_mutex_t, hook: Hook) -> (&'mutex Body, Server) {
    // SAFETY: the caller's promise.
    unsafe {
        let body = Body::of(mutex);
        (body, Server::of(body, mutex, hook))
    }
}

/// The answer to a thread that acquires a mutex which it owns already. `None` if it does not own it, or if the mutex is
/// normal, as that type does not check.
fn owned(body: &Body, of: Type) -> Option<Answer> {
    match of {
        Type::Normal => None,
        _ if !body.is_mine() => None,
        Type::Recursive => Some(Answer::refused(deeper(body))),
        Type::ErrorCheck => Some(Answer::refused(EDEADLK)),
    }
}

/// Counts another acquisition by the owner.
fn deeper(body: &Body) -> c_int {
    match body.depth().checked_add(1) {
        Some(depth) => {
            body.set_depth(depth);
            0
        }
        None => EAGAIN,
    }
}

fn enter_or(body: &Body, of: Type, waited: Option<Waited>, otherwise: c_int) -> Answer {
    match waited {
        Some(_) => enter(body, of, waited),
        None => Answer::refused(otherwise),
    }
}

/// To be called after the thread has acquired the lock: notes the owner.
fn enter(body: &Body, of: Type, waited: Option<Waited>) -> Answer {
    body.own();
    if of == Type::Recursive {
        body.set_depth(1);
    }
    Answer { code: 0, waited }
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

fn leave(body: &Body, algorithm: &Algorithm, of: Type) -> Leave {
    match of {
        Type::Normal => Leave::Free,
        _ if !body.is_mine() => Leave::Refused,
        Type::ErrorCheck if !(algorithm.is_locked)(body) => Leave::Refused,
        Type::ErrorCheck => Leave::Free,
        Type::Recursive => {
            body.set_depth(body.depth().wrapping_sub(1));
            if body.depth() == 0 { Leave::Free } else { Leave::Deep }
        }
    }
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
