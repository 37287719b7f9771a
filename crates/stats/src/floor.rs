//! The noise floor: the apparent difference between two sets of runs of the same program.

use crate::interval::{Ratio, factor};
use serde::{Deserialize, Serialize};

/// What the A/A pair of a session shows. No difference below [`NoiseFloor::factor`] is ranked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// Number of rounds with both halves of the pair.
    pub rounds: u32,
    /// The second set of the control's runs relative to the first; the true value is 1.
    pub ratio: Ratio,
    /// The smallest true effect, as a factor of at least 1, that this many rounds would show at this noise; see
    /// [`crate::minimum_detectable_effect`].
    pub minimum_detectable_effect: f64,
    /// Whether the same program seems to differ from itself: 1 lies outside the interval. By chance this happens in one
    /// session of twenty; more often it indicates a disturbance that pairing did not cancel.
    pub differs: bool,
    /// The factor between two values that are both printed like the control's: what the digits of its figures cannot tell. Absent
    /// if no figure was printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<f64>,
    /// The floor, a factor of at least 1: the minimum detectable effect, or what is larger of these: the far end of the pair's
    /// interval if the pair differs, and the rounding.
    pub factor: f64,
    /// The coefficients of variation of the pair, the control's first: no smaller difference of spread is proven. Absent if
    /// the pair has too few runs for a test of spread.
    #[serde(default)]
    pub coefficients_of_variation: Option<[f64; 2]>,
}

impl NoiseFloor {
    /// The noise floor for an A/A pair with this ratio and this minimum detectable effect.
    pub fn new(rounds: u32, ratio: Ratio, minimum_detectable_effect: f64) -> NoiseFloor {
        let differs = !ratio.includes_one();
        NoiseFloor {
            rounds,
            ratio,
            minimum_detectable_effect,
            differs,
            rounding: None,
            factor: noise(ratio, differs, minimum_detectable_effect),
            coefficients_of_variation: None,
        }
    }

    /// This floor, at least as high as what the rounding of the figures can cause.
    #[must_use]
    pub fn above_rounding(self, rounding: Option<f64>) -> NoiseFloor {
        NoiseFloor { rounding, factor: self.factor.max(rounding.unwrap_or(1.0)), ..self }
    }

    /// What the noise alone makes the floor.
    pub fn of_noise(&self) -> f64 {
        match self.is_of_digits() {
            true => noise(self.ratio, self.differs, self.minimum_detectable_effect),
            false => self.factor,
        }
    }

    /// Whether the digits of the figures set the floor, so that more rounds do not lower it.
    pub fn is_of_digits(&self) -> bool {
        self.rounding.is_some_and(|rounding| rounding >= self.factor)
    }

    /// By which factor the spread of the pair differs, at least 1. Infinite if one half does not vary; 1 if it is unknown.
    pub(crate) fn spread_factor(&self) -> f64 {
        match self.coefficients_of_variation {
            Some([one, other]) if one != other => factor(one / other),
            _ => 1.0,
        }
    }
}

/// The floor of a pair, as far as its noise makes it.
fn noise(ratio: Ratio, differs: bool, minimum_detectable_effect: f64) -> f64 {
    let observed = if differs { ratio.farthest_factor() } else { 1.0 };
    minimum_detectable_effect.max(observed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differing_a_a_pair_raises_the_floor() {
        let quiet = NoiseFloor::new(10, Ratio { value: 1.01, lower: 0.98, upper: 1.04 }, 1.05);
        assert_eq!((quiet.differs, quiet.factor), (false, 1.05));
        let disturbed = NoiseFloor::new(10, Ratio { value: 0.5, lower: 0.4, upper: 0.6 }, 1.05);
        assert_eq!((disturbed.differs, disturbed.factor), (true, 2.5));
    }

    #[test]
    fn floor_is_not_below_the_rounding() {
        let quiet = NoiseFloor::new(10, Ratio { value: 1.0, lower: 1.0, upper: 1.0 }, 1.0);
        let coarse = quiet.above_rounding(Some(1.67));
        assert_eq!((coarse.factor, coarse.is_of_digits(), coarse.of_noise()), (1.67, true, 1.0));
        let noisy = NoiseFloor { factor: 2.0, ..quiet }.above_rounding(Some(1.67));
        assert_eq!((noisy.factor, noisy.is_of_digits()), (2.0, false));
        assert_eq!((quiet.above_rounding(None), quiet.is_of_digits()), (quiet, false));
    }
}
