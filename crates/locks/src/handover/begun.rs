//! Whether the hand-over has begun.

use unspin_sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};

/// Whether libc is to serve everything. Set once, before the first code that calls libc directly can run.
#[derive(Debug)]
pub struct HandOver(AtomicBool);

impl HandOver {
    /// It has not begun.
    #[cfg(not(any(loom, shuttle)))]
    #[expect(clippy::declare_interior_mutable_const, reason = "a value to begin with, as in lock_api")]
    pub const NOT_BEGUN: HandOver = HandOver(AtomicBool::new(false));

    /// Whether it has. A thread that calls this after it has acquired a lock sees what the lock's last owner saw.
    #[inline(always)]
    pub fn has_begun(&self) -> bool {
        // Relaxed: the lock that the caller has acquired orders. Each caller names it.
        self.0.load(Relaxed)
    }

    /// Begins it. Returns whether this call did.
    pub fn begin(&self) -> bool {
        // SeqCst: no more than the lock operations after it would order; it is called once.
        !self.0.swap(true, SeqCst)
    }
}

#[cfg(any(loom, shuttle))]
impl Default for HandOver {
    fn default() -> HandOver {
        HandOver(AtomicBool::new(false))
    }
}
