//! Spin locks. A waiting thread burns CPU time. The time during which it waits without a CPU is recorded separately. Of a
//! lock that is [replaced](crate::swap::spin) the meter is told how the thread waited.

use super::attempt::{Attempt, HowWaited, Release, WaitLimit, record_init};
use super::holder::Holder;
use crate::glibc::spin::SpinLockLayout;
use crate::next::forward;
use crate::swap::acquisition::Acquisition;
use crate::swap::spin;
use crate::watch::{Hook, Known, Object, Thread};
use core::convert::identity;
use core::ffi::c_int;
use libc::pthread_spinlock_t;
use unspin_locks::Waited;
use unspin_sync::hint::spin_loop;
use unspin_sys::{clock, entry};
use unspin_wire::{AttemptOutcome, RecordKind};

crate::next::define_next_codes! {
    /// pthread_spin_init(3).
    fn spin_init = pthread_spin_init(lock: *mut pthread_spinlock_t, shared: c_int);
}

entry! {
    /// pthread_spin_init(3).
    fn pthread_spin_init(2) = init;
    /// pthread_spin_lock(3).
    fn pthread_spin_lock(1) = lock;
    /// pthread_spin_trylock(3).
    fn pthread_spin_trylock(1) = trylock;
    /// pthread_spin_unlock(3).
    fn pthread_spin_unlock(1) = unlock;
}

forward! { identity =>
    /// pthread_spin_destroy(3). glibc leaves the lock as it is, and so it stays ours, if it was replaced.
    fn pthread_spin_destroy(lock: *mut pthread_spinlock_t) -> c_int;
}

#[inline(always)]
fn object(lock: &SpinLockLayout) -> Object {
    Object::new(RecordKind::Spin, lock)
}

unsafe extern "C-unwind" fn init(
    lock: *mut pthread_spinlock_t,
    shared: c_int,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    let (code, hook) = unsafe { (real::spin_init(lock, shared), Hook::new(sp, bp)) };
    if code == 0 {
        // SAFETY: libc has initialised the lock.
        spin::decide_at_init(unsafe { SpinLockLayout::of(lock) }, shared, hook);
        record_init(lock, hook);
    }
    code
}

unsafe extern "C-unwind" fn lock(lock: *mut pthread_spinlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    let (lock, hook) = unsafe { (SpinLockLayout::of(lock), Hook::new(sp, bp)) };
    match Thread::known() {
        Known::Idle => lock.libc_lock(),
        Known::Absent => spin::lock(lock),
        Known::Counted(thread) | Known::Timed(thread) | Known::Planned(thread) => {
            lock_recorded(thread, lock, hook)
        }
        Known::Unknown => lock_first(lock, hook),
    }
}

/// The first call of a thread.
#[cold]
#[inline(never)]
fn lock_first(lock: &SpinLockLayout, hook: Hook) -> c_int {
    match Thread::current() {
        Some(thread) => lock_recorded(thread, lock, hook),
        None => spin::lock(lock),
    }
}

#[inline(never)]
fn lock_recorded(thread: &'static Thread, lock: &SpinLockLayout, hook: Hook) -> c_int {
    match Attempt::new(thread, object(lock), object(lock).held(), hook) {
        None => spin::lock(lock),
        Some(attempt) if spin::trylock(lock) == 0 => attempt.end(0),
        Some(attempt) if spin::is_replaced(lock) => wait_for_replaced(attempt, lock),
        Some(attempt) => acquire_contended(attempt, lock),
    }
}

/// Waits for a lock that was replaced when another thread held it.
#[cold]
fn wait_for_replaced(attempt: Attempt, lock: &SpinLockLayout) -> c_int {
    let wait = attempt.begin_wait(object(lock), 0, WaitLimit::None);
    let Acquisition { code, waited } = spin::wait(lock);
    let how = match waited {
        Some(Waited::No) => HowWaited::NotAtAll,
        Some(Waited::Slept) => HowWaited::Asleep,
        Some(Waited::Spun) | None => HowWaited::Spinning,
    };
    wait.end(code, how)
}

/// A spinner reads the clock in every iteration. If more time than this passes between two reads, it was not on a CPU.
const ABSENCE_NS: u64 = 10_000;

#[cold]
fn acquire_contended(Attempt { thread, row, .. }: Attempt, lock: &SpinLockLayout) -> c_int {
    thread.table().reclassify_attempt(row, AttemptOutcome::NoWait, AttemptOutcome::Spun);
    if !thread.has_clock() {
        return lock.libc_lock();
    }
    let absence = clock::ticks_in(ABSENCE_NS);
    let begin = clock::ticks();
    let (mut last, mut absent) = (begin, 0);
    thread.table().set_wait_start(row, begin);
    let holder = Holder::find(thread, object(lock), 0);
    // The loop waits as glibc does: it reads until the lock is free, and only then tries to acquire it.
    while !(lock.is_free() && spin::trylock(lock) == 0) {
        spin_loop();
        let now = clock::ticks();
        let pause = now.saturating_sub(last);
        if pause > absence {
            absent += pause;
        }
        last = now;
    }
    let end = clock::ticks();
    thread.table().set_wait_start(row, 0);
    let pause = end.saturating_sub(last);
    if pause > absence {
        absent += pause;
    }
    let spun = end.saturating_sub(begin).saturating_sub(absent);
    thread.record_acquired_after(object(lock).held(), row, end, spun, absent);
    if let Some(holder) = holder {
        holder.note(thread, spun, absent);
    }
    0
}

unsafe extern "C-unwind" fn trylock(lock: *mut pthread_spinlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    let (lock, hook) = unsafe { (SpinLockLayout::of(lock), Hook::new(sp, bp)) };
    let attempt = Attempt::at_lock(object(lock), hook);
    let code = spin::trylock(lock);
    attempt.map_or(code, |attempt| attempt.end(code))
}

unsafe extern "C-unwind" fn unlock(lock: *mut pthread_spinlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    let (lock, hook) = unsafe { (SpinLockLayout::of(lock), Hook::new(sp, bp)) };
    match Thread::known() {
        Known::Idle => lock.libc_unlock(),
        Known::Absent => spin::unlock(lock),
        Known::Counted(thread) | Known::Timed(thread) | Known::Planned(thread) => {
            unlock_recorded(thread, lock, hook)
        }
        Known::Unknown => unlock_first(lock, hook),
    }
}

#[cold]
#[inline(never)]
fn unlock_first(lock: &SpinLockLayout, hook: Hook) -> c_int {
    match Thread::current() {
        Some(thread) => unlock_recorded(thread, lock, hook),
        None => spin::unlock(lock),
    }
}

#[inline(never)]
fn unlock_recorded(thread: &'static Thread, lock: &SpinLockLayout, hook: Hook) -> c_int {
    match Release::begin(thread, object(lock), hook) {
        None => spin::unlock(lock),
        Some(release) => release.end(spin::unlock(lock)),
    }
}
