//! The normal distribution and Student's t, as far as intervals and power need them.

use std::f64::consts::{FRAC_2_PI, PI};

/// Φ(z), the standard normal distribution function, to the precision of `f64` (absolute error).
///
/// Series by G. Marsaglia, *Evaluating the Normal Distribution*, J. Stat. Software 11(4), 2004:
/// Φ(z) = ½ + φ(z)·(z + z³/3 + z⁵/(3·5) + …).
pub fn normal_cdf(z: f64) -> f64 {
    // Beyond 8 the distance from 0 or 1 is below 1e-15, which the series cannot resolve.
    if z.abs() > 8.0 {
        return if z > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum, mut k) = (z, z, 1.0);
    while term.abs() > 1e-17 * sum.abs() {
        k += 2.0;
        term *= z * z / k;
        sum += term;
    }
    0.5 + sum * (-0.5 * z * z).exp() / (2.0 * PI).sqrt()
}

/// P(T ≤ t) for Student's t with `freedom` ≥ 1 degrees of freedom.
///
/// The finite sums for whole degrees of freedom, Abramowitz & Stegun 26.7.3 and 26.7.4.
///
/// # Panics
/// If `freedom` is zero.
pub fn student_cdf(t: f64, freedom: u32) -> f64 {
    assert!(freedom > 0, "Student's t needs at least one degree of freedom");
    let theta = (t / f64::from(freedom).sqrt()).atan();
    let (sin, cos) = theta.sin_cos();
    let odd = freedom % 2 == 1;
    // The sum's term i is cos^i times a ratio of products; odd and even cases differ in where they start.
    let (mut term, mut i) = if odd { (cos, 1) } else { (1.0, 0) };
    let mut sum = if freedom == 1 { 0.0 } else { term };
    while i + 2 < freedom {
        term *= cos * cos * f64::from(i + 1) / f64::from(i + 2);
        sum += term;
        i += 2;
    }
    // Within: P(−|t| < T < |t|), with the sign of t.
    let within = if odd { FRAC_2_PI * (theta + sin * sum) } else { sin * sum };
    0.5 + 0.5 * within
}

/// The t with P(T ≤ t) = `probability`, for `freedom` ≥ 1 degrees of freedom.
///
/// # Panics
/// If `probability` is not strictly between 0 and 1, or `freedom` is zero.
pub fn student_quantile(probability: f64, freedom: u32) -> f64 {
    assert!(probability > 0.0 && probability < 1.0, "a quantile needs a probability within (0, 1)");
    if probability < 0.5 {
        return -student_quantile(1.0 - probability, freedom);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while student_cdf(high, freedom) < probability && high < f64::MAX / 2.0 {
        high *= 2.0;
    }
    // 200 halvings exhaust the bits of any f64; the loop normally ends when the middle stops moving.
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if student_cdf(middle, freedom) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64, tolerance: f64) {
        assert!((left - right).abs() <= tolerance, "{left} is not {right} within {tolerance}");
    }

    #[test]
    fn normal_matches_the_tables() {
        for (z, p) in [(0.0, 0.5), (1.0, 0.841_344_746), (1.959_963_985, 0.975), (-2.575_829_304, 0.005)] {
            close(normal_cdf(z), p, 1e-9);
        }
        close(normal_cdf(-40.0), 0.0, 0.0);
    }

    #[test]
    fn student_quantiles_match_the_tables() {
        // Two-sided 95 % points, any textbook's appendix.
        for (freedom, t) in [
            (1, 12.7062),
            (2, 4.3027),
            (4, 2.7764),
            (5, 2.5706),
            (9, 2.2622),
            (10, 2.2281),
            (30, 2.0423),
            (120, 1.9799),
        ] {
            close(student_quantile(0.975, freedom), t, 5e-5);
            close(student_quantile(0.025, freedom), -t, 5e-5);
        }
        close(student_quantile(0.8, 9), 0.8834, 5e-5);
        close(student_quantile(0.975, 100_000), 1.96, 5e-4);
    }
}
