//! Condition variables, in a process whose mutexes are replaced: the wait of libc's condition would release libc's
//! lock.
//!
//! Their waiters are in a table ([`waiters`]), and the words of the `pthread_cond_t` stay libc's.
//! Process-shared conditions stay libc's: [`shared`](super::shared).
//!
//! A wait is a cancellation point. Its sleep is the only place where the thread allows asynchronous cancellation, as in
//! libc's own sleeps. A thread that is cancelled there leaves the condition, passes on a signal that it has received,
//! and acquires the mutex again before the program's clean-up handlers run. Our clean-up handler is pushed by the
//! functions of LinuxThreads: glibc runs the handlers of that list whatever language unwinds. No frame in this module
//! has anything to drop.

use super::acquisition::{Acquisition, Released, Tried};
use super::mutex::Mutex;
use super::plan::{self, Conditions};
use super::waiters;
use crate::bypass;
use crate::cancel::{
    _pthread_cleanup_pop, _pthread_cleanup_push, ASYNCHRONOUS, Buffer, DEFERRED, cancellation, end_of_sleep,
    pthread_testcancel,
};
use crate::glibc::condition::ConditionLayout;
use crate::glibc::mutex::MutexLayout;
use crate::waits::{Ended, Look, Wait};
use crate::watch::Hook;
use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use libc::{EOWNERDEAD, ETIMEDOUT};
use unspin_locks::{LeaveReason, LeaveResult, Node, Until, Waited, Waiters};
use unspin_sys::futex::{Wake, private as futex};
use unspin_sys::{clock, sched};
use unspin_waiting::CheckKind;
use unspin_wire::looks::Looks;

/// Which implementation a condition has.
#[derive(Clone, Copy)]
pub enum Owner {
    /// libc's.
    Libc,
    /// libc's, in a process in which its waiters may have replaced mutexes.
    Shared,
    /// Ours.
    Ours(Waiters<'static>),
}

/// The implementation of a condition. From the moment on at which code may bypass the hooks, libc serves the private ones
/// too. A thread that signals sees that in time if the waiter has seen it: the waiter saw it with the mutex held, which the
/// signalling thread has acquired since, to change what the waiter waits for. A shared condition has the same owner for
/// ever: [`shared`](super::shared) says why.
#[inline]
pub fn owner(condition: &ConditionLayout) -> Owner {
    if plan::conditions() == Conditions::Libc {
        Owner::Libc
    } else if condition.is_shared() {
        Owner::Shared
    } else if bypass::exists() {
        Owner::Libc
    } else {
        Owner::Ours(waiters::of(condition))
    }
}

/// The result of a wait.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// 0, or an error number.
    pub code: c_int,
    /// The parts of the wait, which only our own implementation knows; `None` for libc's waits.
    pub seen: Option<Seen>,
}

impl Outcome {
    /// The result of libc's wait, or of a call that was refused.
    pub fn by_libc(code: c_int) -> Outcome {
        Outcome { code, seen: None }
    }
}

/// The parts of a wait.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// How the thread waited for the condition.
    pub condition: Waited,
    /// Time, in ticks, at which that wait ended and the wait for the mutex began.
    pub woken: u64,
    /// How the thread waited for the mutex; `None` if the mutex is libc's.
    pub mutex: Option<Waited>,
}

/// The data of a waiting thread that its clean-up needs.
struct Waiter<'wait> {
    waiters: Waiters<'static>,
    node: &'wait Node,
    mutex: Mutex<'wait>,
    hook: Hook,
    /// The thread's cancellation type before the wait.
    cancellation: c_int,
    /// Whether it counts as a user of libc's mutex.
    is_user_of_libcs: bool,
    /// Whether its poll has acquired the mutex, which libc serves.
    has_mutex: Cell<bool>,
}

impl Waiter<'_> {
    /// Acquires the mutex again, unless the thread has it already, and wakes the next thread of a broadcast.
    ///
    /// # Safety
    /// The node has left the condition, and this is called once.
    unsafe fn acquire_again(&self, has_mutex: bool) -> Acquisition {
        // SAFETY: the caller's promise.
        let others = self.node.is_followed().then_some(|| unsafe { self.node.pass_on() });
        let acquisition = match has_mutex {
            false => self.mutex.lock_after_wait(others),
            true => {
                if let Some(wake) = others {
                    wake();
                }
                Acquisition::success(Waited::No)
            }
        };
        if self.is_user_of_libcs && matches!(acquisition.code, 0 | EOWNERDEAD) {
            self.mutex.count_once();
        }
        acquisition
    }
}

