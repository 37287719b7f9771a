//! Condition variables, in a process whose mutexes are replaced: the wait of libc's condition would release libc's
//! lock.
//!
//! Ours lie at the beginning of the `pthread_cond_t`. libc's pthread_cond_init(3) leaves zeroes there, which is a
//! condition without waiters. Process-shared conditions stay libc's: [`shared`](super::shared).
//!
//! A wait is a cancellation point. Its sleep is the only place where the thread allows asynchronous cancellation, as in
//! libc's own sleeps. A thread that is cancelled there leaves the condition, passes on a signal that it has received,
//! and acquires the mutex again before the program's clean-up handlers run. Our clean-up handler is pushed by the
//! functions of LinuxThreads: glibc runs the handlers of that list whatever language unwinds. No frame in this module
//! has anything to drop.

use super::mutex::{self, Answer, Released, Tried};
use super::plan::{self, Conditions};
use crate::cancel::{
    _pthread_cleanup_pop, _pthread_cleanup_push, ASYNCHRONOUS, Buffer, DEFERRED, cancellation, end_of_sleep,
    pthread_testcancel,
};
use crate::waits::{Ended, Look, Wait};
use crate::watch::Hook;
use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use libc::{EOWNERDEAD, ETIMEDOUT, pthread_cond_t, pthread_mutex_t};
use unspin_locks::{Condition, LeaveReason, LeaveResult, Node, Until, Waited};
use unspin_sync::atomic::{AtomicU32, Ordering::Relaxed};
use unspin_sys::futex::{Wake, private as futex};
use unspin_sys::{clock, sched};
use unspin_waiting::CheckKind;

/// `__wrefs`, at byte 36. Bit 0: shared between processes. Bit 1: deadlines are times of CLOCK_MONOTONIC.
const FLAGS: usize = 36;
const SHARED: u32 = 1;
const MONOTONIC: u32 = 2;

const _: () = assert!(size_of::<Condition>() <= 24 && align_of::<Condition>() <= 8, "below `__g_refs`");

/// Which implementation a condition has.
#[derive(Clone, Copy)]
pub enum Owner<'condition> {
    /// libc's.
    Libc,
    /// libc's, in a process in which its waiters may have replaced mutexes.
    Shared,
    /// Ours.
    Ours(&'condition Condition),
}

/// The implementation of a condition.
///
/// # Safety
/// `condition` is live.
#[inline]
pub unsafe fn owner<'condition>(condition: *const pthread_cond_t) -> Owner<'condition> {
    if plan::conditions() == Conditions::Libc {
        return Owner::Libc;
    }
    // SAFETY: the caller's promise. All zero is a valid `Condition`, which consists of atomics. These bytes have no
    // other use.
    unsafe { if flags(condition) & SHARED != 0 { Owner::Shared } else { Owner::Ours(&*condition.cast()) } }
}

/// The clock of the condition's deadlines.
///
/// # Safety
/// `condition` is live.
pub unsafe fn clock(condition: *const pthread_cond_t) -> libc::clockid_t {
    // SAFETY: the caller's promise.
    if unsafe { flags(condition) } & MONOTONIC != 0 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME }
}

