//! Whether a bias has paid, and when one that was revoked may return.
//!
//! The paper lets it return after a multiple of the time that the revocation took (Dice and Kogan 2019, 3.1: `InhibitUntil`). A reader
//! that is counted would have to read the clock for that, which costs as much as what it saves. So here a number of readers is
//! counted first. It depends on how long the bias before lasted.

#[cfg(not(any(loom, shuttle)))]
use super::word::MAX_UNBIASED;
use crate::host;
use core::time::Duration;
use unspin_sync::atomic::{AtomicU32, Ordering};

/// A bias that has lasted for this many times as long as its revocation took has paid.
const MULTIPLE: u64 = 4;
/// How many readers are counted after a bias that has paid, and after any other.
#[cfg(not(any(loom, shuttle)))]
const FEW_AND_MANY: (u64, u64) = (16, MAX_UNBIASED);
/// In models the bias always returns at once, since the readers are few.
#[cfg(any(loom, shuttle))]
const FEW_AND_MANY: (u64, u64) = (0, 0);
/// A bias that lasts for so long may do without fences: membarrier(2), which then revokes it, takes a tenth of the time at most.
const LONG: Duration = Duration::from_micros(100);
/// Ticks of a unit, as a power of two: some 100 ns. A stamp wraps after minutes.
const UNIT: u32 = 8;

/// When the bias was set, in units. A hint.
#[derive(Debug)]
pub(super) struct BiasedSince(AtomicU32);

impl BiasedSince {
    /// Of a lock that was never biased.
    #[cfg(not(loom))]
    pub(super) const fn never() -> BiasedSince {
        BiasedSince(AtomicU32::new(0))
    }

    /// As above.
    #[cfg(loom)]
    pub(super) fn never() -> BiasedSince {
        BiasedSince(AtomicU32::new(0))
    }

    /// To be called after the bias was set.
    pub(super) fn begin(&self) {
        // Relaxed, here and below: a hint.
        self.0.store(units(host::ticks()), Ordering::Relaxed);
    }

    /// Whether the bias has lasted for so long that readers may do without fences.
    pub(super) fn is_long(&self) -> bool {
        let age = units(host::ticks()).wrapping_sub(self.0.load(Ordering::Relaxed));
        u64::from(age) >= host::ticks_in(LONG.as_nanos() as u64) >> UNIT
    }

    /// How many readers are to be counted before the bias returns, of which the revocation began at this time, in ticks, and is over.
    /// Many if writers wait: they are to find the lock free before they would have to revoke the bias again.
    pub(super) fn readers_to_count(&self, began: u64, has_waiters: bool) -> u64 {
        let (few, many) = FEW_AND_MANY;
        let age = units(began).wrapping_sub(self.0.load(Ordering::Relaxed));
        let took = host::ticks().wrapping_sub(began);
        let has_paid = u64::from(age) >= took.saturating_mul(MULTIPLE) >> UNIT;
        if has_paid && !has_waiters { few } else { many }
    }
}

fn units(ticks: u64) -> u32 {
    (ticks >> UNIT) as u32
}
