//! Sleeps in which the calling thread may be cancelled: see [`super::cancel`].

use std::sync::OnceLock;
use unspin_sys::tls::{self, Word};

/// Runs a sleep in which the calling thread may be cancelled. If it is, the thread calls
/// [`leave`](super::cancel::leave) before the program's clean-up handlers run, and unwinds.
pub type Sleeper = fn(&mut dyn FnMut());

static SLEEPER: OnceLock<Sleeper> = OnceLock::new();

/// Makes sleeps in msgsnd and msgrcv cancellation points, and for threads with asynchronous cancellation also sleeps in
/// semop. To be called once; before that no sleep is a cancellation point.
pub fn set_sleeper(sleeper: Sleeper) {
    // A second sleeper would be the same function.
    let _ = SLEEPER.set(sleeper);
}

/// The cancellation type of a thread (pthread_setcanceltype(3)). Zero is the first variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum CancelType {
    /// Cancelled at cancellation points only.
    Deferred = 0,
    /// Cancelled at any instruction.
    Asynchronous,
}

/// The cancellation type that the program has set for the calling thread.
#[inline(always)]
pub fn cancel_type() -> CancelType {
    match tls::value::<{ Word::Cancel as usize }>() {
        0 => CancelType::Deferred,
        _ => CancelType::Asynchronous,
    }
}

/// Whether a sleep is a cancellation point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CancellationPoint {
    No,
    Yes,
}

/// Runs a sleep, in which the thread may be cancelled if `point` or its cancellation type says so.
pub(crate) fn run_sleep<R: Copy>(point: CancellationPoint, sleep: impl Fn() -> R) -> R {
    let may_be = point == CancellationPoint::Yes || cancel_type() == CancelType::Asynchronous;
    let Some(sleeper) = SLEEPER.get().filter(|_| may_be) else { return sleep() };
    let mut result = None;
    sleeper(&mut || result = Some(sleep()));
    result.expect("a sleeper runs what it is given")
}