/// libc's wait, with a mutex that is libc's from now on.
pub fn wait_in_libc(mutex: Mutex<'_>, waits: impl FnOnce(&MutexLayout) -> c_int) -> Outcome {
    mutex.hand_to_libc();
    Outcome::by_libc(waits(mutex.words()))
}

/// pthread_cond_wait(3) and its variants with a deadline. `in_libc` is libc's function, for a wait that cannot be ours any
/// more.
pub fn wait(
    ours: Waiters<'static>,
    mutex: Mutex<'_>,
    until: Option<Until>,
    hook: Hook,
    in_libc: impl FnOnce(&MutexLayout) -> c_int,
) -> Outcome {
    let before = cancellation(DEFERRED);
    // The order is by real-time priority, in which the kernel would also wake sleeping threads.
    let node = ours.node(sched::real_time_priority(), mutex.words().as_ptr());
    let mut buffer = MaybeUninit::<Buffer>::uninit();
    // SAFETY: 1. the node stays in place until it has left the condition and has woken its successor (`pass_on`), here
    // or in `cancelled`; 2. the buffer is popped before this function returns.
    unsafe {
        if !waiters::enqueue(ours, &node) {
            cancellation(before);
            return wait_in_libc(mutex, in_libc);
        }
        let Released { code, is_user_of_libcs } = mutex.unlock_to_wait();
        if code != 0 {
            ours.leave(&node, LeaveReason::Cancelled);
            node.pass_on();
            cancellation(before);
            return Outcome::by_libc(code);
        }
        let has_mutex = Cell::new(false);
        let waiter = Waiter {
            waiters: ours,
            node: &node,
            mutex,
            hook,
            cancellation: before,
            is_user_of_libcs,
            has_mutex,
        };
        _pthread_cleanup_push(
            buffer.as_mut_ptr(),
            leave_when_cancelled,
            (&raw const waiter).cast_mut().cast(),
        );
        let waited = sleep(&waiter, until);
        _pthread_cleanup_pop(buffer.as_mut_ptr(), 0);
        let is_timeout =
            ours.leave(&node, LeaveReason::Returns) == LeaveResult::Unsignalled && !node.is_stranded();
        let woken = clock::ticks();
        let Acquisition { code, waited: mutex } = waiter.acquire_again(waiter.has_mutex.get());
        cancellation(before);
        let code = if code == 0 && is_timeout { ETIMEDOUT } else { code };
        Outcome { code, seen: Some(Seen { condition: waited, woken, mutex }) }
    }
}

/// Polls, then sleeps until the node was moved off the condition or the deadline has passed. Returns how the thread
/// waited.
fn sleep(waiter: &Waiter<'_>, until: Option<Until>) -> Waited {
    let node = waiter.node;
    let wait = Wait::begin(waiter.hook, Looks::NONE);
    if wait.polls() {
        // Without this, a thread that never has to sleep would never be cancelled.
        pthread_testcancel();
        // A waker that signals before it unlocks still holds the mutex. A poll that waits for the signal alone would
        // then end in a sleep for the mutex.
        let look = || match node.is_waiting() {
            true => Look::Nothing,
            false => match waiter.mutex.try_after_wait() {
                Tried::Taken => Look::Nothing,
                Tried::Untried => Look::Found(()),
                Tried::Acquired => {
                    waiter.has_mutex.set(true);
                    Look::Found(())
                }
            },
        };
        if let Ended::Found(()) = wait.poll(CheckKind::Load, look, |()| None) {
            return Waited::Spun;
        }
    }
    let mut waited = Waited::Spun;
    while let Some(state) = node.must_sleep_on().filter(|_| !node.is_stranded()) {
        waited = Waited::Slept;
        cancellation(ASYNCHRONOUS);
        let wake = futex::wait(node.word(), state, until);
        end_of_sleep();
        if wake == Wake::TimedOut {
            break;
        }
    }
    wait.report_sleep();
    waited
}

/// Runs when a thread is cancelled in its sleep, before the program's clean-up handlers. glibc's longjmp(3) calls it
/// too, when a signal handler jumps out of the sleep.
unsafe extern "C-unwind" fn leave_when_cancelled(waiter: *mut c_void) {
    // SAFETY: the frame of `wait` still exists, as the stack is unwound from the inside.
    unsafe {
        let waiter = &*waiter.cast::<Waiter<'_>>();
        cancellation(DEFERRED);
        waiter.waiters.leave(waiter.node, LeaveReason::Cancelled);
        // A handler may have cancelled the thread, or jumped, right after the poll had acquired the mutex.
        let has_mutex =
            waiter.has_mutex.get() || waiter.is_user_of_libcs && waiter.mutex.is_locked_since_wait();
        waiter.acquire_again(has_mutex);
        cancellation(waiter.cancellation);
    }
}
