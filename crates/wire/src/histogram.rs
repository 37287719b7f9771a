//! Histograms of times in ticks, with buckets that double.

use core::ops::Range;

/// Number of buckets of a histogram.
pub const BUCKETS: usize = 22;

/// What a histogram counts. The range of times depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeKind {
    /// Hold times: from some tens of nanoseconds to some tens of milliseconds.
    Holds,
    /// Waits: from some hundred nanoseconds to some hundred milliseconds.
    Waits,
}

impl TimeKind {
    /// log2 of the first bucket's end in ticks.
    const fn first(self) -> u32 {
        match self {
            TimeKind::Holds => 6,
            TimeKind::Waits => 9,
        }
    }

    /// The bucket that a time belongs to.
    #[inline(always)]
    pub(crate) const fn bucket(self, ticks: u64) -> usize {
        // The shift leaves the lowest bit of the second bucket's times at position 1; below them is bit 0.
        let bucket = (ticks >> (self.first() - 1) | 1).ilog2() as usize;
        if bucket < BUCKETS { bucket } else { BUCKETS - 1 }
    }
}

/// Number of times in each bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Histogram {
    of: TimeKind,
    counts: [u64; BUCKETS],
}

impl Histogram {
    /// A histogram with these counts.
    pub fn new(of: TimeKind, counts: [u64; BUCKETS]) -> Histogram {
        Histogram { of, counts }
    }

    /// The counts, shortest times first.
    pub fn counts(&self) -> &[u64; BUCKETS] {
        &self.counts
    }

