//! How many locks a thread holds for reading.

use super::{host, slots};

/// Counts an acquisition that is counted in a lock.
#[inline(always)]
pub(super) fn count_acquisition() {
    host::with_holds(|holds| holds.set(holds.get().wrapping_add(1)));
}

/// Counts the release of a hold that was counted in a lock. A thread that releases what another one has acquired may have none
/// left to count.
#[inline(always)]
pub(super) fn count_release() {
    host::with_holds(|holds| holds.set(holds.get().saturating_sub(1)));
}

/// How many locks the calling thread holds for reading, each counted as often as it holds it.
///
/// If others release counted holds of a thread, it counts them until it ends: it overtakes writers that wait.
pub fn holds() -> u32 {
    host::with_holds(|holds| holds.get() as u32) + slots::published()
}
