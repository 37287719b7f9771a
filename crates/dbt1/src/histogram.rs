//! Response times: counts in classes of 3 % width.

use std::time::Duration;

/// Steps of each doubling, as a power of two: the width of a class is at most 1/32 of its time.
const STEPS_LOG: u32 = 5;
const STEPS: u64 = 1 << STEPS_LOG;
/// Classes for all times of 64 bits.
const CLASSES: usize = ((64 - STEPS_LOG + 1) << STEPS_LOG) as usize;

/// Times of one kind of interaction.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Box<[u64; CLASSES]>,
    count: u64,
    greatest_us: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: Box::new([0; CLASSES]), count: 0, greatest_us: 0 }
    }
}

impl Histogram {
    /// Adds a time.
    pub fn add(&mut self, time: Duration) {
        let time_us = time.as_micros().min(u128::from(u64::MAX)) as u64;
        self.counts[class_of(time_us)] += 1;
        self.count += 1;
        self.greatest_us = self.greatest_us.max(time_us);
    }

    /// Adds all times of another one.
    pub fn merge(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count += more;
        }
        self.count += other.count;
        self.greatest_us = self.greatest_us.max(other.greatest_us);
    }

    /// Number of times.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The greatest time.
    pub fn greatest(&self) -> Duration {
        Duration::from_micros(self.greatest_us)
    }

    /// The time that this share of the times does not exceed, at most 3 % too high. 0 if there are no times.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = (self.count as f64 * share).ceil().max(1.0) as u64;
        let mut sum = 0;
        let class = self.counts.iter().position(|&count| {
            sum += count;
            sum >= wanted
        });
        let bound_us = class.map_or(0, upper_bound_us);
        Duration::from_micros(bound_us.min(self.greatest_us))
    }
}

/// Times below 32 µs have a class each; above, each doubling has 32.
fn class_of(time_us: u64) -> usize {
    if time_us < STEPS {
        return time_us as usize;
    }
    let doubling = time_us.ilog2() - STEPS_LOG;
    ((u64::from(doubling) << STEPS_LOG) + (time_us >> doubling)) as usize
}

/// The greatest time of a class.
fn upper_bound_us(class: usize) -> u64 {
    let class = class as u64;
    if class < STEPS {
        return class;
    }
    let doubling = (class >> STEPS_LOG) - 1;
    let step = class - (doubling << STEPS_LOG);
    ((step + 1) << doubling) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_cover_all_times_without_gap() {
        for time_us in (0..100_000).chain([u64::MAX / 2 + 1, u64::MAX >> 1]) {
            let bound = upper_bound_us(class_of(time_us));
            assert!(bound >= time_us, "{time_us} {bound}");
            assert!(bound - time_us <= time_us / STEPS, "{time_us} {bound}");
            assert_eq!(class_of(bound), class_of(time_us));
        }
        assert!(class_of(u64::MAX) < CLASSES);
    }

    #[test]
    fn quantiles_are_those_of_the_times() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.9), Duration::ZERO);
        (1..=1000).for_each(|ms| histogram.add(Duration::from_millis(ms)));
        let median = histogram.quantile(0.5).as_secs_f64();
        assert!((0.5..0.516).contains(&median), "{median}");
        assert_eq!(histogram.quantile(1.0), Duration::from_secs(1));
        let mut both = histogram.clone();
        both.merge(&histogram);
        assert_eq!((both.count(), both.quantile(0.5)), (2000, histogram.quantile(0.5)));
    }
}