    /// The sum of the counts.
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, &n| sum.saturating_add(n))
    }

    /// The range of a bucket in ticks. The last bucket ends at `u64::MAX`.
    ///
    /// ```
    /// use unspin_wire::{Histogram, TimeKind};
    ///
    /// let holds = Histogram::new(TimeKind::Holds, [0; 22]);
    /// assert_eq!((holds.ticks(0), holds.ticks(1)), (0..64, 64..128));
    /// ```
    pub fn ticks(&self, bucket: usize) -> Range<u64> {
        let end = |bucket: usize| 1 << (self.of.first() as usize + bucket);
        let from = if bucket == 0 { 0 } else { end(bucket - 1) };
        from..if bucket + 1 < BUCKETS { end(bucket) } else { u64::MAX }
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        for (into, n) in self.counts.iter_mut().zip(other.counts) {
            *into = into.saturating_add(n);
        }
    }

    /// The number of times shorter than `limit`, and their sum in ticks. Times are assumed to be evenly distributed
    /// within a bucket. `longest` is the longest of all times; it bounds the bucket that contains it.
    pub fn shorter_than(&self, limit: u64, longest: u64) -> (u64, f64) {
        let (mut shorter, mut ticks) = (0u64, 0.0);
        let limit = limit as f64;
        for (bucket, &n) in self.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            let Range { start, end } = self.range_up_to(bucket, longest);
            if start >= limit {
                break;
            }
            let (n, end) = match end <= limit {
                true => (n, end),
                false => ((n as f64 * (limit - start) / (end - start)).round() as u64, limit),
            };
            shorter = shorter.saturating_add(n);
            ticks += n as f64 * (start + end) / 2.0;
        }
        (shorter, ticks)
    }

    /// The median in ticks, interpolated within its bucket as in [`shorter_than`](Histogram::shorter_than). None if
    /// there are no times.
    pub fn median(&self, longest: u64) -> Option<f64> {
        let half = self.total() as f64 / 2.0;
        let mut below = 0.0;
        for (bucket, &n) in self.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            let n = n as f64;
            if below + n >= half {
                let Range { start, end } = self.range_up_to(bucket, longest);
                return Some(start + (end - start) * (half - below) / n);
            }
            below += n;
        }
        None
    }

    /// The ranges of ticks in which the middle time lies, or the two middle times. None if there are no times.
    pub fn middle(&self, longest: u64) -> Option<Range<f64>> {
        let total = self.total();
        let bucket_of = |rank: u64| {
            let mut up_to = 0u64;
            self.counts.iter().position(|&n| {
                up_to = up_to.saturating_add(n);
                up_to >= rank
            })
        };
        if total == 0 {
            return None;
        }
        let (lower, upper) = (bucket_of(total.div_ceil(2))?, bucket_of(total / 2 + 1)?);
        Some(self.range_up_to(lower, longest).start..self.range_up_to(upper, longest).end)
    }

    /// The part of a bucket in which times can lie, if none is longer than `longest`. A bucket beyond `longest` is
    /// taken whole; only torn counts or a damaged file have one that is not empty. The last bucket has no end; its
    /// length is taken to equal its start.
    fn range_up_to(&self, bucket: usize, longest: u64) -> Range<f64> {
        let Range { start, end } = self.ticks(bucket);
        let end = match end {
            end if (start + 1..end).contains(&longest) => longest,
            u64::MAX => 2 * start,
            end => end,
        };
        start as f64..end as f64
    }

    /// A bound in ticks: at least this share of the times lies below it. It is the end of a bucket. None if there are
    /// no times, or if the bound falls into the last bucket.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let total = self.total();
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
        fn each_time_lies_in_its_bucket(ticks: u64, shift in 0u32..64) {
            for of in [TimeKind::Holds, TimeKind::Waits] {
                let ticks = ticks >> shift;
                let histogram = Histogram::new(of, [0; BUCKETS]);
                let range = histogram.ticks(of.bucket(ticks));
                prop_assert!(range.contains(&ticks) || ticks == u64::MAX, "{ticks} {range:?}");
            }
        }
    }

    fn waits(counts: &[(usize, u64)]) -> Histogram {
        let mut all = [0; BUCKETS];
        for (bucket, n) in counts {
            all[*bucket] = *n;
        }
        Histogram::new(TimeKind::Waits, all)
    }

    #[test]
    fn times_below_a_limit_are_interpolated() {
        // 512..1024 and 1024..2048 ticks.
        let histogram = waits(&[(1, 100), (2, 40)]);
        let longest = 1 << 20;
        assert_eq!(histogram.shorter_than(512, longest), (0, 0.0), "no bucket begins below it");
        assert_eq!(histogram.shorter_than(640, longest), (25, 25.0 * 576.0));
        assert_eq!(histogram.shorter_than(1024, longest), (100, 76_800.0));
        assert_eq!(histogram.shorter_than(2048, longest), (140, 76_800.0 + 40.0 * 1536.0));
        assert_eq!(histogram.shorter_than(u64::MAX, longest).0, 140);
        assert_eq!(histogram.shorter_than(0, 0), (0, 0.0));
        // None is longer than 1536: all of the second bucket lies below that.
        assert_eq!(histogram.shorter_than(1536, 1536).0, 140);
        assert_eq!(waits(&[]).shorter_than(1 << 30, 0), (0, 0.0));
    }

    #[test]
    fn medians_are_interpolated() {
        assert_eq!(waits(&[]).median(0), None);
        assert_eq!(waits(&[(1, 100)]).median(1 << 20), Some(768.0));
        assert_eq!(waits(&[(1, 100), (2, 100)]).median(1 << 20), Some(1024.0));
        assert_eq!(waits(&[(1, 100), (2, 300)]).median(1 << 20), Some(1024.0 + 1024.0 / 3.0));
        assert_eq!(waits(&[(2, 1)]).median(1100), Some(1062.0), "none is longer than 1100");
        let last = Histogram::new(TimeKind::Waits, [0; BUCKETS]).ticks(BUCKETS - 1).start;
        assert_eq!(
            waits(&[(BUCKETS - 1, 2)]).median(3 * last),
            Some(2.0 * last as f64),
            "the longest bounds it"
        );
        assert_eq!(waits(&[(BUCKETS - 1, 2)]).median(0), Some(1.5 * last as f64));
    }

    #[test]
    fn middle_is_the_range_of_the_middle_times() {
        let longest = 1 << 20;
        assert_eq!(waits(&[]).middle(longest), None);
        assert_eq!(waits(&[(1, 1)]).middle(longest), Some(512.0..1024.0));
        assert_eq!(waits(&[(1, 1), (3, 1)]).middle(longest), Some(512.0..4096.0));
        assert_eq!(waits(&[(1, 1), (3, 2)]).middle(longest), Some(2048.0..4096.0));
    }

    proptest! {
        #[test]
        fn smaller_limit_has_fewer_shorter_times(counts: [u32; BUCKETS], limit: u64, shift in 0u32..64, longest: u64) {
            let histogram = Histogram::new(TimeKind::Waits, counts.map(u64::from));
            let all = counts.iter().map(|&n| u64::from(n)).sum::<u64>();
            let (limit, longest) = (limit >> shift, longest >> shift);
            let (n, ticks) = histogram.shorter_than(limit, longest);
            prop_assert!(n <= all && ticks <= n as f64 * limit as f64);
            prop_assert!(histogram.shorter_than(limit / 2, longest).0 <= n);
            prop_assert!(histogram.median(longest).is_some() == (all > 0));
        }
    }

    #[test]
    fn quantiles_are_ends_of_buckets() {
        let mut counts = [0; BUCKETS];
        (counts[0], counts[3], counts[BUCKETS - 1]) = (90, 9, 1);
        let histogram = Histogram::new(TimeKind::Holds, counts);
        assert_eq!([0.5, 0.95, 1.0].map(|share| histogram.quantile(share)), [Some(64), Some(512), None]);
        assert_eq!(Histogram::new(TimeKind::Waits, [0; BUCKETS]).quantile(0.5), None);
    }
}
