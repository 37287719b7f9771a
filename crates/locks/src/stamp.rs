//! Rate limit: when an action was last done, in 16 bits.

use crate::host;
use unspin_sync::atomic::{AtomicU16, Ordering};

/// After this time a wait counts as long. Each hand-off costs a wake-up during which the lock is idle, so hand-offs must
/// not be more frequent.
const LONG_NS: u64 = 3_200_000;

/// Whether a wait of this many ticks is long.
pub(crate) fn is_long(ticks: u64) -> bool {
    ticks > host::ticks_in(LONG_NS)
}

/// Whether the action was last done longer ago than a long wait takes. If so, records now as the last time.
///
/// The unit of a stamp is a power of two of ticks: a 128th of a long wait, or up to half of that. A stamp wraps, so an action is
/// sometimes due too early or a little late.
pub(crate) fn is_due(stamp: &AtomicU16) -> bool {
    let long = host::ticks_in(LONG_NS);
    let unit = long.ilog2().saturating_sub(7);
    let now = (host::ticks() >> unit) as u16;
    // Relaxed: only a hint.
    let is_due = now.wrapping_sub(stamp.load(Ordering::Relaxed)) > (long >> unit) as u16;
    if is_due {
        // Relaxed: as above.
        stamp.store(now, Ordering::Relaxed);
    }
    is_due
}
