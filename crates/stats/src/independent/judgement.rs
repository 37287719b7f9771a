//! What two samples prove.

use super::{IndependentTest, UNITS_MIN};
use crate::holm::holm;
use crate::interval::factor;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The outcome of one comparison of two sessions.
///
/// A difference is proven only if all of this holds: the p value, corrected for the number of comparisons, is at most alpha; the
/// interval excludes 1; and the ratio lies beyond the floor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum IndependentVerdict {
    /// The later side is better.
    ProvenBetter,
    /// The later side is worse.
    ProvenWorse,
    /// No difference is proven, which does not prove that there is none.
    NothingProven {
        /// The largest effect, as a factor of at least 1, that may be hidden.
        could_hide: f64,
    },
    /// No difference is proven, because it is smaller than those that a session shows between equal programs, or that rounding makes.
    BelowFloor {
        /// The floor, a factor of at least 1.
        floor: f64,
        /// The largest effect, as a factor of at least 1, that may be hidden.
        could_hide: f64,
    },
    /// No p value of so few units can reach the level after the correction, however large the difference.
    TooFewUnits {
        /// The number of runs or rounds that can, on each side.
        needed: u32,
    },
}

/// Judges all comparisons of one kind: their p values after Holm's correction, and the verdicts. `floor`
/// is a factor of at least 1; without one each comparison's minimum detectable effect stands for it. What rounding can make is a floor
/// of each comparison of its own.
pub fn judge(
    tests: &[IndependentTest],
    floor: Option<f64>,
    settings: &Settings,
) -> Vec<(f64, IndependentVerdict)> {
    let corrected = holm(&tests.iter().map(|test| test.p).collect::<Vec<f64>>());
    let judged = tests.iter().zip(corrected);
    let verdict = |test: &IndependentTest, p| verdict(test, p, tests.len(), test.floor(floor), settings);
    judged.map(|(test, p)| (p, verdict(test, p))).collect()
}

fn verdict(
    test: &IndependentTest,
    p: f64,
    judged: usize,
    floor: f64,
    settings: &Settings,
) -> IndependentVerdict {
    let ratio = test.ratio;
    // A difference within the floor could not have been proven.
    let could_hide = ratio.farthest_factor().max(floor);
    if test.smallest_attainable * judged as f64 > settings.alpha {
        return IndependentVerdict::TooFewUnits { needed: units_for_proof(judged, settings.alpha) };
    }
    // Within the rounding the interval includes 1, even if no run varies.
    if p > settings.alpha || ratio.includes_one() && !test.is_rounding() {
        return IndependentVerdict::NothingProven { could_hide };
    }
    match factor(ratio.value) <= floor {
        true => IndependentVerdict::BelowFloor { floor, could_hide },
        false if ratio.value > 1.0 => IndependentVerdict::ProvenBetter,
        false => IndependentVerdict::ProvenWorse,
    }
}

/// The smallest number of units on each side with which so many comparisons can be proven.
fn units_for_proof(comparisons: usize, alpha: f64) -> u32 {
    // C(2n, n): C(2n + 2, n + 1) is C(2n, n) times (4n + 2) / (n + 1).
    let (mut n, mut divisions) = (1u32, 2.0f64);
    while n < UNITS_MIN || 2.0 / divisions * comparisons as f64 > alpha {
        divisions *= f64::from(4 * n + 2) / f64::from(n + 1);
        n += 1;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Ratio;

    fn test(value: f64, half: f64, p: f64) -> IndependentTest {
        IndependentTest {
            units: [10, 10],
            ratio: Ratio { value, lower: value - half, upper: value + half },
            p,
            smallest_attainable: 0.000_01,
            minimum_detectable_effect: 1.01,
            rounding: None,
        }
    }

    #[test]
    fn each_condition_alone_prevents_a_proof() {
        let settings = Settings::default();
        let verdict = |test: IndependentTest| judge(&[test], Some(1.03), &settings)[0].1;
        assert_eq!(verdict(test(0.9, 0.05, 0.001)), IndependentVerdict::ProvenWorse);
        assert_eq!(verdict(test(1.2, 0.05, 0.001)), IndependentVerdict::ProvenBetter);
        for unproven in [test(0.9, 0.05, 0.06), test(0.9, 0.11, 0.001)] {
            assert!(matches!(verdict(unproven), IndependentVerdict::NothingProven { .. }));
        }
        let below = IndependentVerdict::BelowFloor { floor: 1.03, could_hide: 1.0 / 0.97 };
        assert_eq!(verdict(test(0.98, 0.01, 0.001)), below);
        let within = IndependentVerdict::NothingProven { could_hide: 1.03 };
        assert_eq!(verdict(test(1.0, 0.01, 0.9)), within, "the floor hides more than the interval");
        let few = IndependentTest { smallest_attainable: 0.06, ..test(0.9, 0.05, 0.06) };
        assert_eq!(verdict(few), IndependentVerdict::TooFewUnits { needed: 6 });
    }

    #[test]
    fn rounding_is_a_floor_of_its_own() {
        let exact = |value| Ratio { value, lower: value, upper: value };
        let printed = |value| Ratio { value, lower: value / 1.2, upper: value * 1.2 };
        let verdict = |ratio: f64, floor| {
            let sides = [printed(1.0), Ratio { value: ratio, ..exact(ratio) }];
            judge(&[test(ratio, 0.001, 0.001).rounded(sides)], floor, &Settings::default())[0].1
        };
        for floor in [None, Some(1.03)] {
            let found = verdict(1.15, floor);
            assert!(
                matches!(found, IndependentVerdict::BelowFloor { floor, .. } if floor > 1.19),
                "{found:?}"
            );
            assert_eq!(verdict(1.3, floor), IndependentVerdict::ProvenBetter);
            assert_eq!(verdict(0.7, floor), IndependentVerdict::ProvenWorse);
        }
    }

    #[test]
    fn p_is_corrected_for_all_comparisons() {
        let judged = judge(&[test(0.9, 0.05, 0.03), test(1.0, 0.05, 0.9)], None, &Settings::default());
        assert!((judged[0].0 - 0.06).abs() < 1e-12);
        assert!(matches!(judged[0].1, IndependentVerdict::NothingProven { .. }));
    }

    #[test]
    fn units_for_proof_are_the_fewest() {
        assert_eq!((units_for_proof(1, 0.05), units_for_proof(100, 0.05)), (6, 8));
    }
}
