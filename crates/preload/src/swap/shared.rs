//! Conditions that are shared between processes. They stay libc's, but their waiters may use replaced mutexes.
//!
//! The waiter locks a *stand-in*, a mutex of libc, releases its own mutex, and passes the stand-in to libc's wait.
//! [`stand_in`] has the protocol, also for code that [bypasses](crate::bypass) the hooks. (A thread of another process
//! signals without the stand-in. It cannot have held the program's mutex, which is private.)

use super::acquisition::Released;
use super::condition::{Outcome, wait_in_libc};
use super::mutex::Mutex;
use super::plan::{self, Conditions};
use crate::bypass::HAND_OVER;
use crate::cancel::{_pthread_cleanup_pop, _pthread_cleanup_push, Buffer};
use crate::glibc::condition::ConditionLayout;
use crate::glibc::mutex::MutexLayout;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use libc::{PTHREAD_MUTEX_INITIALIZER, pthread_mutex_t};
use unspin_locks::handover::stand_in::{self, StandIn, WaitsWith, lock_to_wait};

/// The stand-ins. All conditions with the same hash share one.
static STAND_INS: [StandInMutex; 16] =
    [const { StandInMutex(UnsafeCell::new(PTHREAD_MUTEX_INITIALIZER)) }; 16];

struct StandInMutex(UnsafeCell<pthread_mutex_t>);

// SAFETY: only libc's functions use it, and after a fork the child's only thread writes it.
unsafe impl Sync for StandInMutex {}

impl StandInMutex {
    fn words(&self) -> &MutexLayout {
        // SAFETY: a mutex of libc.
        unsafe { MutexLayout::of(self.0.get()) }
    }
}

impl StandIn for StandInMutex {
    fn lock(&self) {
        self.words().libc_lock();
    }

    fn unlock(&self) {
        self.words().libc_unlock();
    }
}

fn stand_in_for(condition: &ConditionLayout) -> &'static StandInMutex {
    let hash = (&raw const *condition as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
    &STAND_INS[hash as usize]
}

/// Makes a child made by fork find the stand-ins free: the threads that held them in the parent do not exist in the
/// child.
pub fn prepare() {
    // SAFETY: the function lives as long as this library. libc identifies the library by the handle that the linker
    // inserts.
    unsafe { libc::pthread_atfork(None, None, Some(renew)) };
}

extern "C" fn renew() {
    for StandInMutex(mutex) in &STAND_INS {
        // SAFETY: a child has one thread, this one, and it is not in a wait.
        unsafe { mutex.get().write(PTHREAD_MUTEX_INITIALIZER) };
    }
}

/// The data of a waiting thread that its clean-up needs.
struct Waiter<'wait> {
    stand_in: &'static StandInMutex,
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
    let waiter = Waiter { stand_in: stand_in_for(condition), mutex };
    let mut buffer = MaybeUninit::<Buffer>::uninit();
    match lock_to_wait(waiter.stand_in, &HAND_OVER) {
        WaitsWith::StandIn => {}
        WaitsWith::Itself => return wait_in_libc(mutex, waits),
    }
    // Replaced: not libc's.
    let Released { code, .. } = mutex.unlock_to_wait();
    if code != 0 {
        waiter.stand_in.unlock();
        return Outcome::by_libc(code);
    }
    // SAFETY: the buffer is popped before this function returns, and `waiter` lives until then.
    unsafe {
        _pthread_cleanup_push(buffer.as_mut_ptr(), lock_again, (&raw const waiter).cast_mut().cast());
        let code = waits(waiter.stand_in.words());
        _pthread_cleanup_pop(buffer.as_mut_ptr(), 1);
        Outcome::by_libc(code)
    }
}

/// Runs at the end of a wait, and if the thread is cancelled in it: locks the program's mutex again.
unsafe extern "C-unwind" fn lock_again(waiter: *mut c_void) {
    // SAFETY: the frame of `wait` still exists, and the thread holds the stand-in again.
    let waiter = unsafe { &*waiter.cast::<Waiter<'_>>() };
    waiter.stand_in.unlock();
    waiter.mutex.lock_after_wait(None::<fn()>);
}

/// To be called after [`bypass`](crate::bypass) has begun the hand-over: returns when each waiter that has not seen it is in
/// libc's wait.
pub fn settle() {
    if plan::conditions() == Conditions::Ours {
        stand_in::settle(&STAND_INS);
    }
}

/// A signal. `signals` is libc's function.
pub fn signal(condition: &ConditionLayout, signals: impl FnOnce() -> c_int) -> c_int {
    stand_in::signal(stand_in_for(condition), signals)
}
