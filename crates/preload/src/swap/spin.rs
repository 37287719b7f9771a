//! The spin lock operations of a program, carried out by libc or by the lock that replaces the spin lock.
//!
//! The decision is made at pthread_spin_init(3), and the value of the lock tells it from then on: that of a free lock of ours
//! is none of libc's ([`unspin_locks::spin`]). So a lock that is not replaced keeps libc's values, and a lock that a
//! program initialises by other means, or shares between processes, is libc's. No operation needs the plan, except that a
//! process without lines for spin locks calls libc at once.
//!
//! libc's lock works in the same word. So code that [bypasses](crate::bypass) the hooks excludes our threads and is
//! excluded by them. Once there is such code, each release leaves the lock to libc. (Before that, its trylock finds a
//! free lock of ours busy.) A thread that must make no [system call](crate::sandbox) uses libc's lock where it would have to
//! sleep.

use super::acquisition::Acquisition;
use super::decision::{self, Effect, Occasion};
use super::own_tally;
use super::plan::{self, LockFamily};
use crate::glibc::spin::SpinLockLayout;
use crate::watch::Hook;
use crate::{bypass, sandbox};
use core::ffi::c_int;
use libc::{EBUSY, PTHREAD_PROCESS_PRIVATE};
use unspin_locks::spin::{Attempted, FreeAs, Sleepers};
use unspin_locks::{AdaptiveSpin, SpinKind, Waited};

/// To be called after libc has initialised a lock that no other thread uses yet: decides on its implementation.
#[inline(always)]
pub fn decide_at_init(lock: &SpinLockLayout, shared: c_int, hook: Hook) {
    if plan::replaces_spin_locks() {
        decide(lock, shared, hook);
    }
}

#[cold]
fn decide(lock: &SpinLockLayout, shared: c_int, hook: Hook) {
    if bypass::exists() {
        return;
    }
    let decision = decision::decide::<SpinKind>(&raw const *lock as usize, Occasion::Initialisation, hook);
    let effect = match decision.kind {
        SpinKind::System => Effect::Replaced,
        SpinKind::Adaptive if shared != PTHREAD_PROCESS_PRIVATE => Effect::StaysLibcs,
        SpinKind::Adaptive => {
            lock.lock_in_place().init();
            Effect::Replaced
        }
    };
    decision.count(effect);
}

/// Whether one of our locks replaces this one.
pub fn is_replaced(lock: &SpinLockLayout) -> bool {
    plan::may_replace_spin_locks() && !lock.lock_in_place().is_libcs()
}

/// pthread_spin_lock(3).
#[inline(always)]
pub fn lock(lock: &SpinLockLayout) -> c_int {
    if !plan::may_replace_spin_locks() {
        return lock.libc_lock();
    }
    match lock.lock_in_place().try_lock() {
        Attempted::Acquired => 0,
        Attempted::Libcs => lock.libc_lock(),
        Attempted::Held => lock_held(lock),
    }
}

#[cold]
#[inline(never)]
fn lock_held(lock: &SpinLockLayout) -> c_int {
    wait(lock).code
}

/// pthread_spin_lock(3) of a lock that was held, and is possibly libc's by now.
pub fn wait(lock: &SpinLockLayout) -> Acquisition {
    let waited = if sandbox::is_closed() { None } else { lock.lock_in_place().lock() };
    match waited {
        Some(waited) => {
            own_tally::note(LockFamily::Spin, waited);
            Acquisition::success(waited)
        }
        // libc's waiters spin.
        None => Acquisition { code: lock.libc_lock(), waited: Some(Waited::Spun) },
    }
}

/// pthread_spin_trylock(3).
#[inline(always)]
pub fn trylock(lock: &SpinLockLayout) -> c_int {
    if !plan::may_replace_spin_locks() {
        return lock.libc_trylock();
    }
    match lock.lock_in_place().try_lock() {
        Attempted::Acquired => 0,
        Attempted::Libcs => lock.libc_trylock(),
        Attempted::Held => EBUSY,
    }
}

/// pthread_spin_unlock(3).
#[inline(always)]
pub fn unlock(lock: &SpinLockLayout) -> c_int {
    if !plan::may_replace_spin_locks() {
        return lock.libc_unlock();
    }
    // A thread that has loaded such code, or was told of it, sees that. Another one leaves the lock as one of ours, for which
    // that code waits too, and the next release does not.
    let to = if bypass::exists() { FreeAs::Libcs } else { FreeAs::Ours };
    // SAFETY: the program releases the lock; a thread that releases a lock that another thread holds is responsible for the
    // result.
    match unsafe { lock.lock_in_place().release(to) } {
        Some(Sleepers::None) => 0,
        Some(sleepers) => wake(lock, sleepers),
        None => lock.libc_unlock(),
    }
}

/// Wakes the sleepers of a lock that was released, whose memory may be gone. Where system calls are forbidden, they sleep
/// until their limit: no thread has begun to sleep since.
#[cold]
#[inline(never)]
fn wake(lock: *const SpinLockLayout, sleepers: Sleepers) -> c_int {
    if !sandbox::is_closed() {
        AdaptiveSpin::wake(lock.cast(), sleepers);
    }
    0
}
