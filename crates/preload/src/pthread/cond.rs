//! Condition variables. A wait is three things: the mutex's hold ends, the condition is waited for, the mutex is taken again.
//!
//! Where the wait for the condition ended and that for the mutex began, only the kernel knows. A thread that went to sleep
//! once slept for the condition and found the mutex free; one that did so twice slept for the mutex too, and its wait for
//! that is counted from the latest signal, so the wake-up is part of it.

use super::acquire::{attempt, initialised, is_success};
use super::{layout, mutex, real, signalled};
use crate::next::forward;
use crate::sandbox;
use crate::watch::{Hook, Object, Thread};
use core::convert::identity;
use core::ffi::c_int;
use libc::{clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, timespec};
use unspin_meter::{Kind, Outcome, Place};
use unspin_sys::{clock, entry, process};

entry! {
    /// pthread_cond_init(3).
    fn pthread_cond_init(2) = init;
    /// pthread_cond_wait(3).
    fn pthread_cond_wait(2) = wait;
    /// pthread_cond_timedwait(3).
    fn pthread_cond_timedwait(3) = timedwait;
    /// pthread_cond_clockwait(3).
    fn pthread_cond_clockwait(4) = clockwait;
}

forward! { identity:
    /// pthread_cond_destroy(3).
    fn pthread_cond_destroy(condition: *mut pthread_cond_t) -> c_int;
}

unsafe extern "C-unwind" fn init(
    condition: *mut pthread_cond_t,
    attributes: *const pthread_condattr_t,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    let (code, hook) = unsafe { (real::cond_init(condition, attributes), Hook::new(sp, bp)) };
    if code == 0 {
        initialised(condition, hook);
    }
    code
}

unsafe extern "C-unwind" fn wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    unsafe { during(condition, mutex, Hook::new(sp, bp), || real::cond_wait(condition, mutex)) }
}

unsafe extern "C-unwind" fn timedwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    unsafe { during(condition, mutex, Hook::new(sp, bp), || real::cond_timedwait(condition, mutex, until)) }
}

unsafe extern "C-unwind" fn clockwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
    sp: usize,
    bp: usize,
) -> c_int {
    // SAFETY: the program's arguments; `entry` gives the registers.
    unsafe {
        let waited = || real::cond_clockwait(condition, mutex, clock, until);
        during(condition, mutex, Hook::new(sp, bp), waited)
    }
}

/// A wait, measured. `waited` is libc's, which answers as `pthread_cond_wait` does.
pub fn during(
    condition: *const pthread_cond_t,
    mutex: *const pthread_mutex_t,
    hook: Hook,
    waited: impl FnOnce() -> c_int,
) -> c_int {
    let held = mutex::object(mutex).held();
    let Some((thread, place)) = attempt(Object::new(Kind::Condition, condition), held, hook) else {
        return waited();
    };
    let again = thread.place(Object::new(Kind::Reacquired, mutex), hook);
    let wait = Wait { thread, place, again, condition: condition as usize, held };
    let begun = wait.begin();
    let code = waited();
    wait.end(begun, code);
    code
}

/// How often the thread has gone to sleep of its own accord, as far as one may ask.
fn switches() -> u64 {
    if sandbox::is_closed() { 0 } else { process::voluntary_switches() }
}

struct Wait {
    thread: &'static Thread,
    /// The row of the condition, and that of the mutex's return.
    place: Place,
    again: Option<Place>,
    condition: usize,
    held: u64,
}

/// What was noted before.
struct Begun {
    at: u64,
    /// How often the thread had gone to sleep.
    switches: u64,
    /// Whether the mutex was seen to be held.
    held: bool,
}

impl Wait {
    fn begin(&self) -> Begun {
        let table = self.thread.table();
        table.reclassify(self.place, Outcome::NoWait, Outcome::Slept);
        if !self.thread.has_clock() {
            return Begun { at: 0, switches: 0, held: false };
        }
        let at = clock::ticks();
        let grip = table.let_go(self.held);
        if let Some(grip) = &grip {
            self.thread.settle(grip, grip.place(), at);
        }
        self.thread.set_waiting(self.held);
        table.waiting(self.place, at);
        Begun { at, switches: switches(), held: grip.is_some() }
    }

    fn end(&self, begun: Begun, code: c_int) {
        let table = self.thread.table();
        // The mutex is the thread's again unless the call was refused outright; then it never gave it up.
        let back = is_success(code) || code == libc::ETIMEDOUT;
        let outcome = if is_success(code) { Outcome::Slept } else { Outcome::Rejected };
        if !is_success(code) {
            table.reclassify(self.place, Outcome::Slept, Outcome::Rejected);
        }
        if let Some(again) = self.again.filter(|_| back) {
            table.attempt(again);
        }
        if !self.thread.has_clock() {
            return;
        }
        self.thread.set_waiting(0);
        table.waiting(self.place, 0);
        let now = clock::ticks();
        let sleeps = switches().wrapping_sub(begun.switches);
        let signal = signalled::latest(self.condition);
        let for_mutex = if sleeps >= 2 && signal >= begun.at { now.saturating_sub(signal) } else { 0 };
        if back {
            table.waited(self.place, outcome, 0, now.saturating_sub(begun.at).saturating_sub(for_mutex));
        }
        let Some(again) = self.again.filter(|_| begun.held) else { return };
        if back && sleeps >= 2 {
            table.reclassify(again, Outcome::NoWait, Outcome::Slept);
            self.thread.took_after(self.held, again, now, 0, for_mutex);
        } else {
            self.thread.took(self.held, again);
        }
    }
}

/// pthread_cond_signal(3).
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_signal(condition: *mut pthread_cond_t) -> c_int {
    // SAFETY: the program's condition.
    unsafe {
        signal(condition);
        real::cond_signal(condition)
    }
}

/// pthread_cond_broadcast(3).
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_broadcast(condition: *mut pthread_cond_t) -> c_int {
    // SAFETY: the program's condition.
    unsafe {
        signal(condition);
        real::cond_broadcast(condition)
    }
}

/// Notes the time of a signal that somebody waits for.
///
/// # Safety
/// A live condition.
#[inline]
pub unsafe fn signal(condition: *const pthread_cond_t) {
    // SAFETY: the caller's promise.
    if unsafe { layout::is_waited_for(condition) } && Thread::current().is_some_and(Thread::has_clock) {
        signalled::note(condition as usize, clock::ticks());
    }
}
