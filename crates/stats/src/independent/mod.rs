//! Two samples that were measured apart: two sessions, be they of one machine on two days or of two machines.
//!
//! Within a session the runs of a round are a pair ([`crate::Pairs`]). Two sessions have no pairs, so each side is resampled for
//! itself, and the test relabels the runs of both sides. Two quantities are compared:
//!
//! - the *figures* of one configuration ([`IndependentSample::of_figures`]): the unit that is resampled is the run;
//! - its *gains* over the control of its own session ([`IndependentSample::of_gains`]): the unit is the round, so that what
//!   disturbs a round still cancels within it. The ratio of two gains also compares machines on which the figures differ.
//!
//! Both are ratios of means, of which the first has the constant 1 for its control. So the same code serves both.
//!
//! **Interval** (`interval`): the expanded percentile interval of [`crate::bootstrap`] for two samples. A resampled mean of n
//! units varies too little by √((n−1)/n): each side's deviations are widened by that factor. The percentiles are taken at Φ(−t),
//! with t of Welch's degrees of freedom. **Test** (`relabel`): Welch's t under all divisions of the pooled units, or under random ones.
//! Because the statistic is divided by its standard error, the test holds its level also if the sides vary differently (A. Janssen,
//! *Studentized permutation tests for non-i.i.d. hypotheses and the generalized Behrens-Fisher problem*, Statist. Probab. Lett. 36,
//! 1997; E. Y. Chung, J. P. Romano, *Exact and asymptotically robust permutation tests*, Ann. Statist. 41, 2013).
//!
//! Two sessions do not show how much sessions differ from each other: each has its own placement of threads and memory, its own
//! neighbours, its own temperature (T. Kalibera, R. Jones, *Rigorous benchmarking in reasonable time*, ISMM 2013). With several
//! sessions on each side the session is the unit ([`IndependentTest::of_sessions`]).
//!
//! `tests/suite/apart.rs` measures level, coverage and power on simulated sessions with known true ratios.

mod drift;
mod interval;
mod judgement;
mod relabel;
mod sample;

pub use drift::Drift;
pub use judgement::{IndependentVerdict, judge};
pub use sample::IndependentSample;

use crate::distribution::student_quantile;
use crate::interval::{Ratio, factor};
use crate::metric::Direction;
use crate::moments::Moments;
use crate::rounding::RoundingBounds;
use crate::settings::Settings;
use crate::welch::{studentise, welch, welch_ratio};
use serde::{Deserialize, Serialize};

/// Fewest units (runs, rounds) on each side from which an interval is computed and a difference can be proven.
pub const UNITS_MIN: u32 = 6;

/// The comparison of two samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndependentTest {
    /// Number of units on each side, the earlier first.
    pub units: [u32; 2],
    /// How many times as good the later side is; above 1 is better.
    pub ratio: Ratio,
    /// Two-sided probability of a difference at least this large if there were none.
    pub p: f64,
    /// The smallest p that so many units can give.
    pub smallest_attainable: f64,
    /// The smallest true effect, as a factor of at least 1, that this comparison would find with the power of the settings.
    pub minimum_detectable_effect: f64,
    /// The factor by which the rounding of the figures can have moved the ratio away from 1. No difference within it is proven, and
    /// the interval has all values before rounding. Absent if the figures were not printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<f64>,
}

impl IndependentTest {
    /// Compares two samples. Their units are runs or rounds. `None` if a side has fewer than [`UNITS_MIN`]: the intervals of
    /// so few miss their confidence.
    pub fn of(
        before: &IndependentSample,
        after: &IndependentSample,
        settings: &Settings,
        seed: u64,
    ) -> Option<IndependentTest> {
        let units = [before.units(), after.units()];
        if units.iter().any(|&units| units < UNITS_MIN) {
            return None;
        }
        let (ratio, minimum_detectable_effect) = interval::ratio([before, after], settings, seed);
        let (p, smallest_attainable) = relabel::test([before, after], settings.draws, seed);
        let test = IndependentTest {
            units,
            ratio,
            p,
            smallest_attainable,
            minimum_detectable_effect,
            rounding: None,
        };
        Some(test.rounded([before.before_rounding(), after.before_rounding()]))
    }

    /// With an interval that has all values before rounding. The sides are the values that are compared, between the ends that they
    /// may have had before.
    #[must_use]
    pub fn rounded(self, [before, after]: [Ratio; 2]) -> IndependentTest {
        let Some(bounds) = RoundingBounds::of_quotient(before, after) else { return self };
        IndependentTest { ratio: bounds.widen(self.ratio), rounding: Some(bounds.factor), ..self }
    }

    /// What rounding can have made, and what noise, drift and disturbance can: differences up to it are not proven. `floor` is the
    /// latter; without one the minimum detectable effect stands for it.
    pub fn floor(&self, floor: Option<f64>) -> f64 {
        floor.unwrap_or(self.minimum_detectable_effect).max(self.rounding.unwrap_or(1.0))
    }

    /// Whether rounding alone can have made the difference.
    pub fn is_rounding(&self) -> bool {
        self.rounding.is_some_and(|rounding| factor(self.ratio.value) <= rounding)
    }

    /// Compares sides of several sessions each. A value is the session's mean figure, or its gain; the unit is the session.
    /// Welch's test, because so few values have too few divisions. Sessions that agree are as exact as a part in a thousand, no
    /// more. `None` if a side has one session.
    pub fn of_sessions(
        before: &[f64],
        after: &[f64],
        direction: Direction,
        settings: &Settings,
    ) -> Option<IndependentTest> {
        const DEVIATION_AT_LEAST: f64 = 1e-3;
        let spread = |side: Moments| {
            let standard_deviation = side.standard_deviation.max(DEVIATION_AT_LEAST * side.mean);
            Moments { standard_deviation, ..side }
        };
        let (before, after) = (spread(Moments::of(before)?), spread(Moments::of(after)?));
        let relative = |side: &Moments| side.variance_of_mean() / side.mean.powi(2);
        Some(IndependentTest {
            units: [before.count, after.count],
            ratio: welch_ratio(&before, &after, direction, settings.confidence)?,
            p: welch(&before, &after)?.p,
            smallest_attainable: 0.0,
            minimum_detectable_effect: detectable(
                [relative(&before), relative(&after)],
                [before.freedom(), after.freedom()],
                settings,
            ),
            rounding: None,
        })
    }
}

/// The minimum detectable effect, a factor of at least 1, of two independent means with these variances of their logarithms; as
/// [`crate::minimum_detectable_effect`] for pairs.
fn detectable(variances: [f64; 2], freedoms: [f64; 2], settings: &Settings) -> f64 {
    let error = variances.iter().sum::<f64>().sqrt();
    // Rounded down: fewer degrees of freedom are on the safe side.
    let freedom = studentise(0.0, variances, freedoms).map_or(1, |(_, freedom)| (freedom as u32).max(1));
    let multiplier =
        student_quantile(1.0 - 0.5 * settings.alpha, freedom) + student_quantile(settings.power, freedom);
    (multiplier * error).exp()
}
