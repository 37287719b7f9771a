//! What all locks have in common: an attempt, perhaps a wait, a hold.

use crate::watch::{Hook, Object, Thread};
use core::ffi::c_int;
use libc::{EBUSY, EOWNERDEAD};
use unspin_meter::{Kind, Outcome, Place};

/// How a lock that is not free is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Asleep.
    Asleep,
    /// Spinning for a while, then asleep.
    SpinningFirst,
    /// Spinning, as was seen.
    Spinning,
}

/// One blocking attempt at a lock. `tried` is libc's trylock, `blocked` the function that the program called, which `waiting`
/// is asked about afterwards; `again` tells whether the thread had it before.
#[inline(always)]
pub fn acquire(
    object: Object,
    hook: Hook,
    waiting: impl FnOnce() -> Waiting,
    again: impl FnOnce(&Thread) -> bool,
    tried: impl FnOnce() -> c_int,
    blocked: impl FnOnce() -> c_int,
) -> c_int {
    let held = object.held();
    let Some((thread, place)) = attempt(object, held, hook) else { return blocked() };
    match tried() {
        EBUSY => contended(thread, place, held, waiting, blocked),
        code if is_success(code) => {
            if again(thread) {
                thread.took_again(held, place);
            } else {
                thread.took(held, place);
            }
            code
        }
        code => {
            thread.table().reclassify(place, Outcome::NoWait, Outcome::Rejected);
            code
        }
    }
}

/// One attempt that does not block.
#[inline(always)]
pub fn try_to(
    object: Object,
    hook: Hook,
    again: impl FnOnce(&Thread) -> bool,
    tried: impl FnOnce() -> c_int,
) -> c_int {
    let held = object.held();
    let Some((thread, place)) = attempt(object, held, hook) else { return tried() };
    let code = tried();
    if !is_success(code) {
        thread.table().reclassify(place, Outcome::NoWait, Outcome::Rejected);
    } else if again(thread) {
        thread.took_again(held, place);
    } else {
        thread.took(held, place);
    }
    code
}

/// The end of a hold. `released` is libc's unlock.
#[inline(always)]
pub fn release(object: Object, hook: Hook, released: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = Thread::current() else { return released() };
    let held = object.held();
    thread.judge(held, hook);
    let now = thread.letting_go(held);
    let code = released();
    if code == 0 {
        thread.let_go(held, now);
    }
    code
}

/// Counts an attempt by the calling thread, for the time being as one that need not wait; see [`Thread::attempt`].
#[inline(always)]
pub fn attempt(object: Object, released: u64, hook: Hook) -> Option<(&'static Thread, Place)> {
    let thread = Thread::current()?;
    Some((thread, thread.attempt(object, released, hook)?))
}

/// Notes where an object was initialised.
#[cold]
pub fn initialised<T>(object: *const T, hook: Hook) {
    if let Some((thread, place)) = attempt(Object::new(Kind::Init, object), 0, hook) {
        thread.table().initialised(place, thread.now());
    }
}

/// Whether the lock was taken: a robust mutex may be taken from a dead owner.
#[inline(always)]
pub fn is_success(code: c_int) -> bool {
    code == 0 || code == EOWNERDEAD
}

/// Spinning that glibc does before it sleeps takes no longer: a hundred pauses (MAX_ADAPTIVE_COUNT).
const SPINNING_MAX: u64 = 10_000;

#[cold]
#[inline(never)]
fn contended(
    thread: &Thread,
    place: Place,
    held: u64,
    waiting: impl FnOnce() -> Waiting,
    blocked: impl FnOnce() -> c_int,
) -> c_int {
    let table = thread.table();
    table.reclassify(place, Outcome::NoWait, Outcome::Slept);
    let begin = thread.now();
    table.waiting(place, begin);
    let code = blocked();
    let end = thread.now();
    table.waiting(place, 0);
    let wait = end.saturating_sub(begin);
    let is_spin = match waiting() {
        Waiting::Spinning => true,
        Waiting::SpinningFirst => thread.has_clock() && wait <= SPINNING_MAX,
        Waiting::Asleep => false,
    };
    let (spun, slept) = if is_spin { (wait, 0) } else { (0, wait) };
    if is_success(code) {
        thread.took_after(held, place, end, spun, slept);
        if is_spin {
            table.reclassify(place, Outcome::Slept, Outcome::Spun);
        }
    } else {
        table.reclassify(place, Outcome::Slept, Outcome::Rejected);
        if thread.has_clock() {
            table.waited(place, Outcome::Rejected, spun, slept);
        }
    }
    code
}
