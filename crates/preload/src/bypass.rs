//! Whether there is code whose calls of libc bypass the hooks. [`dlopen`](crate::dlopen) finds it.
//!
//! The protocol of what follows is that of [`unspin_locks::handover`]. From then on nothing is replaced any more:
//! conditions are libc's (waiters of ours are woken), and a mutex of ours becomes libc's when a thread of the program next
//! acquires it, or waits with it. A mutex that a thread of the program holds at that moment is ours until it is released. So
//! does a read-write lock, when a thread acquires it alone.

use unspin_locks::HandOver;

/// Whether there is, or may be, such code. Each reader has its own argument why it sees that in time.
pub static HAND_OVER: HandOver = HandOver::NOT_BEGUN;

/// Whether there is, or may be, code whose calls bypass the hooks.
#[inline(always)]
pub fn exists() -> bool {
    HAND_OVER.has_begun()
}
