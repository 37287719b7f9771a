//! The engine and the program's signal handlers.
//!
//! In the kernel a handler never runs in the middle of a `semop`: the call has ended, or it has been withdrawn from
//! its queue and will answer `EINTR`. In user space a handler can interrupt the engine anywhere, call `semop` itself,
//! and leave by `longjmp`. Two policies keep the kernel's semantics.
//!
//! With [`Policy::Block`] the engine blocks signals while it holds a lock: two system calls a section. With
//! [`Policy::Trampolines`] whoever owns the program's handlers (the preload does) asks [`entering_handler`] before
//! each: it withdraws a waiting call, and puts a signal off that arrives in a critical section until the section's
//! end. Then nothing is paid on the way.

use crate::engine::Inner;
use crate::thread::{self, Thread};
use crate::wait::{self, Buffer};
use unspin_sync::machine::{AtomicBool, Ordering::Relaxed};

/// See the module's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The engine masks signals around its critical sections. A handler that leaves a waiting call by `longjmp`
    /// leaves the wait in its queue until the thread's next call.
    Block,
    /// Handlers run behind [`entering_handler`].
    Trampolines,
}

static TRAMPOLINES: AtomicBool = AtomicBool::new(false);

/// Chooses the policy of this process; [`Policy::Block`] unless chosen otherwise. Before the first call of an engine.
pub fn set_policy(policy: Policy) {
    // Relaxed: set before other threads use an engine.
    TRAMPOLINES.store(policy == Policy::Trampolines, Relaxed);
}

/// Whether sections mask signals.
pub(crate) fn masks() -> bool {
    // Relaxed: see set_policy.
    !TRAMPOLINES.load(Relaxed)
}

/// What a trampoline does with the signal it got.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// Run the program's handler, and when it has returned (if it does), go [on](Interrupted::go_on).
    Deliver(Interrupted),
    /// Block everything in the interrupted context's mask, queue the signal to the thread again, and return: it
    /// arrives when the engine restores the mask.
    Defer,
}

/// To be asked by a trampoline before it runs the program's handler. `mask_before` is the signal mask of the code
/// that was interrupted (`uc_sigmask`).
///
/// A thread that waits in `semop` is withdrawn first: that call will answer `EINTR`, or success if its operation was
/// granted already, as in the kernel.
pub fn entering_handler(mask_before: u64) -> Entry {
    if let Some(critical) = thread::joined().find(|thread| thread.is_critical()) {
        critical.defer(mask_before);
        return Entry::Defer;
    }
    thread::joined().for_each(|thread| wait::interrupt(thread, Buffer::Live));
    Entry::Deliver(Interrupted(thread::joined().next().map(|thread| (thread, thread.inner()))))
}

/// The engine's state of a thread when a handler interrupted it: perhaps in the middle of a call.
#[derive(Clone, Copy, Debug)]
pub struct Interrupted(Option<(&'static Thread, &'static Inner)>);

impl Interrupted {
    /// That of a thread which certainly was in no call.
    pub const OUTSIDE: Interrupted = Interrupted(None);

    /// The handler has returned. If it has forked, and this is the child, the state was wiped: the interrupted call goes on
    /// with it here as well, as a participant of its own.
    #[inline]
    pub fn go_on(self) {
        if let Interrupted(Some((thread, inner))) = self
            && thread.is_wiped()
        {
            thread.return_to(inner);
        }
    }
}
