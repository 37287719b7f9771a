//! Barriers. The last thread to arrive does not wait.

use super::attempt::{Attempt, record_init};
use crate::next::forward;
use crate::swap::plan;
use crate::waits::{Ended, Look, Wait};
use crate::watch::{Hook, Object};
use core::convert::identity;
use core::ffi::{c_int, c_uint};
use libc::{PTHREAD_BARRIER_SERIAL_THREAD, pthread_barrier_t, pthread_barrierattr_t};
use unspin_locks::{Barrier, BarrierRole};
use unspin_sync::atomic::{AtomicBool, Ordering::Relaxed};
use unspin_sys::entry;
use unspin_waiting::CheckKind;
use unspin_wire::looks::Looks;
use unspin_wire::{AttemptOutcome, RecordKind};

crate::next::define_next_codes! {
    /// pthread_barrier_init(3).
    fn barrier_init = pthread_barrier_init(
        barrier: *mut pthread_barrier_t, attributes: *const pthread_barrierattr_t, count: c_uint);
    /// pthread_barrier_destroy(3).
    fn barrier_destroy = pthread_barrier_destroy(barrier: *mut pthread_barrier_t);
    /// pthread_barrier_wait(3).
    fn barrier_wait = pthread_barrier_wait(barrier: *mut pthread_barrier_t);
}

entry! {
    /// pthread_barrier_init(3).
    fn pthread_barrier_init(3) = init;
    /// pthread_barrier_wait(3).
    fn pthread_barrier_wait(1) = wait;
}

forward! { identity =>
    /// pthread_barrier_destroy(3).
    fn pthread_barrier_destroy(barrier: *mut pthread_barrier_t) -> c_int;
}

unsafe extern "C-unwind" fn init(
    barrier: *mut pthread_barrier_t,
    attributes: *const pthread_barrierattr_t,
    count: c_uint,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` passes the registers.
    let (code, hook) = unsafe { (real::barrier_init(barrier, attributes, count), Hook::new(sp, bp)) };
    if code == 0 {
        record_init(barrier, hook);
    }
    code
}

unsafe extern "C-unwind" fn wait(barrier: *mut pthread_barrier_t, sp: usize, bp: usize) -> c_int {
    // SAFETY: `entry` passes the registers.
    let hook = unsafe { Hook::new(sp, bp) };
    // SAFETY: the program's barrier.
    let waited = || unsafe {
        match plan::is_polling() && has_known_words() {
            true => wait_polling(barrier, hook),
            false => real::barrier_wait(barrier),
        }
    };
    let Some(Attempt { thread, row, .. }) = Attempt::at(Object::new(RecordKind::Barrier, barrier), hook)
    else {
        return waited();
    };
    let begin = thread.now();
    thread.table().set_wait_start(row, begin);
    let code = waited();
    thread.table().set_wait_start(row, 0);
    match code {
        // glibc returns this value to the last thread to arrive.
        PTHREAD_BARRIER_SERIAL_THREAD => {}
        0 => {
            thread.table().reclassify_attempt(row, AttemptOutcome::NoWait, AttemptOutcome::Slept);
            if thread.has_clock() {
                thread.table().add_wait(row, AttemptOutcome::Slept, 0, thread.now().saturating_sub(begin));
            }
        }
        _ => thread.table().reclassify_attempt(row, AttemptOutcome::NoWait, AttemptOutcome::Rejected),
    }
    code
}

/// Whether libc's barriers have the layout of [`Barrier`]. Relaxed: written before the program begins. Until then libc
/// waits.
static HAS_KNOWN_WORDS: AtomicBool = AtomicBool::new(false);

fn has_known_words() -> bool {
    HAS_KNOWN_WORDS.load(Relaxed)
}

/// Checks whether the words of a new barrier of libc are those of glibc 2.25 and later. To be called before the program
/// begins.
pub fn prepare() {
    const COUNT: c_uint = 3;
    // SAFETY: the type consists of integers. A live barrier is initialised, read and destroyed.
    let words = unsafe {
        let mut barrier: pthread_barrier_t = core::mem::zeroed();
        if real::barrier_init(&mut barrier, core::ptr::null(), COUNT) != 0 {
            return;
        }
        let words = (&raw const barrier).cast::<[u32; 5]>().read();
        real::barrier_destroy(&mut barrier);
        words
    };
    HAS_KNOWN_WORDS.store(words == [0, 0, COUNT, 0, 0], Relaxed);
}

/// Implements libc's wait on libc's words, with a poll before the sleep. Like libc's, it is not a cancellation point.
///
/// # Safety
/// `barrier` is live, and its words are known.
unsafe fn wait_polling(barrier: *mut pthread_barrier_t, hook: Hook) -> c_int {
    // SAFETY: the caller's promise: these are the words of glibc's barrier, and threads change them by atomic
    // instructions.
    let barrier = unsafe { &*barrier.cast::<Barrier>() };
    let turn = barrier.wait(|word| {
        let wait = Wait::begin(hook, Looks::NONE);
        let look = || if word.has_changed() { Look::Found(()) } else { Look::Nothing };
        if wait.poll(CheckKind::Load, look, |_| None) == Ended::Asleep {
            word.sleep();
            wait.report_sleep();
        }
    });
    match turn {
        BarrierRole::Serial => PTHREAD_BARRIER_SERIAL_THREAD,
        BarrierRole::Other => 0,
    }
}
