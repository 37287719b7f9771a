//! Calls of code of the program whose panics have no place to go.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls code of the program: a destructor or a waker. A panic in it is thrown away.
///
/// The payload of the panic is a value of the program too, whose destructor may panic. The payload of that second panic is
/// leaked, so no panic leaves this function.
pub(crate) fn contain(f: impl FnOnce()) {
    // What `f` has left broken is not used again: it drops a value, or calls a waker, which is gone then.
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else { return };
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        core::mem::forget(second);
    }
}
