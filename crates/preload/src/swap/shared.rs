//! Conditions that are shared between processes. They stay libc's, but their waiters may use replaced mutexes.
//!
//! libc's wait can only release a mutex of libc. So the waiter locks a *stand-in*, a mutex of libc, releases the
//! replaced mutex, and passes the stand-in to libc's wait. A thread of this process that signals locks the stand-in for
//! a moment. If it has held the program's mutex before, it gets the stand-in only when the waiter is in its wait. (A
//! thread of another process cannot have held the program's mutex, which is private.)

use super::condition::Outcome;
use super::mutex::{self, Released};
use crate::cancel::{_pthread_cleanup_pop, _pthread_cleanup_push, Buffer};
use crate::pthread::real;
use crate::watch::Hook;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use libc::{PTHREAD_MUTEX_INITIALIZER, pthread_cond_t, pthread_mutex_t};

/// The stand-ins. All conditions with the same hash share one.
static STAND_INS: [StandIn; 16] = [const { StandIn(UnsafeCell::new(PTHREAD_MUTEX_INITIALIZER)) }; 16];

struct StandIn(UnsafeCell<pthread_mutex_t>);

// SAFETY: only libc's functions use it, and after a fork the child's only thread writes it.
unsafe impl Sync for StandIn {}

fn stand_in(condition: *const pthread_cond_t) -> *mut pthread_mutex_t {
    let hash = (condition as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
    STAND_INS[hash as usize].0.get()
}

/// Makes a child made by fork find the stand-ins free: the threads that held them in the parent do not exist in the
/// child.
pub fn prepare() {
    // SAFETY: the function lives as long as this library. libc identifies the library by the handle that the linker
    // inserts.
    unsafe { libc::pthread_atfork(None, None, Some(renew)) };
}

extern "C" fn renew() {
    for StandIn(mutex) in &STAND_INS {
        // SAFETY: a child has one thread, this one, and it is not in a wait.
        unsafe { mutex.get().write(PTHREAD_MUTEX_INITIALIZER) };
    }
}

/// The data of a waiting thread that its clean-up needs.
struct Waiter {
    stand_in: *mut pthread_mutex_t,
    mutex: *mut pthread_mutex_t,
    hook: Hook,
}

/// A wait. `waits` is libc's function; its argument is the mutex to wait with.
///
/// # Safety
/// `condition` and `mutex` are live. `waits` does not return EINVAL.
pub unsafe fn wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    hook: Hook,
    waits: impl FnOnce(*mut pthread_mutex_t) -> c_int,
) -> Outcome {
    // SAFETY: the caller's promise; the stand-in is a mutex of libc.
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

/// Runs at the end of a wait, and if the thread is cancelled in it: locks the program's mutex again.
unsafe extern "C-unwind" fn woken(waiter: *mut c_void) {
    // SAFETY: the frame of `wait` still exists, and the thread holds the stand-in again.
    unsafe {
        let waiter = &*waiter.cast::<Waiter>();
        real::mutex_unlock(waiter.stand_in);
        mutex::lock_after_wait(waiter.mutex, waiter.hook, None::<fn()>);
    }
}

/// A signal. `signals` is libc's function.
pub fn signal(condition: *const pthread_cond_t, signals: impl FnOnce() -> c_int) -> c_int {
    let stand_in = stand_in(condition);
    // SAFETY: the stand-in is a mutex of libc.
    unsafe {
        real::mutex_lock(stand_in);
        let code = signals();
        real::mutex_unlock(stand_in);
        code
    }
}
