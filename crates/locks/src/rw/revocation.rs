//! When a bias that was revoked may return: after a multiple of the time that the revocation took (Dice and Kogan 2019, 3.1:
//! `InhibitUntil`). So writers lose a bounded share of their time.

use crate::host;
use unspin_sync::atomic::{AtomicU32, Ordering};

/// A revocation that takes the time *t* is followed by 9 *t* without a bias: revocations take a tenth of the time at most
/// (the paper's `N`).
const MULTIPLE: u64 = 9;
/// Ticks of a unit, as a power of two: some 300 ns. A stamp wraps after twenty minutes.
const UNIT: u32 = 10;

/// The time before which the bias must not return, in units; 0: there is none.
#[derive(Debug)]
pub(super) struct Inhibition(AtomicU32);

impl Inhibition {
    /// No time: the bias may return.
    #[cfg(not(loom))]
    pub(super) const fn none() -> Inhibition {
        Inhibition(AtomicU32::new(0))
    }

    /// As above.
    #[cfg(loom)]
    pub(super) fn none() -> Inhibition {
        Inhibition(AtomicU32::new(0))
    }

    /// Whether the bias may return now.
    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        // Relaxed, here and below: a hint.
        match self.0.load(Ordering::Relaxed) {
            0 => true,
            until => (now().wrapping_sub(until) as i32) >= 0,
        }
    }

    /// To be called after a revocation that began at this time, in ticks.
    pub(super) fn begin(&self, began: u64) {
        let took = host::ticks().wrapping_sub(began);
        let units = (took.saturating_mul(MULTIPLE) >> UNIT).clamp(1, i32::MAX as u64) as u32;
        self.0.store(now().wrapping_add(units).max(1), Ordering::Relaxed);
    }
}

fn now() -> u32 {
    (host::ticks() >> UNIT) as u32
}
