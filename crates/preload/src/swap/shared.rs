//! Conditions that are shared between processes. They stay libc's, but their waiters may use replaced mutexes.
//!
//! libc's wait can only release a mutex of libc. So the waiter locks a *stand-in*, a mutex of libc, releases the
//! replaced mutex, and passes the stand-in to libc's wait. A thread of this process that signals locks the stand-in for
//! a moment. If it has held the program's mutex before, it gets the stand-in only when the waiter is in its wait. (A
//! thread of another process cannot have held the program's mutex, which is private.)
//!
//! Code that [bypasses](crate::bypass) the hooks signals without the stand-in. A waiter looks for the flag while it holds
//! the stand-in. The thread that sets the flag locks each stand-in afterwards ([`settle`]), before it lets such code in:
//!
//! - A waiter that had its stand-in before has not seen the flag, and `settle` waits until it is in libc's wait. So the
//!   signals of such code find it there. It hands its mutex to libc when it acquires it again.
//! - A waiter that gets its stand-in later sees the flag. It hands its mutex to libc and waits with that mutex itself,
//!   which libc releases when the waiter is in the wait.
//!
//! Both sorts can wait for one condition: libc's conditions do not care whether their waiters use the same mutex. Threads
//! that signal through the hook lock the stand-in at any time. Those that do so before `settle` is done need it; for a
//! waiter with its own mutex it has no effect.

use super::condition::{Outcome, wait_in_libc};
use super::mutex::{Mutex, Released};
use super::plan::{self, Conditions};
use crate::bypass;
use crate::cancel::{_pthread_cleanup_pop, _pthread_cleanup_push, Buffer};
use crate::glibc::condition::ConditionLayout;
use crate::glibc::mutex::MutexLayout;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use libc::{PTHREAD_MUTEX_INITIALIZER, pthread_mutex_t};

/// The stand-ins. All conditions with the same hash share one.
static STAND_INS: [StandIn; 16] = [const { StandIn(UnsafeCell::new(PTHREAD_MUTEX_INITIALIZER)) }; 16];

struct StandIn(UnsafeCell<pthread_mutex_t>);

// SAFETY: only libc's functions use it, and after a fork the child's only thread writes it.
unsafe impl Sync for StandIn {}

fn stand_in(condition: &ConditionLayout) -> &'static MutexLayout {
    let hash = (&raw const *condition as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
    // SAFETY: a mutex of libc that lives for ever.
    unsafe { MutexLayout::of(STAND_INS[hash as usize].0.get()) }
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
struct Waiter<'wait> {
    stand_in: &'static MutexLayout,
    mutex: Mutex<'wait>,
}

/// A wait. `waits` is libc's function, which does not return EINVAL; its argument is the mutex to wait with.
pub fn wait(
    condition: &ConditionLayout,
    mutex: Mutex<'_>,
    waits: impl FnOnce(&MutexLayout) -> c_int,
) -> Outcome {
    if !mutex.is_replaced() {
        return Outcome::by_libc(waits(mutex.words()));
    }
    let waiter = Waiter { stand_in: stand_in(condition), mutex };
    let mut buffer = MaybeUninit::<Buffer>::uninit();
    waiter.stand_in.libc_lock();
    if bypass::exists() {
        // Not kept: a thread that has the program's mutex waits for the stand-in where it signals.
        waiter.stand_in.libc_unlock();
        return wait_in_libc(mutex, waits);
    }
    // Replaced: not libc's.
    let Released { code, .. } = mutex.unlock_to_wait();
    if code != 0 {
        waiter.stand_in.libc_unlock();
        return Outcome::by_libc(code);
    }
    // SAFETY: the buffer is popped before this function returns, and `waiter` lives until then.
    unsafe {
        _pthread_cleanup_push(buffer.as_mut_ptr(), woken, (&raw const waiter).cast_mut().cast());
        let code = waits(waiter.stand_in);
        _pthread_cleanup_pop(buffer.as_mut_ptr(), 1);
        Outcome::by_libc(code)
    }
}

/// Runs at the end of a wait, and if the thread is cancelled in it: locks the program's mutex again.
unsafe extern "C-unwind" fn woken(waiter: *mut c_void) {
    // SAFETY: the frame of `wait` still exists, and the thread holds the stand-in again.
    let waiter = unsafe { &*waiter.cast::<Waiter<'_>>() };
    waiter.stand_in.libc_unlock();
    waiter.mutex.lock_after_wait(None::<fn()>);
}

/// To be called after the flag of [`bypass`](crate::bypass) was set: returns when each waiter that has not seen it is in
/// libc's wait.
pub fn settle() {
    if plan::conditions() == Conditions::Ours {
        for StandIn(mutex) in &STAND_INS {
            // SAFETY: a mutex of libc that lives for ever.
            let stand_in = unsafe { MutexLayout::of(mutex.get()) };
            stand_in.libc_lock();
            stand_in.libc_unlock();
        }
    }
}

/// A signal. `signals` is libc's function.
pub fn signal(condition: &ConditionLayout, signals: impl FnOnce() -> c_int) -> c_int {
    let stand_in = stand_in(condition);
    stand_in.libc_lock();
    let code = signals();
    stand_in.libc_unlock();
    code
}
