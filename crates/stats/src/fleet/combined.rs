//! The hosts' ratios, combined.

use super::{Stratum, student_p};
use crate::interval::Ratio;
use crate::rounding::RoundingBounds;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The mean over hosts, of which those measured are a sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Combined {
    /// Number of hosts.
    pub hosts: u32,
    /// The mean ratio with its interval.
    pub ratio: Ratio,
    /// The standard error of the mean log ratio.
    pub standard_error: f64,
    /// The p value of "the mean ratio is 1".
    pub p: f64,
    /// The standard deviation between hosts of the true log ratio.
    pub tau: f64,
    /// What a further host would show; none with two hosts.
    pub prediction: Option<Ratio>,
    /// The smallest true effect, as a factor of at least 1, that so many hosts would show.
    pub minimum_detectable_effect: f64,
    /// The hosts' shares of the mean, in their order.
    pub weights: Vec<f64>,
}

impl Combined {
    /// Combines hosts. `None` below two: one host tells nothing about others.
    pub fn of(strata: &[Stratum], confidence: f64, power: f64) -> Option<Combined> {
        let hosts = strata.len() as u32;
        if hosts < 2 {
            return None;
        }
        let tau_squared = tau_squared(&[strata]);
        let weights: Vec<f64> = weights(strata, tau_squared).collect();
        let sum: f64 = weights.iter().sum();
        let mean = weighted_mean(strata, &weights);
        let shares: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        let squares = strata.iter().zip(&shares);
        let variance: f64 =
            squares.map(|(stratum, share)| (share * (stratum.mean - mean)).powi(2) / (1.0 - share)).sum();
        let freedom = freedom(&shares);
        // By chance few hosts agree better than their own noise permits, and then their scatter alone would be too narrow.
        let standard_error = variance.max(1.0 / sum).sqrt();
        let around = |quantile: f64, deviation: f64| {
            let half = quantile * deviation;
            Ratio { value: mean.exp(), lower: (mean - half).exp(), upper: (mean + half).exp() }
        };
        let tail = 0.5 + 0.5 * confidence;
        let t = quantile(tail, freedom);
        let spread = (tau_squared + standard_error.powi(2)).sqrt();
        Some(Combined {
            hosts,
            ratio: around(t, standard_error),
            standard_error,
            p: student_p(mean / standard_error, freedom),
            tau: tau_squared.sqrt(),
            prediction: (hosts > 2).then(|| around(quantile(tail, (freedom - 1.0).max(1.0)), spread)),
            minimum_detectable_effect: ((t + quantile(power, freedom)) * standard_error).exp(),
            weights: shares,
        })
    }

    /// With intervals that have all values before rounding.
    pub(super) fn rounded(self, rounding: RoundingBounds) -> Combined {
        let widen = |ratio| rounding.widen(ratio);
        Combined { ratio: widen(self.ratio), prediction: self.prediction.map(widen), ..self }
    }
}

/// The degrees of freedom by Satterthwaite of the variance of the mean, for hosts with these shares: hosts − 1 for equal shares,
/// fewer if a few hosts have most of the weight. The terms cancel where one host has nearly all, which leaves 1.
fn freedom(shares: &[f64]) -> f64 {
    let sum = |term: fn(f64) -> f64| shares.iter().map(|&share| term(share)).sum::<f64>();
    let squares = sum(|share| (share / (1.0 - share)).powi(2) * (1.0 - 2.0 * share));
    let freedom = 1.0 / (squares + sum(|share| share * share / (1.0 - share)).powi(2));
    if freedom.is_finite() { freedom.clamp(1.0, shares.len() as f64 - 1.0) } else { 1.0 }
}

fn quantile(probability: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |student| student.inverse_cdf(probability))
}

/// The variance between hosts by Paule and Mandel: that at which the weighted squares around the groups' means are as large as
/// their degrees of freedom. With one group the variance between all hosts, with several that within the groups.
pub(super) fn tau_squared(groups: &[&[Stratum]]) -> f64 {
    let hosts: usize = groups.iter().map(|group| group.len()).sum();
    let freedom = hosts as f64 - groups.len() as f64;
    let excess = |tau_squared: f64| {
        let of = |group: &&[Stratum]| {
            let weights: Vec<f64> = weights(group, tau_squared).collect();
            squares(group, tau_squared, weighted_mean(group, &weights))
        };
        groups.iter().map(of).sum::<f64>() - freedom
    };
    if freedom <= 0.0 || excess(0.0) <= 0.0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1e-6);
    // The squares decrease with the variance, and vanish: doubling ends.
    while excess(high) > 0.0 && high < 1e12 {
        high *= 2.0;
    }
    // 100 halvings exhaust the bits of the quotient of two doublings.
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if excess(middle) > 0.0 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

