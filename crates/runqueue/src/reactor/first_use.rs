//! Whether the calling thread has begun the use of the reactor.

use core::cell::Cell;

thread_local! {
    static IS_FIRST: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread has added a source or a timer when there was none.
pub(super) fn set_first_use() {
    IS_FIRST.set(true);
}

/// Whether the calling thread has begun the use of the reactor since this was last asked. Workers that sleep since before
/// may not drive the reactor.
#[inline(always)]
pub(crate) fn take_first_use() -> bool {
    IS_FIRST.replace(false)
}
