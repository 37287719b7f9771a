//! Spin locks. A waiting thread burns CPU time. The time during which it waits without a CPU is recorded separately.

use super::attempt::{Attempt, record_init, release};
use crate::glibc::spin::SpinLockLayout;
use crate::next::forward;
use crate::watch::{Hook, Object};
use core::convert::identity;
use core::ffi::c_int;
use libc::pthread_spinlock_t;
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
    /// pthread_spin_destroy(3).
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
        record_init(lock, hook);
    }
    code
}

unsafe extern "C-unwind" fn lock(lock: *mut pthread_spinlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    let (lock, hook) = unsafe { (SpinLockLayout::of(lock), Hook::new(sp, bp)) };
    match Attempt::at_lock(object(lock), hook) {
        None => lock.lock(),
        Some(attempt) if lock.trylock() == 0 => attempt.end(0),
        Some(attempt) => acquire_contended(attempt, lock),
    }
}

/// A spinner reads the clock in every iteration. If more time than this passes between two reads, it was not on a CPU.
const ABSENCE_NS: u64 = 10_000;

#[cold]
fn acquire_contended(Attempt { thread, row, .. }: Attempt, lock: &SpinLockLayout) -> c_int {
    thread.table().reclassify_attempt(row, AttemptOutcome::NoWait, AttemptOutcome::Spun);
    if !thread.has_clock() {
        return lock.lock();
    }
    let absence = clock::ticks_in(ABSENCE_NS);
    let begin = clock::ticks();
    let (mut last, mut absent) = (begin, 0);
    thread.table().set_wait_start(row, begin);
    // The loop waits as glibc does: it reads until the lock is free, and only then tries to acquire it.
    while !(lock.is_free() && lock.trylock() == 0) {
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
    0
}

unsafe extern "C-unwind" fn trylock(lock: *mut pthread_spinlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    let (lock, hook) = unsafe { (SpinLockLayout::of(lock), Hook::new(sp, bp)) };
    let attempt = Attempt::at_lock(object(lock), hook);
    let code = lock.trylock();
    attempt.map_or(code, |attempt| attempt.end(code))
}

unsafe extern "C-unwind" fn unlock(lock: *mut pthread_spinlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    let (lock, hook) = unsafe { (SpinLockLayout::of(lock), Hook::new(sp, bp)) };
    release(object(lock), hook, || lock.unlock())
}
