//! Conditions that are shared between processes, which stay libc's, together with mutexes that are not.
//!
//! libc's wait releases a mutex of libc's. So a replaced one is released under a *stand-in* that libc releases in its
//! place, and whoever signals in this process takes that for a moment: having had the program's mutex he gets the stand-in
//! only when the waiter waits. (Another process cannot have had it.)

use super::condition::Outcome;
use super::mutex::{self, Released};
use crate::cancel::{_pthread_cleanup_pop, _pthread_cleanup_push, Buffer};
use crate::pthread::real;
use crate::watch::Hook;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use libc::{PTHREAD_MUTEX_INITIALIZER, pthread_cond_t, pthread_mutex_t};

/// Conditions of one hash share one.
static STAND_INS: [StandIn; 16] = [const { StandIn(UnsafeCell::new(PTHREAD_MUTEX_INITIALIZER)) }; 16];

struct StandIn(UnsafeCell<pthread_mutex_t>);

// SAFETY: used by libc's functions only, and written by the one thread of a child that a fork has just made.
unsafe impl Sync for StandIn {}

fn stand_in(condition: *const pthread_cond_t) -> *mut pthread_mutex_t {
    let hash = (condition as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
    STAND_INS[hash as usize].0.get()
}

/// Sees to it that a child finds them free: who held one in the parent is not there.
pub fn prepare() {
    // SAFETY: the function lives as long as this library, which libc knows by the handle that the linker puts in.
    unsafe { libc::pthread_atfork(None, None, Some(renew)) };
}

extern "C" fn renew() {
    for StandIn(mutex) in &STAND_INS {
        // SAFETY: a child has one thread, this one, which is not in a wait.
        unsafe { mutex.get().write(PTHREAD_MUTEX_INITIALIZER) };
    }
}

/// A thread that waits, as its clean-up needs it.
struct Waiter {
    stand_in: *mut pthread_mutex_t,
    mutex: *mut pthread_mutex_t,
    hook: Hook,
}

/// A wait. `waits` is libc's, for the mutex that it is given.
///
/// # Safety
/// A live condition and a live mutex; `waits` does not answer EINVAL.
pub unsafe fn wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    hook: Hook,
    waits: impl FnOnce(*mut pthread_mutex_t) -> c_int,
) -> Outcome {
    // SAFETY: the caller's promise; the stand-in is libc's.
    unsafe {
        if !mutex::is_replaced(mutex, hook) {
            return Outcome::bare(waits(mutex));
        }
        let waiter = Waiter { stand_in: stand_in(condition), mutex, hook };
        let mut buffer = MaybeUninit::<Buffer>::uninit();
        real::mutex_lock(waiter.stand_in);
        // Replaced: not libc's.
        let Released { code, .. } = mutex::unlock_to_wait(mutex, hook);
        if code != 0 {
            real::mutex_unlock(waiter.stand_in);
            return Outcome::bare(code);
        }
        _pthread_cleanup_push(buffer.as_mut_ptr(), woken, (&raw const waiter).cast_mut().cast());
        let code = waits(waiter.stand_in);
        _pthread_cleanup_pop(buffer.as_mut_ptr(), 1);
        Outcome::bare(code)
    }
}

/// The end of a wait, or of the thread.
unsafe extern "C-unwind" fn woken(waiter: *mut c_void) {
    // SAFETY: the frame of `wait` is still there, and libc has the stand-in again.
    unsafe {
        let waiter = &*waiter.cast::<Waiter>();
        real::mutex_unlock(waiter.stand_in);
        mutex::lock_after_wait(waiter.mutex, waiter.hook, None::<fn()>);
    }
}

/// A signal. `signals` is libc's.
pub fn signal(condition: *const pthread_cond_t, signals: impl FnOnce() -> c_int) -> c_int {
    let stand_in = stand_in(condition);
    // SAFETY: the stand-in is libc's.
    unsafe {
        real::mutex_lock(stand_in);
        let code = signals();
        real::mutex_unlock(stand_in);
        code
    }
}
