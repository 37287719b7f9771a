//! The parts that all locks share: an attempt, possibly a wait, a hold.

use crate::watch::{Hook, Object, Thread};
use core::ffi::c_int;
use libc::{EBUSY, EOWNERDEAD};
use unspin_meter::{AttemptOutcome, RecordKind, RowRef};

/// How a thread waits for a lock that is not free.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// It sleeps.
    Asleep,
    /// It spins for a while, then sleeps.
    SpinningFirst,
    /// It spun; the lock has reported so.
    Spinning,
    /// It did not wait: the lock had become free in the meantime.
    NotAtAll,
}

/// A blocking attempt to acquire a lock. `tried` is libc's trylock. `blocked` is the function that the program called.
/// `waiting` returns, after `blocked`, how the thread waited. `again` returns whether the thread held the lock before.
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
            thread.table().reclassify_attempt(place, AttemptOutcome::NoWait, AttemptOutcome::Rejected);
            code
        }
    }
}

/// An attempt that does not block.
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
        thread.table().reclassify_attempt(place, AttemptOutcome::NoWait, AttemptOutcome::Rejected);
    } else if again(thread) {
        thread.took_again(held, place);
    } else {
        thread.took(held, place);
    }
    code
}

/// Ends a hold. `released` is libc's unlock.
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

/// Counts an attempt by the calling thread, first as one without a wait; see [`Thread::attempt`].
#[inline(always)]
pub fn attempt(object: Object, released: u64, hook: Hook) -> Option<(&'static Thread, RowRef)> {
    let thread = Thread::current()?;
    Some((thread, thread.attempt(object, released, hook)?))
}

/// Records where an object was initialised.
#[cold]
pub fn initialised<T>(object: *const T, hook: Hook) {
    if let Some((thread, place)) = attempt(Object::new(RecordKind::Init, object), 0, hook) {
        thread.table().record_init(place, thread.now());
    }
}

/// Whether the lock was acquired: EOWNERDEAD means that the owner of a robust mutex has died, and that the caller has
/// acquired it.
#[inline(always)]
pub fn is_success(code: c_int) -> bool {
    code == 0 || code == EOWNERDEAD
}

/// Upper limit, in ticks, of glibc's spinning before it sleeps: a hundred pauses (MAX_ADAPTIVE_COUNT).
const SPINNING_MAX: u64 = 10_000;

#[cold]
#[inline(never)]
fn contended(
    thread: &Thread,
    place: RowRef,
    held: u64,
    waiting: impl FnOnce() -> Waiting,
    blocked: impl FnOnce() -> c_int,
) -> c_int {
    let table = thread.table();
    table.reclassify_attempt(place, AttemptOutcome::NoWait, AttemptOutcome::Slept);
    let begin = thread.now();
    table.set_wait_start(place, begin);
    let code = blocked();
    let end = thread.now();
    table.set_wait_start(place, 0);
    let wait = end.saturating_sub(begin);
    let waiting = waiting();
    if is_success(code) && waiting == Waiting::NotAtAll {
        table.reclassify_attempt(place, AttemptOutcome::Slept, AttemptOutcome::NoWait);
        thread.took(held, place);
        return code;
    }
    let is_spin = match waiting {
        Waiting::Spinning => true,
        Waiting::SpinningFirst => thread.has_clock() && wait <= SPINNING_MAX,
        Waiting::Asleep | Waiting::NotAtAll => false,
    };
    let (spun, slept) = if is_spin { (wait, 0) } else { (0, wait) };
    if is_success(code) {
        thread.took_after(held, place, end, spun, slept);
        if is_spin {
            table.reclassify_attempt(place, AttemptOutcome::Slept, AttemptOutcome::Spun);
        }
    } else {
        table.reclassify_attempt(place, AttemptOutcome::Slept, AttemptOutcome::Rejected);
        if thread.has_clock() {
            table.add_wait(place, AttemptOutcome::Rejected, spun, slept);
        }
    }
    code
}
