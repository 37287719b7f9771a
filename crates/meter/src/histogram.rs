//! Times by powers of two.

use core::ops::Range;

/// Buckets of a histogram.
pub const BUCKETS: usize = 22;

/// What a histogram is of; the range of times differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// Hold times: from some tens of nanoseconds to some tens of milliseconds.
    Holds,
    /// Waits: from some hundred nanoseconds to some hundred milliseconds.
    Waits,
}

impl Of {
    /// log2 of the first bucket's end, in ticks.
    const fn first(self) -> u32 {
        match self {
            Of::Holds => 6,
            Of::Waits => 9,
        }
    }

    /// Where a time belongs.
    #[inline(always)]
    pub(crate) const fn bucket(self, ticks: u64) -> usize {
        // The number of the highest bit that is set, from 1; 0 for 0.
        let bits = (u64::BITS - ticks.leading_zeros()).saturating_sub(self.first()) as usize;
        if bits < BUCKETS { bits } else { BUCKETS - 1 }
    }
}

/// How many times fell into each bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Histogram {
    of: Of,
    counts: [u64; BUCKETS],
}

impl Histogram {
    /// With these counts.
    pub fn new(of: Of, counts: [u64; BUCKETS]) -> Histogram {
        Histogram { of, counts }
    }

    /// Counts, shortest times first.
    pub fn counts(&self) -> &[u64; BUCKETS] {
        &self.counts
    }

    /// The times of a bucket in ticks; the last one has no end but `u64::MAX`.
    ///
    /// ```
    /// use unspin_meter::{Histogram, Of};
    ///
    /// let holds = Histogram::new(Of::Holds, [0; 22]);
    /// assert_eq!((holds.ticks(0), holds.ticks(1)), (0..64, 64..128));
    /// ```
    pub fn ticks(&self, bucket: usize) -> Range<u64> {
        let end = |bucket: usize| 1 << (self.of.first() as usize + bucket);
        let from = if bucket == 0 { 0 } else { end(bucket - 1) };
        from..if bucket + 1 < BUCKETS { end(bucket) } else { u64::MAX }
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Histogram) {
        for (into, n) in self.counts.iter_mut().zip(other.counts) {
            *into = into.saturating_add(n);
        }
    }

    /// A bound below which at least this share of the times lies, in ticks: the end of a bucket. None without times, or
    /// in the last bucket.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let total: u64 = self.counts.iter().fold(0, |sum, &n| sum.saturating_add(n));
        let wanted = (share * total as f64).ceil().max(1.0) as u64;
        let mut below = 0u64;
        for (bucket, &n) in self.counts.iter().enumerate().take(BUCKETS - 1) {
            below = below.saturating_add(n);
            if total > 0 && below >= wanted {
                return Some(self.ticks(bucket).end);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_time_lies_in_its_bucket(ticks: u64, shift in 0u32..64) {
            for of in [Of::Holds, Of::Waits] {
                let ticks = ticks >> shift;
                let histogram = Histogram::new(of, [0; BUCKETS]);
                let range = histogram.ticks(of.bucket(ticks));
                prop_assert!(range.contains(&ticks) || ticks == u64::MAX, "{ticks} {range:?}");
            }
        }
    }

    #[test]
    fn quantiles_are_ends_of_buckets() {
        let mut counts = [0; BUCKETS];
        (counts[0], counts[3], counts[BUCKETS - 1]) = (90, 9, 1);
        let histogram = Histogram::new(Of::Holds, counts);
        assert_eq!([0.5, 0.95, 1.0].map(|share| histogram.quantile(share)), [Some(64), Some(512), None]);
        assert_eq!(Histogram::new(Of::Waits, [0; BUCKETS]).quantile(0.5), None);
    }
}
