//! A ratio to the control with its interval.

use serde::{Deserialize, Serialize};

/// How many times as good as the control, with the ends of a confidence interval. Above 1 is better for either
/// direction of the metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Ratio of the means.
    pub value: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
}

impl Ratio {
    /// Whether 1, "no difference", lies within the interval.
    pub fn includes_one(&self) -> bool {
        self.lower <= 1.0 && self.upper >= 1.0
    }

    /// Both ends as text, with so many decimals, and three significant digits at most. An end that excludes 1 and is rounded to 1 says
    /// on which side it lies: `>1.00`.
    pub fn ends(&self, decimals: usize) -> (String, String) {
        (self.end(self.lower, decimals), self.end(self.upper, decimals))
    }

    fn end(&self, end: f64, decimals: usize) -> String {
        let shown = three_digits(end, decimals);
        let reads_one = shown.parse::<f64>() == Ok(1.0);
        match (reads_one && !self.includes_one(), end > 1.0) {
            (false, _) => shown,
            (true, true) => format!(">{shown}"),
            (true, false) => format!("<{shown}"),
        }
    }

    /// The end farthest from 1, as a factor of at least 1: 0.5 and 2 are equally far.
    pub fn farthest_factor(&self) -> f64 {
        factor(self.lower).max(factor(self.upper))
    }

    /// Half the width of the interval relative to the ratio, on the logarithmic scale: 0.025 means that
    /// the ends lie about 2.5 % below and above.
    pub fn relative_half_width(&self) -> f64 {
        (0.5 * (self.upper / self.lower).ln()).exp_m1()
    }
}

/// A ratio as a factor of at least 1, ignoring its direction.
pub(crate) fn factor(ratio: f64) -> f64 {
    ratio.max(1.0 / ratio)
}

/// A positive number with so many decimals, and three significant digits at most; all digits before the point.
pub fn three_digits(x: f64, decimals: usize) -> String {
    let most =
        |x: f64| if x > 0.0 && x.is_finite() { (2.0 - x.log10().floor()).clamp(0.0, 12.0) } else { 2.0 };
    let show = |decimals: usize| format!("{x:.decimals$}");
    let shown = show(decimals.min(most(x) as usize));
    // Rounding can add a digit: 0.9999 becomes 1.000.
    let rounded = shown.parse().unwrap_or(x);
    show(decimals.min(most(rounded) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_have_three_digits_and_never_read_one_if_they_exclude_it() {
        let ends = |lower, upper| Ratio { value: 2.0, lower, upper }.ends(4);
        assert_eq!(ends(1.0003, 2.8795), (">1.00".into(), "2.88".into()));
        assert_eq!(ends(0.0351, 0.999_96), ("0.0351".into(), "<1.00".into()));
        assert_eq!(ends(0.5, 1.0003), ("0.500".into(), "1.00".into()));
        assert_eq!(ends(15.16, 230.4), ("15.2".into(), "230".into()));
    }
}
