//! The values of both sides, with the unit that is resampled.

use unspin_stats::independent::{IndependentSample, IndependentTest};
use unspin_stats::{Direction, Settings};

/// The seed of the intervals and tests: the same files give the same result.
const SEED: u64 = 1;

/// The values of both sides, the earlier first.
#[derive(Clone, Debug)]
pub enum Units {
    /// One session on each side: the unit is the run, or the round.
    WithinSessions([IndependentSample; 2]),
    /// Several sessions on each side: the unit is the session. Each value is how many times as good as 1, or as the control.
    Sessions([Vec<f64>; 2]),
}

impl Units {
    /// The sessions of both sides.
    pub fn new([before, after]: [Vec<IndependentSample>; 2]) -> Units {
        match (before.as_slice(), after.as_slice()) {
            ([before], [after]) => Units::WithinSessions([before.clone(), after.clone()]),
            (before, after) => Units::Sessions(
                [before, after].map(|side| side.iter().map(IndependentSample::value).collect()),
            ),
        }
    }

    /// None with too few units, or if nothing varies.
    pub fn test(&self, settings: &Settings) -> Option<IndependentTest> {
        match self {
            Units::WithinSessions([before, after]) => IndependentTest::of(before, after, settings, SEED),
            Units::Sessions([before, after]) => {
                IndependentTest::of_sessions(before, after, Direction::HigherIsBetter, settings)
            }
        }
    }

    /// Number of units on each side.
    pub fn number(&self) -> [u32; 2] {
        match self {
            Units::WithinSessions([before, after]) => [before.units(), after.units()],
            Units::Sessions([before, after]) => [before.len() as u32, after.len() as u32],
        }
    }

    /// With the earlier side so many times as good.
    pub fn with_before(&self, times_as_good: f64) -> Units {
        match self {
            Units::WithinSessions([before, after]) => {
                Units::WithinSessions([before.times_as_good(times_as_good), after.clone()])
            }
            Units::Sessions([before, after]) => {
                Units::Sessions([before.iter().map(|value| value * times_as_good).collect(), after.clone()])
            }
        }
    }
}
