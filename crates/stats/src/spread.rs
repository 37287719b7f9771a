//! Is the candidate steadier, or more erratic, than the control?
//!
//! A contended lock lets some runs be lucky. Its removal may leave the mean nearly unchanged and still be an
//! improvement: 85.0 ± 7.5 became 89.8 ± 1.0 transactions per second in McKenney 2003. The test is Brown and Forsythe's
//! (*Robust tests for the equality of variances*, J. Am. Stat. Assoc. 69, 1974): an analysis of variance of the
//! distances from each group's own median, which is robust against skewed run times, unlike the F test. There are two
//! changes. Distances are divided by the median, because a program that becomes twice as fast is not steadier for that
//! reason. And p comes from relabelling the distances, because five runs are too few for the F distribution.
//!
//! For an odd number of runs one distance, that of the median itself, is zero by construction and contains no
//! information. It is left out (Hines & O'Hara Hines, *Increased power with modified forms of the Levene (Med) test*,
//! Biometrics 56(2), 2000). Otherwise the test with five runs would find a difference like McKenney's in one session
//! of three instead of one of two (simulated in `tests/suite/calibration.rs`).

use crate::divisions::{Divisions, divisions};
use crate::p_value::{Enumeration, PValue, TIE};
use crate::random::Random;
use crate::sample::{mean, median};
use rand::seq::SliceRandom;

/// Minimum number of runs per side. Five runs leave four distances, which can be divided in 70 ways: the smallest p is
/// 2/70 = 0.029, enough to judge one candidate. Two candidates need six runs.
pub const RUNS_MIN: usize = 5;

/// Brown and Forsythe's statistic of two groups of values, with the p value of its permutation test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BrownForsythe {
    /// The F statistic on (1, n − 2) degrees of freedom. `None` if no run differs from its group's median.
    pub statistic: Option<f64>,
    /// The permutation test of the relabelled distances.
    pub p: PValue,
}

/// Compares the relative spread of two groups of positive values. `None` if either side has fewer than [`RUNS_MIN`]
/// runs.
pub fn brown_forsythe(
    control: &[f64],
    candidate: &[f64],
    draws: u32,
    random: &mut Random,
) -> Option<BrownForsythe> {
    if control.len().min(candidate.len()) < RUNS_MIN {
        return None;
    }
    let (control, candidate) = (relative_distances(control), relative_distances(candidate));
    let p = relabel(&control, &candidate, draws, random);
    Some(BrownForsythe { statistic: f_statistic(&control, &candidate), p })
}

/// |x − median| / median of each value; for an odd number of values without that of the median itself.
fn relative_distances(values: &[f64]) -> Vec<f64> {
    let median = median(values);
    let mut distances: Vec<f64> = values.iter().map(|value| (value - median).abs() / median).collect();
    if distances.len() % 2 == 1 {
        let structural = distances.iter().position(|&distance| distance == 0.0);
        distances.swap_remove(structural.expect("the median of an odd number of values is one of them"));
    }
    distances
}

/// One-way analysis of variance of two groups: variance between the groups divided by variance within them.
fn f_statistic(left: &[f64], right: &[f64]) -> Option<f64> {
    let count = (left.len() + right.len()) as f64;
    let grand = (left.iter().sum::<f64>() + right.iter().sum::<f64>()) / count;
    let between = |group: &[f64]| group.len() as f64 * (mean(group) - grand).powi(2);
    let within = |group: &[f64]| group.iter().map(|z| (z - mean(group)).powi(2)).sum::<f64>();
    let within = (within(left) + within(right)) / (count - 2.0);
    (within > 0.0).then(|| (between(left) + between(right)) / within)
}

/// p of |mean of left − mean of right| under all divisions of the pooled values into groups of these sizes. The pooled
/// values stay the same, so F grows with that difference: both order the divisions in the same way.
fn relabel(left: &[f64], right: &[f64], draws: u32, random: &mut Random) -> PValue {
    let mut pool: Vec<f64> = left.iter().chain(right).copied().collect();
    let total: f64 = pool.iter().sum();
    // |mean difference| is proportional to the distance of the left sum from its expectation.
    let expected = total * left.len() as f64 / pool.len() as f64;
    let distance = |sum: f64| (sum - expected).abs();
    let threshold = distance(left.iter().sum()) - TIE * total;
    if let Some(permutations) = divisions(pool.len(), left.len()) {
        let sums = Divisions::new(pool.len(), left.len()).map(|mask| masked_sum(&pool, mask));
        let hits = sums.filter(|&sum| distance(sum) >= threshold).count() as f64;
        // With groups of equal size every division has a mirror image that is equally extreme.
        let smallest = if left.len() == right.len() { 2.0 } else { 1.0 };
        return PValue {
            p: hits / permutations as f64,
            smallest_attainable: smallest / permutations as f64,
            enumeration: Enumeration::Exact { permutations },
        };
    }
    let mut hits = 0;
    for _ in 0..draws {
        let (drawn, _) = pool.partial_shuffle(random, left.len());
        hits += u32::from(distance(drawn.iter().sum()) >= threshold);
    }
    PValue {
        p: (f64::from(hits) + 1.0) / (f64::from(draws) + 1.0),
        smallest_attainable: 1.0 / (f64::from(draws) + 1.0),
        enumeration: Enumeration::MonteCarlo { draws },
    }
}

fn masked_sum(pool: &[f64], mask: u64) -> f64 {
    pool.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1).map(|(_, z)| z).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    fn test(control: &[f64], candidate: &[f64]) -> BrownForsythe {
        brown_forsythe(control, candidate, 9_999, &mut stream(1, Purpose::Spread)).unwrap()
    }

    #[test]
    fn statistic_worked_by_hand() {
        // Relative distances .2 .1 .1 .2 and .02 .01 .01 .02: means .15 and .015, grand mean .0825;
        // between 2·4·.0675² = .03645; within (.01 + .0001)/6 = .00168333; F = 21.6535.
        let wide = [80.0, 90.0, 100.0, 110.0, 120.0];
        let narrow = [9.8, 9.9, 10.0, 10.1, 10.2];
        let result = test(&wide, &narrow);
        assert!((result.statistic.unwrap() - 21.6535).abs() < 1e-4, "{result:?}");
        assert_eq!(result.p.smallest_attainable, 2.0 / 70.0);
    }

    #[test]
    fn spread_is_relative_to_the_mean() {
        let control = [1.0, 1.2, 0.9, 1.1, 1.05, 0.97];
        let halved = control.map(|x| x / 2.0);
        assert_eq!(test(&control, &halved).p.p, 1.0);
    }

    #[test]
    fn equal_values_have_no_statistic() {
        let result = test(&[1.0; 5], &[2.0; 5]);
        assert_eq!((result.statistic, result.p.p), (None, 1.0));
        assert!(brown_forsythe(&[1.0; 4], &[1.0; 9], 9, &mut stream(1, Purpose::Spread)).is_none());
    }
}
