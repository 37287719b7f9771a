//! One host: control and candidate compared within it.

use super::{HOST_ROUNDS_AT_LEAST, student_p};
use crate::distribution::student_quantile;
use crate::interval::Ratio;
use crate::p_value::PValue;
use crate::permutation::sign_flip;
use crate::random::Random;
use crate::sample::{mean, standard_deviation};

/// The smallest variance of a mean: rounds that do not vary at all are as exact as a part in a thousand, so that a host whose rounds
/// happen to agree does not get all the weight.
const VARIANCE_AT_LEAST: f64 = 1e-6;

/// A host's mean log ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stratum {
    /// Number of rounds.
    pub rounds: u32,
    /// The mean of the rounds' log ratios: positive if the candidate is better.
    pub mean: f64,
    /// The variance of that mean, as the rounds show it.
    pub variance: f64,
}

impl Stratum {
    /// Of a host's log ratios, one for each round. `rounding` is the factor by which rounding can have moved the mean: it may be
    /// anywhere within it, and more rounds do not help. `None` if there are fewer rounds than
    /// [`HOST_ROUNDS_AT_LEAST`].
    pub fn of(log_ratios: &[f64], rounding: Option<f64>) -> Option<Stratum> {
        let rounds = log_ratios.len() as u32;
        let deviation = standard_deviation(log_ratios).filter(|_| rounds >= HOST_ROUNDS_AT_LEAST)?;
        // The variance of a uniform distribution on ± the logarithm.
        let of_digits = rounding.map_or(0.0, |factor| factor.ln().powi(2) / 3.0);
        let variance = (deviation.powi(2) / f64::from(rounds) + of_digits).max(VARIANCE_AT_LEAST);
        Some(Stratum { rounds, mean: mean(log_ratios), variance })
    }

    /// Degrees of freedom of the variance.
    pub(super) fn freedom(&self) -> f64 {
        f64::from(self.rounds - 1)
    }

    /// The variance for a weight. The reciprocal of an estimated variance is too large on average, by ν/(ν − 2) for ν degrees of
    /// freedom of normal values: a host with few rounds would get weight because its rounds happened to agree.
    pub(super) fn variance_for_weight(&self) -> f64 {
        self.variance * self.freedom() / (self.freedom() - 2.0)
    }

    /// The ratio to the control: the geometric mean of the rounds' ratios, with the interval of the paired t test.
    pub fn ratio(&self, confidence: f64) -> Ratio {
        let half = student_quantile(0.5 + 0.5 * confidence, self.rounds - 1) * self.variance.sqrt();
        Ratio { value: self.mean.exp(), lower: (self.mean - half).exp(), upper: (self.mean + half).exp() }
    }

    /// The p value of the paired t test of "no difference on this host".
    pub fn p(&self) -> f64 {
        student_p(self.mean / self.variance.sqrt(), self.freedom())
    }
}

/// Tests "no difference on any host": the signs of all rounds are flipped at random, each within its host. A host's rounds weigh
/// as much as they are exact. The weight uses the mean square, which no flip changes, so that the test is exact. `None` without
/// rounds.
pub fn no_difference_anywhere<'a>(
    hosts: impl IntoIterator<Item = &'a [f64]>,
    draws: u32,
    random: &mut Random,
) -> Option<PValue> {
    let weighted = hosts.into_iter().flat_map(|log_ratios| {
        let square = log_ratios.iter().map(|d| d * d).sum::<f64>() / log_ratios.len().max(1) as f64;
        log_ratios.iter().map(move |d| d / square.max(VARIANCE_AT_LEAST))
    });
    sign_flip(&weighted.collect::<Vec<f64>>(), draws, random)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    #[test]
    fn ratio_is_that_of_the_paired_t_test() {
        // Mean 0.3, s = 0.158114, n = 5, t(4) = 2.7764: ± 0.19632.
        let stratum = Stratum::of(&[0.1, 0.2, 0.3, 0.4, 0.5], None).unwrap();
        let ratio = stratum.ratio(0.95);
        assert!((ratio.lower.ln() - (0.3 - 0.19632)).abs() < 1e-5, "{ratio:?}");
        assert!((ratio.upper.ln() - (0.3 + 0.19632)).abs() < 1e-5);
        // t.test(c(.1,.2,.3,.4,.5)) in R: t = 4.2426, df = 4, p = 0.01324.
        assert!((stratum.p() - 0.01324).abs() < 5e-6, "{}", stratum.p());
        assert_eq!(Stratum::of(&[0.1, 0.2, 0.3, 0.4], None), None);
    }

    #[test]
    fn rounds_that_do_not_vary_are_not_exact() {
        let stratum = Stratum::of(&[0.0; 6], None).unwrap();
        assert_eq!((stratum.variance, stratum.p()), (VARIANCE_AT_LEAST, 1.0));
    }

    /// A p99 of 1 ms before and 2 ms after in every round, printed in whole milliseconds: 1.49 ms and 1.51 ms look like this, too.
    #[test]
    fn host_proves_nothing_by_digits_alone() {
        let doubled = [2f64.ln(); 40];
        assert!(Stratum::of(&doubled, None).unwrap().p() < 1e-9);
        assert!(Stratum::of(&doubled, Some(2.0)).unwrap().p() > 0.05);
    }

    #[test]
    fn sign_flips_stay_within_their_host() {
        let random = || stream(1, Purpose::SignFlip);
        let p =
            |hosts: &[&[f64]]| no_difference_anywhere(hosts.iter().copied(), 999, &mut random()).unwrap().p;
        let (better, worse) = ([0.1; 6], [-0.1; 6]);
        assert_eq!(p(&[&better, &better]), 2.0 / 4096.0);
        assert_eq!(p(&[&better, &worse]), 1.0);
        // The noisy host does not hide the exact one.
        let noisy = [9.0, -8.0, 7.0, -9.0, 8.0, -7.5];
        assert!(p(&[&better, &noisy]) < 0.05);
        assert!(no_difference_anywhere([], 999, &mut random()).is_none());
    }
}
