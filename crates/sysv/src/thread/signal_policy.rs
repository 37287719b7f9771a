//! How this process protects critical sections from signal handlers: see [`super::signal`].

use unspin_sync::machine::{AtomicBool, Ordering::Relaxed};

/// How critical sections are protected from signal handlers: see [`super::signal`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The engine masks signals around its critical sections. If a handler leaves a waiting call by `longjmp`, the wait
    /// stays in its queue until the thread's next call.
    Block,
    /// Each handler runs after a call of [`enter_handler`](super::signal::enter_handler).
    Trampolines,
}

static TRAMPOLINES: AtomicBool = AtomicBool::new(false);

/// Sets the policy of this process, which is [`Policy::Block`] by default. To be called before the first call of an
/// engine.
pub fn set_policy(policy: Policy) {
    // Relaxed: set before other threads use an engine.
    TRAMPOLINES.store(policy == Policy::Trampolines, Relaxed);
}

/// Whether sections mask signals.
pub(crate) fn masks() -> bool {
    // Relaxed: see `set_policy`.
    !TRAMPOLINES.load(Relaxed)
}