pub(super) fn weights(strata: &[Stratum], tau_squared: f64) -> impl Iterator<Item = f64> + '_ {
    strata.iter().map(move |stratum| 1.0 / (stratum.variance_for_weight() + tau_squared))
}

pub(super) fn weighted_mean(strata: &[Stratum], weights: &[f64]) -> f64 {
    let sum: f64 = strata.iter().zip(weights).map(|(stratum, weight)| stratum.mean * weight).sum();
    sum / weights.iter().sum::<f64>()
}

/// The weighted squares around a mean.
pub(super) fn squares(strata: &[Stratum], tau_squared: f64, mean: f64) -> f64 {
    let of = |(stratum, weight): (&Stratum, f64)| weight * (stratum.mean - mean).powi(2);
    strata.iter().zip(weights(strata, tau_squared)).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With so many rounds that the variances are known.
    fn known(means: &[f64], variances: &[f64]) -> Vec<Stratum> {
        let stratum = |(&mean, &variance)| Stratum { rounds: 1_000_000_000, mean, variance };
        means.iter().zip(variances).map(stratum).collect()
    }

    fn close(left: f64, right: f64, tolerance: f64) {
        assert!((left - right).abs() <= tolerance, "{left} is not {right} within {tolerance}");
    }

    /// Four hosts of the same variance v: every estimator gives the mean, tau² = s² − v, and the interval of the t test.
    #[test]
    fn hosts_of_equal_variance_give_the_textbooks_t_interval() {
        let combined = Combined::of(&known(&[0.1, 0.2, 0.3, 0.4], &[0.001; 4]), 0.95, 0.8).unwrap();
        close(combined.ratio.value.ln(), 0.25, 1e-9);
        // s² = 0.016667, t(3) = 3.18245, s/√4 = 0.0645497.
        close(combined.tau.powi(2), 0.016_667 - 0.001, 1e-6);
        close(combined.ratio.lower.ln(), 0.25 - 3.182_45 * 0.064_549_7, 1e-5);
        // t(2) = 4.30265.
        let deviation = (0.015_667f64 + 0.004_166_7).sqrt();
        close(combined.prediction.unwrap().upper.ln(), 0.25 + 4.302_65 * deviation, 1e-4);
        assert_eq!(combined.weights, [0.25; 4]);
    }

    #[test]
    fn hosts_that_agree_too_well_do_not_narrow_the_interval() {
        let combined = Combined::of(&known(&[0.2, 0.2], &[0.01; 2]), 0.95, 0.8).unwrap();
        assert_eq!((combined.tau, combined.prediction), (0.0, None));
        // t(1) = 12.7062, √(0.01/2).
        close(combined.ratio.lower.ln(), 0.2 - 12.7062 * 0.005f64.sqrt(), 1e-4);
        assert_eq!(Combined::of(&known(&[0.2], &[0.01]), 0.95, 0.8), None);
    }

    #[test]
    fn one_host_with_nearly_all_weight_leaves_one_degree_of_freedom() {
        for exact in [1e-6, 1e-9, 1e-12, 1e-15, 1e-18, 1e-300] {
            let combined = Combined::of(&known(&[0.0, 0.02, 0.01], &[exact, 0.01, 0.01]), 0.95, 0.8).unwrap();
            let ratio = combined.ratio;
            assert!(ratio.lower > 0.01 && ratio.upper < 100.0, "{exact}: {combined:?}");
            assert!(
                combined.prediction.is_some_and(|ratio| ratio.upper.is_finite()),
                "{exact}: {combined:?}"
            );
        }
    }

    #[test]
    fn hosts_within_groups_can_agree() {
        let strata = known(&[0.1, 0.1, 0.5, 0.5], &[0.0001; 4]);
        assert!(tau_squared(&[&strata]) > 0.04);
        assert_eq!(tau_squared(&[&strata[..2], &strata[2..]]), 0.0);
        assert_eq!(tau_squared(&[&strata[..1], &strata[1..2]]), 0.0, "no degree of freedom is left");
    }
}
