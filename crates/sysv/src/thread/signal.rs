//! The engine and the program's signal handlers.
//!
//! In the kernel a handler never runs in the middle of a `semop`: the call has ended, or it has been withdrawn from its
//! queue and will return `EINTR`. In user space a handler can interrupt the engine anywhere, call `semop` itself, and
//! leave by `longjmp`. Two policies keep the kernel's semantics.
//!
//! With [`Policy::Block`] the engine blocks signals while it holds a lock: two system calls for each section. With
//! [`Policy::Trampolines`] the code that owns the program's handlers (the preload library) calls [`enter_handler`]
//! before each handler. That call withdraws a wait, or defers the signal to the end of the current critical section.
//! This policy costs nothing while no signal arrives.

use crate::engine::Inner;
use crate::thread::{self, Thread};
use crate::waiting::{self, CallerBuffers};

pub use super::signal_policy::{Policy, set_policy};

/// What a trampoline does with its signal.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// Run the program's handler. When it has returned (if it does), call [`Interrupted::go_on`].
    Deliver(Interrupted),
    /// Block all signals in the interrupted context's mask, queue the signal to the thread again, and return. The
    /// signal arrives when the engine restores the mask.
    Defer,
}

/// To be called by a trampoline before it runs the program's handler. `mask_before` is the signal mask of the
/// interrupted code (`uc_sigmask`).
///
/// If the thread waits in `semop`, its wait is withdrawn first. As in the kernel, that call then returns `EINTR`, or
/// success if its operation was granted already.
pub fn enter_handler(mask_before: u64) -> Entry {
    if let Some(critical) = thread::records_in_use().find(|thread| thread.is_critical()) {
        critical.defer(mask_before);
        return Entry::Defer;
    }
    thread::records_in_use().for_each(|thread| waiting::interrupt(thread, CallerBuffers::Live));
    Entry::Deliver(Interrupted(thread::records_in_use().next().map(|thread| (thread, thread.inner()))))
}

/// The engine's state of a thread when a handler interrupted it, perhaps in the middle of a call.
#[derive(Clone, Copy, Debug)]
pub struct Interrupted(Option<(&'static Thread, &'static Inner)>);

impl Interrupted {
    /// The state of a thread that certainly was in no call of the engine.
    pub const OUTSIDE: Interrupted = Interrupted(None);

    /// To be called when the handler has returned. If the handler has forked, and this is the child, the state was
    /// wiped. The interrupted call continues in the child too, so this makes the child a participant with the same
    /// record.
    #[inline]
    pub fn go_on(self) {
        if let Interrupted(Some((thread, inner))) = self
            && thread.is_wiped()
        {
            thread.return_to(inner);
        }
    }
}
