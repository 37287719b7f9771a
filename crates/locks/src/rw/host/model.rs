//! A model has no signals, no forks and no `membarrier`: both sides fence.

use core::cell::Cell;
use unspin_sync::atomic::{Ordering::SeqCst, fence};
use unspin_sync::machine::{AtomicBool, Ordering::Relaxed};
use unspin_sync::modelled::{lazy_static, thread_local};

lazy_static! {
    /// Planted bug: readers of biased locks have no fence.
    pub(crate) static ref UNFENCED: AtomicBool = AtomicBool::new(false);
}

thread_local! {
    static LINE: Cell<usize> = Cell::new(0);
    static HOLDS: Cell<usize> = Cell::new(0);
}

pub(in crate::rw) fn line() -> usize {
    LINE.with(Cell::get)
}

pub(in crate::rw) fn set_line(address: usize) {
    LINE.with(|line| line.set(address));
}

pub(in crate::rw) fn with_holds<R>(then: impl FnOnce(&Cell<usize>) -> R) -> R {
    HOLDS.with(then)
}

pub(in crate::rw) fn fence_of_reader() {
    // Relaxed: the threads of a model run one at a time.
    if !UNFENCED.load(Relaxed) {
        // Pairs with the fence in `fence_of_writer`.
        fence(SeqCst);
    }
}

/// The reader has had its fence.
pub(in crate::rw) fn fence_of_fenced_reader() {}

pub(in crate::rw) fn fence_of_writer_among_fenced() {
    fence_of_writer();
}

pub(in crate::rw) fn fence_of_writer() {
    // Pairs with the fence in `fence_of_reader`.
    fence(SeqCst);
}

pub(in crate::rw) fn call_in_child(_: unsafe extern "C" fn()) {}

pub(in crate::rw) fn call_at_thread_exit(_: extern "C-unwind" fn()) {}
