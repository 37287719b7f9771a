//! Spin locks: waiting burns a CPU, so what is not burnt, because the spinner is not on one, is told apart.

use super::acquire::{attempt, initialised, is_success, release, try_to};
use super::{layout, real};
use crate::next::forward;
use crate::sandbox;
use crate::watch::{Hook, Object, Thread};
use core::convert::identity;
use core::ffi::c_int;
use libc::pthread_spinlock_t;
use unspin_meter::{Kind, Outcome, Place};
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

forward! { identity:
    /// pthread_spin_destroy(3).
    fn pthread_spin_destroy(lock: *mut pthread_spinlock_t) -> c_int;
}

#[inline(always)]
fn object(lock: *mut pthread_spinlock_t) -> Object {
    Object::new(Kind::Spin, lock)
}

unsafe extern "C-unwind" fn init(
    lock: *mut pthread_spinlock_t,
    shared: c_int,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    let (code, hook) = unsafe { (real::spin_init(lock, shared), Hook::new(sp, bp)) };
    if code == 0 {
        initialised(lock, hook);
    }
    code
}

unsafe extern "C-unwind" fn lock(lock: *mut pthread_spinlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` gives the registers.
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

/// As long as this a spinner only spins; then it asks for its CPU time, too.
const SHORT: u64 = 25_000;

#[cold]
unsafe fn contended(thread: &Thread, place: Place, lock: *mut pthread_spinlock_t) -> c_int {
    thread.table().reclassify(place, Outcome::NoWait, Outcome::Spun);
    if !thread.has_clock() || sandbox::is_closed() {
        // SAFETY: the program's lock.
        return unsafe { real::spin_lock(lock) };
    }
    let begin = clock::ticks();
    // SAFETY: the program's lock.
    unsafe {
        while clock::ticks().wrapping_sub(begin) < SHORT {
            if layout::is_free(lock) && real::spin_trylock(lock) == 0 {
                let end = clock::ticks();
                thread.took_after(object(lock).held(), place, end, end.saturating_sub(begin), 0);
                return 0;
            }
            spin_loop();
        }
        let (ns, ticks) = (clock::thread_cpu_ns(), clock::ticks());
        let code = real::spin_lock(lock);
        let end = clock::ticks();
        let burnt = ticks_in(clock::thread_cpu_ns().saturating_sub(ns)).min(end.saturating_sub(ticks));
        let spun = ticks.saturating_sub(begin) + burnt;
        if is_success(code) {
            thread.took_after(
                object(lock).held(),
                place,
                end,
                spun,
                end.saturating_sub(begin).saturating_sub(spun),
            );
        }
        code
    }
}

/// Nanoseconds as ticks.
fn ticks_in(ns: u64) -> u64 {
    (u128::from(ns) * u128::from(clock::ticks_per_second()) / 1_000_000_000) as u64
}

unsafe extern "C-unwind" fn trylock(lock: *mut pthread_spinlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` gives the registers.
    unsafe {
        let hook = Hook::new(sp, bp);
        try_to(object(lock), hook, |_| false, || real::spin_trylock(lock))
    }
}

unsafe extern "C-unwind" fn unlock(lock: *mut pthread_spinlock_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: the program's lock; `entry` gives the registers.
    unsafe { release(object(lock), Hook::new(sp, bp), || real::spin_unlock(lock)) }
}
