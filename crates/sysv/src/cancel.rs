//! Cancellation points: msgsnd(2) and msgrcv(2) are, semop(2) is not (pthreads(7)).
//!
//! A thread that sleeps there lets itself be cancelled asynchronously for the length of the system call, as glibc's own
//! functions do; that is left to whoever knows pthreads, and so is calling [`leave`] if that happens. It is then unwound from
//! here, through frames that have nothing to drop.
//!
//! A thread may also let itself be cancelled at any instruction. Whoever calls the engine for it sees to it that it is not
//! meanwhile; then all its sleeps are such points, and it takes no way on which nobody asks.

use crate::thread::{self, Thread};
use crate::wait::{self, Buffer};
use std::sync::OnceLock;
use unspin_sys::tls::{self, Word};

/// Runs a sleep, in which the calling thread may be cancelled: then it calls [`leave`] before the program's clean-up handlers
/// run, and unwinds.
pub type Sleeper = fn(&mut dyn FnMut());

static SLEEPER: OnceLock<Sleeper> = OnceLock::new();

/// Makes sleeps in msgsnd and msgrcv cancellation points, and for threads that may be cancelled anywhere those in semop as well.
/// Once; before that they are none.
pub fn set_sleeper(sleeper: Sleeper) {
    // A second one would be the same.
    let _ = SLEEPER.set(sleeper);
}

/// Ends the wait of a thread that was cancelled in its sleep: nothing that its call was to read or write is looked at any more.
pub fn leave() {
    thread::joined().for_each(|thread| wait::interrupt(thread, Buffer::Gone));
}

/// How a thread lets itself be cancelled. Zero: the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Manner {
    /// At cancellation points.
    Deferred = 0,
    /// Anywhere.
    Asynchronous,
}

/// Notes how the program lets the calling thread be cancelled; it is not, anywhere, while it is in the engine.
pub fn note(manner: Manner) {
    tls::word(Word::Cancel).set(manner as usize);
    thread::joined().for_each(Thread::choose_way);
}

/// How the program lets the calling thread be cancelled.
#[inline(always)]
pub fn manner() -> Manner {
    match tls::value::<{ Word::Cancel as usize }>() {
        0 => Manner::Deferred,
        _ => Manner::Asynchronous,
    }
}

/// Whether a sleep is a cancellation point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Point {
    No,
    Yes,
}

/// Runs a sleep, in which the thread may be cancelled.
pub(crate) fn during<R: Copy>(point: Point, sleep: impl Fn() -> R) -> R {
    let may_be = point == Point::Yes || manner() == Manner::Asynchronous;
    let Some(sleeper) = SLEEPER.get().filter(|_| may_be) else { return sleep() };
    let mut result = None;
    sleeper(&mut || result = Some(sleep()));
    result.expect("a sleeper runs what it is given")
}
