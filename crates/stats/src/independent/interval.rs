//! The ratio of two samples with its interval.

use super::detectable;
use super::sample::{IndependentSample, log_of};
use crate::bootstrap::quantile;
use crate::distribution::normal_cdf;
use crate::interval::Ratio;
use crate::random::{Purpose, Random, stream};
use crate::settings::Settings;
use crate::welch::{student, studentise};
use rand::RngExt;
use statrs::distribution::ContinuousCDF;

/// How many times as good the second sample is, with its interval; and the minimum detectable effect. Both samples have two units
/// at least.
pub(super) fn ratio(sides: [&IndependentSample; 2], settings: &Settings, seed: u64) -> (Ratio, f64) {
    let estimates = sides.map(IndependentSample::estimate);
    let variances = estimates.map(|estimate| estimate.variance);
    let freedoms = sides.map(|side| f64::from(side.units() - 1));
    let [before, after] = estimates;
    let log = after.log - before.log;
    let detectable = detectable(variances, freedoms, settings);
    let random = &mut stream(seed, Purpose::Independent);
    let mut resampled =
        [deviations(sides[0], settings.resamples, random), deviations(sides[1], settings.resamples, random)];
    let [before, after] = &mut resampled;
    let mut logs: Vec<f64> = after.iter().zip(before).map(|(after, before)| log + *after - *before).collect();
    logs.sort_by(f64::total_cmp);
    let tail = tail(variances, freedoms, settings.confidence);
    let end = |probability| quantile(&logs, probability).exp();
    (Ratio { value: log.exp(), lower: end(tail), upper: end(1.0 - tail) }, detectable)
}

/// How far the resampled logarithms lie from the sample's own. Resampling n units yields the variance of n values with the divisor n;
/// the factor makes it that with n − 1.
fn deviations(side: &IndependentSample, resamples: u32, random: &mut Random) -> Vec<f64> {
    let (pairs, n) = (side.pairs(), side.pairs().len());
    let (own, widened) = (log_of(side.direction(), pairs), (n as f64 / (n as f64 - 1.0)).sqrt());
    let mut drawn = vec![(0.0, 0.0); n];
    let mut draw = || {
        drawn.fill_with(|| pairs[random.random_range(0..n)]);
        widened * (log_of(side.direction(), &drawn) - own)
    };
    (0..resamples).map(|_| draw()).collect()
}

/// The percentile at which the interval ends: Φ(−t) with Welch's degrees of freedom.
fn tail(variances: [f64; 2], freedoms: [f64; 2], confidence: f64) -> f64 {
    let plain = 0.5 * (1.0 - confidence);
    let freedom = studentise(0.0, variances, freedoms).map(|(_, freedom)| freedom);
    let student = freedom.and_then(student);
    student.map_or(plain, |student| normal_cdf(-student.inverse_cdf(1.0 - plain)))
}
