//! Frees what this library keeps for a thread when that thread ends.
//!
//! The whole library uses one key of thread-specific data.

use crate::{sandbox, waits, watch};
use unspin_sys::signal::{Mask, set_mask};
use unspin_sys::tls::{self, ExitKey};

static EXIT: ExitKey = ExitKey::new(leave);

/// Creates the key. To be called at the start of the program: storing a value under a key with a low number allocates
/// nothing.
pub fn prepare() {
    EXIT.reserve();
}

/// Makes libc call `leave` when the calling thread ends.
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