/// The word [`FLAGS`].
///
/// # Safety
/// `condition` is live.
unsafe fn flags(condition: *const pthread_cond_t) -> u32 {
    // SAFETY: the caller's promise. Relaxed: written when the condition was initialised.
    unsafe { &*condition.byte_add(FLAGS).cast::<AtomicU32>() }.load(Relaxed)
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
    pub fn bare(code: c_int) -> Outcome {
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
    condition: &'wait Condition,
    node: &'wait Node,
    mutex: *mut pthread_mutex_t,
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
    /// `mutex` is live; the node has left the condition, and this is called once.
    unsafe fn acquire_again(&self, has_mutex: bool) -> Answer {
        // SAFETY: the caller's promise.
        let others = self.node.is_followed().then_some(|| unsafe { self.node.pass_on() });
        let answer = match has_mutex {
            // SAFETY: the caller's promise; the mutex was released by `unlock_to_wait`.
            false => unsafe { mutex::lock_after_wait(self.mutex, self.hook, others) },
            true => {
                if let Some(wake) = others {
                    wake();
                }
                Answer::acquired(Waited::No)
            }
        };
        if self.is_user_of_libcs && matches!(answer.code, 0 | EOWNERDEAD) {
            // SAFETY: libc serves the mutex, and the thread has it.
            unsafe { mutex::count_once(self.mutex) };
        }
        answer
    }
}

/// pthread_cond_wait(3) and its variants with a deadline.
///
/// # Safety
/// `mutex` is live; `hook` is that of the calling function.
pub unsafe fn wait(
    condition: &Condition,
    mutex: *mut pthread_mutex_t,
    until: Option<Until>,
    hook: Hook,
) -> Outcome {
    let before = cancellation(DEFERRED);
    // The order is by real-time priority, in which the kernel would also wake sleeping threads.
    let node = Node::new(sched::real_time_priority()).for_mutex(mutex);
    let mut buffer = MaybeUninit::<Buffer>::uninit();
    // SAFETY: 1. the node stays in place until it has left the condition and has woken its successor (`pass_on`), here
    // or in `cancelled`; 2. the mutex is the caller's; 3. the buffer is popped before this function returns.
    unsafe {
        condition.enqueue(&node);
        let Released { code, is_user_of_libcs } = mutex::unlock_to_wait(mutex, hook);
        if code != 0 {
            condition.leave(&node, LeaveReason::Cancelled);
            node.pass_on();
            cancellation(before);
            return Outcome::bare(code);
        }
        let has_mutex = Cell::new(false);
        let waiter =
            Waiter { condition, node: &node, mutex, hook, cancellation: before, is_user_of_libcs, has_mutex };
        _pthread_cleanup_push(buffer.as_mut_ptr(), cancelled, (&raw const waiter).cast_mut().cast());
        let waited = sleep(&waiter, until);
        _pthread_cleanup_pop(buffer.as_mut_ptr(), 0);
        let is_timeout =
            condition.leave(&node, LeaveReason::Returns) == LeaveResult::Unsignalled && !node.is_stranded();
        let woken = clock::ticks();
        let Answer { code, waited: mutex } = waiter.acquire_again(waiter.has_mutex.get());
        cancellation(before);
        let code = if code == 0 && is_timeout { ETIMEDOUT } else { code };
        Outcome { code, seen: Some(Seen { condition: waited, woken, mutex }) }
    }
}

/// Polls, then sleeps until the node was moved off the condition or the deadline has passed. Returns how the thread
/// waited.
fn sleep(waiter: &Waiter<'_>, until: Option<Until>) -> Waited {
    let node = waiter.node;
    let wait = Wait::begin(waiter.hook);
    if wait.polls() {
        // Without this, a thread that never has to sleep would never be cancelled.
        pthread_testcancel();
        // A waker that signals before it unlocks still holds the mutex. A poll that waits for the signal alone would
        // then end in a sleep for the mutex.
        let look = || match node.is_waiting() {
            true => Look::Nothing,
            // SAFETY: the mutex is the program's, which was released for this wait and must be acquired again.
            false => match unsafe { mutex::try_after_wait(waiter.mutex, waiter.hook) } {
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
    wait.slept();
    waited
}

/// Runs when a thread is cancelled in its sleep, before the program's clean-up handlers. glibc's longjmp(3) calls it
/// too, when a signal handler jumps out of the sleep.
unsafe extern "C-unwind" fn cancelled(waiter: *mut c_void) {
    // SAFETY: the frame of `wait` still exists, as the stack is unwound from the inside.
    unsafe {
        let waiter = &*waiter.cast::<Waiter<'_>>();
        cancellation(DEFERRED);
        waiter.condition.leave(waiter.node, LeaveReason::Cancelled);
        // A handler may have cancelled the thread, or jumped, right after the poll had acquired the mutex.
        let has_mutex =
            waiter.has_mutex.get() || waiter.is_user_of_libcs && mutex::is_locked_since_wait(waiter.mutex);
        waiter.acquire_again(has_mutex);
        cancellation(waiter.cancellation);
    }
}
