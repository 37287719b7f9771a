//! Frees what this library keeps for a thread when that thread ends.
//!
//! libc calls [`leave`] through a key of thread-specific data ([`unspin_sys::thread_exit`]). If the program needs all
//! keys, it gets that one as well; from then on nothing is freed when a thread ends.

use crate::{sandbox, waits, watch};
use unspin_sys::signal::{Mask, block, set_mask};
use unspin_sys::thread_exit::{self, ExitHook, call_at_exit};

/// Creates the key. To be called at the start of a program that may need it, when low numbers are free: storing a value
/// under such a key allocates nothing.
pub fn prepare() {
    thread_exit::reserve();
}

/// Makes libc call `leave` when the calling thread ends.
pub fn expect() {
    call_at_exit(ExitHook::Preload, leave);
}

extern "C-unwind" fn leave() {
    if sandbox::is_closed() {
        return;
    }
    let mask = block(Mask::ALL_BUT_SIGBUS);
    watch::thread::leave();
    waits::thread::leave();
    set_mask(mask);
}
