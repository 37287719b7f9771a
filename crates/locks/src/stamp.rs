//! Rate limit: when an action was last done, in 16 bits.

use crate::host;
use unspin_sync::atomic::{AtomicU16, Ordering};

/// Ticks after which a wait counts as long: 2 to 8 milliseconds on machines of 1 to 4 GHz. Each hand-off costs a
/// wake-up during which the lock is idle, so hand-offs must not be more frequent.
pub(crate) const LONG: u64 = 1 << 23;
/// The unit of a stamp, as a shift of ticks. A stamp wraps, so an action is sometimes due too early or a little late.
const UNIT: u32 = 16;

/// Whether the action was last done more than [`LONG`] ago. If so, records now as the last time.
pub(crate) fn is_due(stamp: &AtomicU16) -> bool {
    let now = (host::ticks() >> UNIT) as u16;
    // Relaxed: only a hint.
    let is_due = now.wrapping_sub(stamp.load(Ordering::Relaxed)) > (LONG >> UNIT) as u16;
    if is_due {
        // Relaxed: as above.
        stamp.store(now, Ordering::Relaxed);
    }
    is_due
}
