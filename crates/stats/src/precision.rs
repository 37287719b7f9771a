//! What a number of rounds can and cannot show.
//!
//! All figures here derive from s, the standard deviation of the rounds' log ratios: the noise that is left after
//! machine drift has cancelled within the pairs. The noise of a mean decreases with 1/√n.

use crate::distribution::student_quantile;
use crate::sample::standard_deviation;

/// The largest number of rounds that is advised; beyond it the advice would mean "never".
pub const ROUNDS_MAX: u32 = 1_000_000;

/// Half the width of the t interval of the mean log ratio: t(n−1)·s/√n. `None` below two rounds.
pub fn half_width(log_ratios: &[f64], confidence: f64) -> Option<f64> {
    let s = standard_deviation(log_ratios)?;
    Some(half_width_of(s, log_ratios.len() as u32, confidence))
}

/// The total number of rounds needed until [`half_width`] is at most `target`, if the noise stays the same. `None`
/// below two rounds. At most [`ROUNDS_MAX`].
pub fn rounds_needed(log_ratios: &[f64], confidence: f64, target: f64) -> Option<u32> {
    let s = standard_deviation(log_ratios)?;
    let enough = |n: u32| half_width_of(s, n, confidence) <= target;
    // The half width decreases with n: double n until it is enough, then bisect.
    let mut high = 2;
    while !enough(high) {
        high *= 2;
        if high > ROUNDS_MAX {
            return Some(ROUNDS_MAX);
        }
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// The minimum detectable effect as a factor of at least 1: the smallest true ratio that a two-sided test at
/// level `alpha` would find with probability `power`, at this noise and this number of rounds:
/// exp((t(1−α/2, n−1) + t(power, n−1))·s/√n).
///
/// Source: Bloom, *Minimum detectable effects*, Evaluation Review 19(5), 1995, on the log scale and with
/// t in place of z because s is estimated. `None` below two rounds.
pub fn minimum_detectable_effect(log_ratios: &[f64], alpha: f64, power: f64) -> Option<f64> {
    let s = standard_deviation(log_ratios)?;
    Some(detectable(s, log_ratios.len() as u32, alpha, power))
}

/// The minimum detectable effect before there are pairs: for `rounds` pairs of runs that scatter like these runs of one
/// configuration. The estimate is on the safe side: the lower end of a one-sided 95 % interval for the standard
/// deviation of so few runs. `None` below two runs or two rounds.
pub fn least_detectable_effect(values: &[f64], rounds: u32, alpha: f64, power: f64) -> Option<f64> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let s = standard_deviation(&logs).filter(|_| rounds >= 2)?;
    let s = s * lower_end(logs.len() as u32 - 1);
    // The difference of two runs has twice the variance of one.
    Some(detectable(std::f64::consts::SQRT_2 * s, rounds, alpha, power))
}

/// √(f / χ²(0.95, f)), by the approximation of Wilson and Hilferty (*The distribution of chi-square*, Proc. Natl. Acad.
/// Sci. 17, 1931).
fn lower_end(freedom: u32) -> f64 {
    const NORMAL_95: f64 = 1.644_85;
    let part = 2.0 / (9.0 * f64::from(freedom));
    (1.0 - part + NORMAL_95 * part.sqrt()).powi(3).sqrt().recip()
}

fn detectable(s: f64, n: u32, alpha: f64, power: f64) -> f64 {
    let multiplier = student_quantile(1.0 - 0.5 * alpha, n - 1) + student_quantile(power, n - 1);
    (multiplier * s / f64::from(n).sqrt()).exp()
}

fn half_width_of(s: f64, n: u32, confidence: f64) -> f64 {
    // t(1000) is within 0.2 % of its limit, on the safe side; the sum for more degrees of freedom takes long.
    let freedom = (n - 1).min(1_000);
    student_quantile(0.5 + 0.5 * confidence, freedom) * s / f64::from(n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_width_is_the_textbook_t_interval() {
        // Mean 3, s = 1.5811, n = 5, t(4) = 2.7764: 1.9632.
        let width = half_width(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert!((width - 1.9632).abs() < 1e-4);
    }

    #[test]
    fn rounds_needed_is_the_fewest() {
        let noise = [0.3, -0.2, 0.1, 0.05, -0.25, 0.02];
        let s = standard_deviation(&noise).unwrap();
        for target in [0.5, 0.1, 0.025, 0.01] {
            let n = rounds_needed(&noise, 0.95, target).unwrap();
            assert!(half_width_of(s, n, 0.95) <= target);
            assert!(n == 2 || half_width_of(s, n - 1, 0.95) > target);
        }
        assert_eq!(rounds_needed(&noise, 0.95, 1e-9), Some(ROUNDS_MAX));
        assert_eq!(rounds_needed(&[0.1; 5], 0.95, 0.01), Some(2));
        assert_eq!(rounds_needed(&[0.1], 0.95, 0.01), None);
    }

    #[test]
    fn least_detectable_effect_is_below_that_of_the_runs() {
        // χ²(0.95, 4) = 9.488: √(4 / 9.488) = 0.649.
        assert!((lower_end(4) - 0.649).abs() < 0.002, "{}", lower_end(4));
        let runs = [1.0, 1.1, 0.9, 1.05, 0.95];
        let least = least_detectable_effect(&runs, 6, 0.05, 0.8).unwrap();
        let s = standard_deviation(&runs.map(f64::ln)).unwrap();
        let multiplier = student_quantile(0.975, 5) + student_quantile(0.8, 5);
        let expected = multiplier * s * std::f64::consts::SQRT_2 * lower_end(4) / 6f64.sqrt();
        assert!((least.ln() - expected).abs() < 1e-9, "{least}");
        assert_eq!(least_detectable_effect(&[1.0], 6, 0.05, 0.8), None);
    }

    #[test]
    fn minimum_detectable_effect_matches_the_formula() {
        // n = 10, s = 0.1: (2.2622 + 0.8834)·0.1/√10 = 0.09947.
        let unit = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
        let s = standard_deviation(&unit).unwrap();
        let scaled = unit.map(|x| 0.1 * x / s);
        let effect = minimum_detectable_effect(&scaled, 0.05, 0.8).unwrap();
        assert!((effect.ln() - 0.099_47).abs() < 1e-5);
    }
}
