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
