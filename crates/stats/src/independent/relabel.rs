//! The test: do two samples differ?

use super::sample::{Estimate, IndependentSample, estimate};
use crate::divisions::{Divisions, divisions};
use crate::metric::Direction;
use crate::p_value::TIE;
use crate::random::{Purpose, stream};
use rand::seq::SliceRandom;

/// p of the observed Welch's t under relabelling, and the smallest p that the test can give.
pub(super) fn test([before, after]: [&IndependentSample; 2], draws: u32, seed: u64) -> (f64, f64) {
    let direction = before.direction();
    let observed = statistic(before.estimate(), after.estimate());
    let threshold = observed - TIE * observed.min(f64::MAX);
    let mut pool: Vec<(f64, f64)> = before.pairs().iter().chain(after.pairs()).copied().collect();
    let chosen = before.pairs().len();
    if let Some(ways) = divisions(pool.len(), chosen) {
        let masks = Divisions::new(pool.len(), chosen);
        let hits = masks.filter(|&mask| divided(direction, &pool, mask) >= threshold).count() as f64;
        // With groups of equal size every division has a mirror image that is equally extreme.
        let smallest = if 2 * chosen == pool.len() { 2.0 } else { 1.0 };
        return (hits / ways as f64, smallest / ways as f64);
    }
    let random = &mut stream(seed, Purpose::Relabel);
    let mut hits = 0;
    for _ in 0..draws {
        let (left, right) = pool.partial_shuffle(random, chosen);
        hits += u32::from(statistic(estimate(direction, left), estimate(direction, right)) >= threshold);
    }
    let all = f64::from(draws) + 1.0;
    ((f64::from(hits) + 1.0) / all, 1.0 / all)
}

/// The statistic of the division in which the bits of `mask` choose the left group.
fn divided(direction: Direction, pool: &[(f64, f64)], mask: u64) -> f64 {
    let is_left = |(i, _): &(usize, &(f64, f64))| mask >> i & 1 == 1;
    let (left, right): (Vec<_>, Vec<_>) = pool.iter().enumerate().partition(is_left);
    let group = |group: Vec<(usize, &(f64, f64))>| {
        let pairs: Vec<(f64, f64)> = group.into_iter().map(|(_, pair)| *pair).collect();
        estimate(direction, &pairs)
    };
    statistic(group(left), group(right))
}

/// |t|. Infinite if neither group varies, but they differ.
fn statistic(left: Estimate, right: Estimate) -> f64 {
    let difference = (right.log - left.log).abs();
    // Equal sums, added in another order.
    if difference <= TIE { 0.0 } else { difference / (left.variance + right.variance).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(before: &[f64], after: &[f64]) -> (f64, f64) {
        let sample = |values: &[f64]| IndependentSample::of_figures(values, Direction::LowerIsBetter);
        test([&sample(before), &sample(after)], 9_999, 1)
    }

    #[test]
    fn samples_apart_have_the_smallest_p() {
        // C(12, 6) = 924 divisions, of which two are as extreme.
        let (p, smallest) = p(&[1.0, 1.1, 1.2, 1.3, 1.4, 1.5], &[2.0, 2.1, 2.2, 2.3, 2.4, 2.5]);
        assert!((p - 2.0 / 924.0).abs() < 1e-12, "{p}");
        assert_eq!(smallest, 2.0 / 924.0);
    }

    #[test]
    fn samples_without_spread_are_told_apart() {
        assert_eq!(p(&[1.0; 6], &[1.0; 6]).0, 1.0);
        assert!(p(&[1.0; 6], &[2.0; 6]).0 < 0.01);
        assert!(p(&[1.0; 30], &[2.0; 30]).0 < 0.001, "also with drawn divisions");
    }

    #[test]
    fn drawn_divisions_agree_with_all() {
        let before = [1.0, 1.3, 0.9, 1.1, 1.2, 1.05, 0.97, 1.4];
        let after = [1.2, 1.5, 1.0, 1.3, 1.1, 1.6, 1.25, 1.35, 1.18];
        let exact = p(&before[..], &after[..8]).0;
        // One unit more makes it draw; the value is another one, of about the same size.
        let drawn = p(&before, &after).0;
        assert!(exact > 0.02 && exact < 0.2 && (drawn / exact).ln().abs() < 0.7, "{exact} {drawn}");
    }
}
