//! Bootstrap interval of the ratio of means.
//!
//! Whole rounds are resampled, so that the runs of control and candidate in a round stay together. A disturbance of the
//! machine (drift, load of a neighbour) affects both, and only pairing lets it cancel (Kalibera & Jones, *Rigorous
//! benchmarking in reasonable time*, ISMM 2013).
//!
//! The interval is the *expanded percentile* interval (Hesterberg, *What teachers should know about the bootstrap*, The
//! American Statistician 69(4), 2015). The plain percentile interval (Efron & Tibshirani, *An Introduction to the
//! Bootstrap*, 1993, ch. 13) is too narrow with few rounds, like a z interval with divisor n instead of a t interval
//! with n − 1: with 10 rounds it covers about 90 % instead of 95 %. Therefore the percentiles are taken at
//! Φ(−t·√(n/(n−1))) instead of α/2. BCa (ibid., ch. 14) corrects bias and skew but not this error, which is the larger
//! one at these sizes: `tests/suite/calibration.rs` measures the coverage of this interval and shows that the plain one
//! fails.

use crate::distribution::{normal_cdf, student_quantile};
use crate::interval::Ratio;
use crate::metric::Direction;
use crate::random::Random;
use rand::RngExt;

/// The ratio of means of `pairs` (control, candidate), all positive, with its interval of the given confidence (0.95).
/// `None` for fewer than two pairs, because one pair tells nothing about the spread.
pub fn ratio_of_means(
    pairs: &[(f64, f64)],
    direction: Direction,
    confidence: f64,
    resamples: u32,
    random: &mut Random,
) -> Option<Ratio> {
    let ratio = |pairs: &mut dyn Iterator<Item = (f64, f64)>| {
        let (control, candidate) = sum(pairs);
        direction.times_as_good(candidate, control)
    };
    resample(pairs, &ratio, confidence, resamples, random)
}

/// The median of the pairs' ratios, with its interval, computed like [`ratio_of_means`]. For figures of a short loop:
/// there the load of a neighbour makes a round unusable, instead of shifting it a little.
pub fn median_of_ratios(
    pairs: &[(f64, f64)],
    direction: Direction,
    confidence: f64,
    resamples: u32,
    random: &mut Random,
) -> Option<Ratio> {
    let median = |pairs: &mut dyn Iterator<Item = (f64, f64)>| {
        let ratio = |(control, candidate)| direction.times_as_good(candidate, control);
        let mut ratios: Vec<f64> = pairs.map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        quantile(&ratios, 0.5)
    };
    resample(pairs, &median, confidence, resamples, random)
}

/// A statistic of pairs.
type Statistic<'a> = &'a dyn Fn(&mut dyn Iterator<Item = (f64, f64)>) -> f64;

fn resample(
    pairs: &[(f64, f64)],
    statistic: Statistic<'_>,
    confidence: f64,
    resamples: u32,
    random: &mut Random,
) -> Option<Ratio> {
    if pairs.len() < 2 {
        return None;
    }
    let value = statistic(&mut pairs.iter().copied());
    let draw = |_| {
        let mut drawn = (0..pairs.len()).map(|_| pairs[random.random_range(0..pairs.len())]);
        statistic(&mut drawn).ln()
    };
    let mut logs: Vec<f64> = (0..resamples).map(draw).collect();
    logs.sort_by(f64::total_cmp);
    let tail = expanded_tail(pairs.len(), confidence);
    let end = |probability| quantile(&logs, probability).exp();
    Some(Ratio { value, lower: end(tail), upper: end(1.0 - tail) })
}

/// The percentile at which the expanded percentile interval of n values ends.
fn expanded_tail(n: usize, confidence: f64) -> f64 {
    let freedom = n - 1;
    let t = student_quantile(0.5 + 0.5 * confidence, freedom as u32);
    normal_cdf(-t * (n as f64 / freedom as f64).sqrt())
}

fn sum(pairs: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    pairs.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1))
}

/// Quantile of sorted values by linear interpolation (type 7 of Hyndman & Fan 1996). It treats both tails alike, so
/// swapping control and candidate mirrors the interval exactly.
pub(crate) fn quantile(sorted: &[f64], probability: f64) -> f64 {
    let position = probability * (sorted.len() - 1) as f64;
    let below = position.floor();
    let (low, high) = (sorted[below as usize], sorted[position.ceil() as usize]);
    low + (position - below) * (high - low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    #[test]
    fn expanded_tail_approaches_the_plain_one() {
        assert!((expanded_tail(100_000, 0.95) - 0.025).abs() < 1e-4);
        // t(9) = 2.2622, times sqrt(10/9) = 2.3846; Φ(−2.3846) = 0.00855.
        assert!((expanded_tail(10, 0.95) - 0.008_55).abs() < 2e-5);
    }

    #[test]
    fn quantile_interpolates() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 1.0), 4.0);
    }

    #[test]
    fn a_constant_ratio_has_an_interval_without_width() {
        let pairs = [(2.0, 1.0), (4.0, 2.0), (6.0, 3.0)];
        let mut random = stream(1, Purpose::Bootstrap);
        let ratio = ratio_of_means(&pairs, Direction::LowerIsBetter, 0.95, 999, &mut random).unwrap();
        assert!((ratio.lower - 2.0).abs() < 1e-12 && (ratio.upper - 2.0).abs() < 1e-12);
        assert!(ratio_of_means(&pairs[..1], Direction::LowerIsBetter, 0.95, 999, &mut random).is_none());
    }

    #[test]
    fn outlier_round_does_not_move_the_median() {
        let mut pairs = [(2.0, 1.0); 15];
        pairs[3] = (2.0, 50.0);
        pairs[9] = (90.0, 1.0);
        let mut random = stream(1, Purpose::Bootstrap);
        let ratio = median_of_ratios(&pairs, Direction::LowerIsBetter, 0.95, 999, &mut random).unwrap();
        assert_eq!(ratio.value, 2.0);
        assert!((ratio.lower - 2.0).abs() < 1e-12 && (ratio.upper - 2.0).abs() < 1e-12);
        assert!(median_of_ratios(&pairs[..1], Direction::LowerIsBetter, 0.95, 999, &mut random).is_none());
    }
}
