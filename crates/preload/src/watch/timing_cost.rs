//! When level `auto` stops timing every hold of a thread.
//!
//! A thread times a stretch of holds. Then it compares what the timing is assumed to cost with how long the stretch has
//! lasted. A thread that takes fewer locks than that in its life has all of its holds timed.
//!
//! From then on it times the holds of rare rows, which cost little, and samples those of frequent rows, which cause the
//! cost: [`is_rare`].

use unspin_sys::clock;

/// Holds of a stretch. A stretch is decided on as a whole, so that a burst at the start of a program, which lasts a
/// fraction of a millisecond, is timed.
pub const STRETCH: u32 = 1 << 14;

/// The share of a thread's time that the timing may cost, in percent.
const PERCENT: u64 = 3;

/// What it costs to time a hold, in readings of the clock: two that it makes, and the bookkeeping, which is taken for a
/// third one.
const READINGS: u64 = 3;

/// Acquisitions of a row from which on it is frequent.
const FREQUENT: u64 = 1 << 10;

/// Whether a row with this many acquisitions, the present one among them, is rare: each of its holds is timed. A lock that
/// is taken seldom is often one that is held long, and few random holds would say nothing about it.
pub fn is_rare(acquisitions: u64) -> bool {
    acquisitions <= FREQUENT
}

/// Whether the timing of `holds` holds within `elapsed` ticks has cost more than its share, where a reading of the clock
/// costs `reading` ticks. If that many holds cannot have been timed in so little time, it is not known: a signal handler
/// has begun a new stretch while its thread was about to end one.
pub fn exceeds_share(holds: u32, elapsed: u64, reading: u64) -> bool {
    let readings = u64::from(holds).saturating_mul(reading);
    let cost = readings.saturating_mul(READINGS);
    elapsed >= readings && cost.saturating_mul(100) > elapsed.saturating_mul(PERCENT)
}

/// What a reading of the clock costs on this machine, in ticks: the shortest of a few, as an interruption only prolongs one.
pub fn clock_reading() -> u64 {
    let mut last = clock::ticks();
    let readings = core::array::from_fn::<u64, 8, _>(|_| {
        let now = clock::ticks();
        now.saturating_sub(core::mem::replace(&mut last, now))
    });
    readings.into_iter().min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_is_three_percent_of_the_time() {
        // A hold costs 90 ticks; 3 % of 3,000.
        assert!(!exceeds_share(1_000, 3_000_000, 30));
        assert!(exceeds_share(1_000, 2_999_999, 30));
        assert!(exceeds_share(1_000, 30_000, 30));
        assert!(!exceeds_share(1_000, 29_999, 30), "each hold reads the clock");
        assert!(!exceeds_share(STRETCH, 0, 30), "no time has passed");
        assert!(!exceeds_share(STRETCH, u64::MAX, 30), "the sum does not wrap");
        assert!(!exceeds_share(0, 0, 30));
    }

    #[test]
    fn row_is_frequent_from_some_acquisitions_on() {
        assert!(is_rare(1) && is_rare(FREQUENT) && !is_rare(FREQUENT + 1));
        assert!(
            FREQUENT < u64::from(STRETCH),
            "the row that makes a thread take a stretch of locks is frequent at once"
        );
    }

    #[test]
    fn frequent_holds_exceed_the_share_and_rare_ones_do_not() {
        let reading = clock_reading();
        assert!(exceeds_share(STRETCH, u64::from(STRETCH) * 10 * reading, reading) == (reading > 0));
        assert!(!exceeds_share(STRETCH, u64::from(STRETCH) * 101 * reading, reading));
    }
}
