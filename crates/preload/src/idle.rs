//! Whether this library has nothing to do in this process but to pass calls on.

use crate::swap::plan;
use crate::watch::recording;
use unspin_sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Set once and never reset. Relaxed, here and below: no other data is read because of it, and a hook that does not see
/// it yet finds out in a longer way.
static IDLE: AtomicBool = AtomicBool::new(false);

/// Whether it is certain that nothing is recorded and nothing is replaced.
#[inline(always)]
pub fn is_idle() -> bool {
    IDLE.load(Relaxed)
}

/// To be called when the program begins, and by threads that find that they are not recorded.
#[cold]
pub fn find_out() {
    if recording::is_off() && plan::is_off() {
        IDLE.store(true, Relaxed);
    }
}
