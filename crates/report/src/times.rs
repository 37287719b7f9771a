//! Distribution of hold or wait times over ranges that double, in seconds.

use crate::figures::time;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use unspin_wire::{BUCKETS, Histogram, Window};

/// A histogram of hold or wait times, shortest first. Empty ranges are omitted.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Times {
    ranges: Vec<TimeRange>,
}

/// The number of times within a range.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TimeRange {
    /// Lower end in seconds, inclusive.
    pub from: f64,
    /// Upper end in seconds, exclusive; none for the last range, which has no end.
    pub below: Option<f64>,
    /// Number of times in the range.
    pub count: u64,
}

impl Times {
    pub(crate) fn new(histogram: &Histogram, window: &Window) -> Times {
        let range = |bucket: usize| {
            let ticks = histogram.ticks(bucket);
            let below = (bucket + 1 < BUCKETS).then(|| window.to_seconds(ticks.end));
            TimeRange { from: window.to_seconds(ticks.start), below, count: histogram.counts()[bucket] }
        };
        Times { ranges: (0..BUCKETS).map(range).filter(|range| range.count > 0).collect() }
    }

    /// The ranges that are not empty.
    pub fn ranges(&self) -> &[TimeRange] {
        &self.ranges
    }

    /// Number of times in all ranges.
    pub fn count(&self) -> u64 {
        self.ranges.iter().fold(0, |sum, range| sum.saturating_add(range.count))
    }

    /// A bound in seconds: at least this share of the times lies below it. None if there are no times, or if the
    /// bound falls into the last range, which has no end.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = (share * self.count() as f64).ceil().max(1.0) as u64;
        let mut below = 0u64;
        let range = self.ranges.iter().find(|range| {
            below = below.saturating_add(range.count);
            below >= wanted
        })?;
        range.below
    }

    /// Median and tail in a few words: `half < 1.2us, 99 % < 18us`. Empty without times.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        if self.ranges.is_empty() {
            return text;
        }
        let longest = self.ranges.last().map_or(0.0, |range| range.from);
        for (share, name) in [(0.5, "half"), (0.99, "99 %")] {
            let (sign, bound) = match self.quantile(share) {
                Some(bound) => ('<', bound),
                None => ('>', longest),
            };
            let comma = if text.is_empty() { "" } else { ", " };
            let _ = write!(text, "{comma}{name} {sign} {}", time(bound));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_wire::TimeKind;

    const WINDOW: Window = Window { seconds: 1.0, cpus: 1, ticks_per_second: 1e9, cpu_seconds: None };

    fn times(counts: &[(usize, u64)]) -> Times {
        let mut all = [0; BUCKETS];
        for (bucket, count) in counts {
            all[*bucket] = *count;
        }
        Times::new(&Histogram::new(TimeKind::Holds, all), &WINDOW)
    }

    #[test]
    fn quantiles_are_those_of_the_histogram() {
        let times = times(&[(0, 90), (3, 9), (BUCKETS - 1, 1)]);
        assert_eq!((times.count(), times.ranges().len()), (100, 3));
        assert_eq!([0.5, 0.95, 1.0].map(|share| times.quantile(share)), [Some(64e-9), Some(512e-9), None]);
        assert_eq!(times.summary(), "half < 64ns, 99 % < 512ns");
    }

    #[test]
    fn few_and_long_times_are_stated_exactly() {
        assert_eq!(times(&[]).summary(), "");
        assert_eq!(times(&[]).quantile(0.5), None);
        assert_eq!(times(&[(BUCKETS - 1, 2)]).summary(), "half > 67ms, 99 % > 67ms");
    }
}
