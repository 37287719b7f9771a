//! The end of a thread: what this library keeps for it is given back.
//!
//! One key of thread-specific data serves all of this library.

use crate::{sandbox, waits, watch};
use unspin_sys::signal::{Mask, set_mask};
use unspin_sys::tls::{self, ExitKey};

static EXIT: ExitKey = ExitKey::new(leave);

/// Takes the key. To be called at the start: a key with a low number costs no allocation when it is used.
pub fn prepare() {
    EXIT.reserve();
}

/// Sees to it that what is kept for the calling thread is given back when it ends.
pub fn expect() {
    // Any value but 0 makes libc call the destructor.
    tls::at_thread_exit(&EXIT, 1);
}

extern "C-unwind" fn leave(_: usize) {
    if sandbox::is_closed() {
        return;
    }
    let mask = set_mask(Mask::ALL);
    watch::thread::leave();
    waits::thread::leave();
    set_mask(mask);
}
