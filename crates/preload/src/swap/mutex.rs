//! What a program does with a mutex, done with the lock that it was replaced by, or by libc.
//!
//! The answers are glibc's (nptl/pthread_mutex_lock.c, _trylock.c, _timedlock.c, _unlock.c): who owns a recursive or
//! errorcheck mutex is compared first, a time is looked at only by those who must wait, and a normal mutex asks nobody
//! anything.

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
use unspin_waiting::Looks;

/// How an acquisition went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// 0, or an error number.
    pub code: c_int,
    /// How it was waited for, where that is known: libc does not tell.
    pub waited: Option<Waited>,
}

impl Answer {
    /// Of libc.
    #[inline(always)]
    fn of_libc(code: c_int) -> Answer {
        Answer { code, waited: None }
    }

    /// The thread has it.
    pub fn acquired(waited: Waited) -> Answer {
        Answer { code: 0, waited: Some(waited) }
    }

    fn refused(code: c_int) -> Answer {
        Answer { code, waited: None }
    }
}

/// Acquires a free mutex of the kind that most are, and says whether it did. For what it does not, see [`lock`].
///
/// # Safety
/// A live mutex.
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

/// Releases a mutex of the kind that most are, and says whether it did.
///
/// # Safety
/// A live mutex, which the thread holds or releases for another.
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

/// Whether it is settled that libc serves it, as far as can be told at once.
///
/// # Safety
/// A live mutex.
#[inline(always)]
pub unsafe fn is_libcs(mutex: *const pthread_mutex_t) -> bool {
    // SAFETY: the caller's promise.
    let body = unsafe { Body::of(mutex) };
    plan::is_off() || body.mark() == Mark::LIBC || body.nature() == Nature::Other
}

/// Whether it is a lock of ours.
///
/// # Safety
/// A live mutex.
pub unsafe fn is_replaced(mutex: *const pthread_mutex_t, hook: Hook) -> bool {
    // SAFETY: the caller's promise.
    matches!(unsafe { served(mutex, hook) }.1, Server::Lock(..))
}

/// pthread_mutex_lock(3).
///
/// # Safety
/// A live mutex.
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

/// pthread_mutex_lock(3) of a mutex that libc serves. Where waits poll, the thread polls for it before it sleeps.
///
/// # Safety
/// A live mutex.
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

/// # Safety
/// A live mutex.
#[inline(never)]
unsafe fn poll_for_libcs(mutex: *mut pthread_mutex_t, hook: Hook) -> Answer {
    // SAFETY: the caller's promise.
    unsafe {
        // What the thread owns already is not to be waited for: libc counts, refuses, or waits for ever.
        if Body::of(mutex).is_mine() {
            return Answer::of_libc(real::mutex_lock(mutex));
        }
        let wait = Wait::begin(hook);
        let look = || match try_libcs(mutex) {
            Tried::Acquired => Look::Found(Answer::acquired(Waited::Spun)),
            Tried::Taken => Look::Nothing,
            Tried::Untried => Look::Found(Answer::of_libc(real::mutex_lock(mutex))),
        };
        if let Ended::Found(answer) = wait.poll(Looks::Load, look, |_| None) {
            return answer;
        }
        let code = real::mutex_lock(mutex);
        wait.slept();
        Answer::of_libc(code)
    }
}

/// One attempt at a mutex that libc serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tried {
    /// The thread has it.
    Acquired,
    /// Another thread has it.
    Taken,
    /// Only a call that may block can tell.
    Untried,
}

/// Acquires a mutex that libc serves, if it is free. glibc's trylock of a robust mutex that is not recoverable leaves it
/// locked for good: where such a mutex is free, it is not tried.
///
/// # Safety
/// A live mutex.
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

/// The acquisition at the end of a wait for a condition, if the mutex is free: one attempt. Not of a mutex that was
/// replaced, which has its own way: [`lock_after_wait`].
///
/// # Safety
/// A live mutex, that [`unlock_to_wait`] released.
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
/// A live mutex.
pub unsafe fn trylock(mutex: *mut pthread_mutex_t, hook: Hook) -> c_int {
    // SAFETY: the caller's promise.
    let (body, server) = unsafe { served(mutex, hook) };
    match server {
        // To try what one has is no error of an errorcheck mutex, but for one that inherits.
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
/// A live mutex and, unless the mutex is free, a live time.
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

/// The same for a mutex that inherits without its program's knowledge. A time before the clock's zero is malformed to the
/// kernel's queue, and over to all others.
///
/// # Safety
/// As for [`clocklock`].
unsafe fn inherit_until(mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec) -> c_int {
    // SAFETY: the caller's promise; the time is looked at only where the mutex is not free.
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
/// A live mutex.
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
            // SAFETY: the caller's promise; whoever releases another's takes upon himself what follows.
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
        // As with libc: the thread waits and keeps the mutex.
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

/// The acquisition at the end of a wait for a condition. Where others are to be woken once this thread has the mutex, `others`
/// does that; and before, if that takes long, as it does where everybody else is faster: who comes last would wait for as long
/// as all before him together.
///
/// # Safety
/// A live mutex, that [`unlock_to_wait`] released.
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

/// Longer than most mutexes are held. The kernel makes some fifty microseconds more of it.
const SOON: Duration = Duration::from_micros(30);

/// # Safety
/// A live mutex.
#[inline]
unsafe fn served<'mutex>(mutex: *const pthread_mutex_t, hook: Hook) -> (&'mutex Body, Server) {
    // SAFETY: the caller's promise.
    unsafe {
        let body = Body::of(mutex);
        (body, Server::of(body, mutex, hook))
    }
}

/// The answer to a thread that acquires what it has; none if it has it not, or is not asked.
fn owned(body: &Body, of: Type) -> Option<Answer> {
    match of {
        Type::Normal => None,
        _ if !body.is_mine() => None,
        Type::Recursive => Some(Answer::refused(deeper(body))),
        Type::ErrorCheck => Some(Answer::refused(EDEADLK)),
    }
}

/// One more acquisition by the owner.
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

/// The lock is the thread's.
fn enter(body: &Body, of: Type, waited: Option<Waited>) -> Answer {
    body.own();
    if of == Type::Recursive {
        body.set_depth(1);
    }
    Answer { code: 0, waited }
}

/// What becomes of a release.
enum Leave {
    /// Nothing: the thread has not got it.
    Refused,
    /// The thread has acquired it more often.
    Deep,
    /// The lock is to be released.
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

/// A clock that can be waited by.
pub fn clock_of(clock: clockid_t) -> Option<Clock> {
    match clock {
        libc::CLOCK_REALTIME => Some(Clock::Realtime),
        libc::CLOCK_MONOTONIC => Some(Clock::Monotonic),
        _ => None,
    }
}

/// A point in time; none if it is malformed. What lies before the clock's zero has come.
///
/// # Safety
/// A live time.
pub unsafe fn time(clock: Clock, until: *const timespec) -> Option<Until> {
    // SAFETY: the caller's promise.
    let timespec { tv_sec, tv_nsec } = unsafe { *until };
    let nanoseconds = u32::try_from(tv_nsec).ok().filter(|&n| n < 1_000_000_000)?;
    let at = u64::try_from(tv_sec).map_or(Duration::ZERO, |seconds| Duration::new(seconds, nanoseconds));
    Some(Until { clock, at })
}
