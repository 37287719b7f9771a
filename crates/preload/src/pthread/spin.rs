//! Spin locks. A waiting thread burns CPU time. The time during which it waits without a CPU is recorded separately.

use super::acquire::{attempt, initialised, release, try_to};
use super::{layout, real};
use crate::next::forward;
use crate::watch::{Hook, Object, Thread};
use core::convert::identity;
use core::ffi::c_int;
use libc::pthread_spinlock_t;
use unspin_meter::{AttemptOutcome, RecordKind, RowRef};
use unspin_sync::hint::spin_loop;
use unspin_sys::{clock, entry};

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
fn object(lock: *mut pthread_spinlock_t) -> Object {
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
        initialised(lock, hook);
    }
    code
}

unsafe extern "C-unwind" fn lock(lock: *mut pthread_spinlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    unsafe {
        let hook = Hook::new(sp, bp);
        let Some((thread, place)) = attempt(object(lock), object(lock).held(), hook) else {
            return real::spin_lock(lock);
        };
        if real::spin_trylock(lock) == 0 {
            thread.took(object(lock).held(), place);
            return 0;
        }
        contended(thread, place, lock)
    }
}

/// A spinner reads the clock in every iteration. If more ticks than this pass between two reads, it was not on a CPU.
const ABSENCE: u64 = 25_000;

#[cold]
unsafe fn contended(thread: &Thread, place: RowRef, lock: *mut pthread_spinlock_t) -> c_int {
    thread.table().reclassify_attempt(place, AttemptOutcome::NoWait, AttemptOutcome::Spun);
    if !thread.has_clock() {
        // SAFETY: the program's lock.
        return unsafe { real::spin_lock(lock) };
    }
    let begin = clock::ticks();
    let (mut last, mut absent) = (begin, 0);
    thread.table().set_wait_start(place, begin);
    // SAFETY: the program's lock. The loop waits as glibc does: it reads until the lock is free, and only then tries to
    // acquire it.
    while !unsafe { layout::is_free(lock) && real::spin_trylock(lock) == 0 } {
        spin_loop();
        let now = clock::ticks();
        let pause = now.saturating_sub(last);
        if pause > ABSENCE {
            absent += pause;
        }
        last = now;
    }
    let end = clock::ticks();
    thread.table().set_wait_start(place, 0);
    let pause = end.saturating_sub(last);
    if pause > ABSENCE {
        absent += pause;
    }
    thread.took_after(
        object(lock).held(),
        place,
        end,
        end.saturating_sub(begin).saturating_sub(absent),
        absent,
    );
    0
}

unsafe extern "C-unwind" fn trylock(lock: *mut pthread_spinlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    unsafe {
        let hook = Hook::new(sp, bp);
        try_to(object(lock), hook, |_| false, || real::spin_trylock(lock))
    }
}

unsafe extern "C-unwind" fn unlock(lock: *mut pthread_spinlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` passes the registers.
    unsafe { release(object(lock), Hook::new(sp, bp), || real::spin_unlock(lock)) }
}
