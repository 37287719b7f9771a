//! A ratio to the control with its interval.

use serde::{Deserialize, Serialize};

/// The largest number of decimals.
const DECIMALS_MOST: usize = 4;

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

    /// The number of decimals. It shows a digit of the interval's half width, and rounds no end to 0. If two decimals
    /// are enough, it does not round an end that excludes 1 to 1. An end below 10 has two digits, and a ratio below 1 has two
    /// significant ones.
    pub fn decimals(&self) -> usize {
        let half = 0.5 * (self.upper - self.lower);
        // An interval without width has no digit to round to; exact whole numbers need no decimals.
        if half < 1e-9 && self.value == self.value.round() {
            return 0;
        }
        let shown = |digits: usize, x: f64| format!("{x:.digits$}").parse::<f64>().unwrap_or(x);
        let is_fine = |&digits: &usize| {
            let excludes = [self.lower, self.upper].iter().all(|&end| shown(digits, end) != 1.0);
            let legible = self.lower >= 10.0 || digits > 0 && shown(digits, self.lower) > 0.0;
            let bears = half >= f64::powi(10.0, -(digits as i32));
            bears && (self.includes_one() || excludes || digits >= 2) && legible
        };
        (self.decimals_below_one()..DECIMALS_MOST).find(is_fine).unwrap_or(DECIMALS_MOST)
    }

    /// The decimals that a ratio below 1 needs for two significant digits; 0 for others.
    fn decimals_below_one(&self) -> usize {
        match self.value > 0.0 && self.value < 1.0 {
            true => ((1.0 - self.value.log10().floor()) as usize).min(DECIMALS_MOST),
            false => 0,
        }
    }

    /// The ratio and both ends as text, with the digits that the interval bears: at most two decimals unless the lower
    /// end or a small ratio needs more.
    pub fn shown(&self) -> (String, [String; 2]) {
        let is_exact = self.upper - self.lower < 1e-9;
        let enough = self.decimals_below_one().max(2);
        let decimals = match is_exact || self.lower >= 0.005 {
            true if is_exact => enough,
            true => self.decimals().min(enough),
            false => self.decimals(),
        };
        let (lower, upper) = self.ends(decimals);
        (three_digits(self.value, decimals), [lower, upper])
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
    fn digits_follow_the_width() {
        let digits = |value, lower, upper| Ratio { value, lower, upper }.decimals();
        assert_eq!(digits(3.1, 2.9, 3.4), 1);
        assert_eq!(digits(35.2, 31.0, 39.0), 0);
        assert_eq!(digits(1.12, 1.10, 1.14), 2);
        // The difference is proven, so the lower end must not read "1.0".
        assert_eq!(digits(1.3, 1.04, 1.6), 2);
        assert_eq!(digits(1.0, 0.9, 1.1), 1);
        // Neither "1 times as fast, 1–4" nor "2 times as long, 0–3".
        assert_eq!(digits(1.10, 0.64, 4.39), 1);
        assert_eq!(digits(1.66, 0.41, 2.94), 1);
        assert_eq!(digits(0.5, 0.03, 2.9), 2);
        assert_eq!(digits(1.7, 1.0003, 2.8795), 2, "more digits than the interval bears show nothing");
    }

    #[test]
    fn tables_show_the_digits_that_the_interval_bears() {
        let shown = |value, lower, upper| {
            let (value, [lower, upper]) = Ratio { value, lower, upper }.shown();
            format!("{value} ({lower} – {upper})")
        };
        assert_eq!(shown(1.7, 1.0003, 2.8795), "1.70 (>1.00 – 2.88)");
        assert_eq!(shown(6.48, 5.61, 7.33), "6.5 (5.6 – 7.3)");
        assert_eq!(shown(2.0, 2.0, 2.0), "2.00 (2.00 – 2.00)");
        assert_eq!(shown(1.001, 0.9995, 1.002), "1.00 (1.00 – 1.00)");
        assert_eq!(shown(0.004, 0.003, 0.005), "0.0040 (0.0030 – 0.0050)");
        // Issue 30: "0.2", where a sentence said 5.5 times as long.
        assert_eq!(shown(0.18, 0.09, 0.36), "0.18 (0.09 – 0.36)");
        assert_eq!(shown(0.5, 0.2, 0.9), "0.50 (0.20 – 0.90)");
        assert_eq!(shown(0.042, 0.031, 0.052), "0.042 (0.031 – 0.052)");
        assert_eq!(shown(0.5, 0.5, 0.5), "0.50 (0.50 – 0.50)");
        assert_eq!(shown(1.04, 0.7, 1.4), "1.0 (0.7 – 1.4)");
    }

    #[test]
    fn ends_have_three_digits_and_never_read_one_if_they_exclude_it() {
        let ends = |lower, upper| Ratio { value: 2.0, lower, upper }.ends(4);
        assert_eq!(ends(1.0003, 2.8795), (">1.00".into(), "2.88".into()));
        assert_eq!(ends(0.0351, 0.999_96), ("0.0351".into(), "<1.00".into()));
        assert_eq!(ends(0.5, 1.0003), ("0.500".into(), "1.00".into()));
        assert_eq!(ends(15.16, 230.4), ("15.2".into(), "230".into()));
    }
}
