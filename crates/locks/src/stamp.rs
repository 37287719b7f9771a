//! What is to be done now and then, but not each time: when it was last done, in sixteen bits.

use crate::host;
use unspin_sync::atomic::{AtomicU16, Ordering};

/// Ticks that are long for a waiter: 2 to 8 milliseconds, on machines of 1 to 4 GHz. Each hand-off costs a wake-up during which
/// the lock is idle, so not more often.
pub(crate) const LONG: u64 = 1 << 23;
/// The unit of a stamp, as a shift of ticks. A stamp wraps: now and then something is due too soon, or a little late.
const UNIT: u32 = 16;

/// Whether the last time was [`LONG`] ago; then now is the last time.
pub(crate) fn is_due(stamp: &AtomicU16) -> bool {
    let now = (host::ticks() >> UNIT) as u16;
    // Relaxed: a hint.
    let is_due = now.wrapping_sub(stamp.load(Ordering::Relaxed)) > (LONG >> UNIT) as u16;
    if is_due {
        // Relaxed: as above.
        stamp.store(now, Ordering::Relaxed);
    }
    is_due
}
