//! The values of both sides, with the unit that is resampled.

use unspin_stats::independent::{IndependentSample, IndependentTest};
use unspin_stats::{Direction, Ratio, Settings};

/// The seed of the intervals and tests: the same files give the same result.
const SEED: u64 = 1;

/// The values of both sides, the earlier first.
#[derive(Clone, Debug)]
pub enum Units {
    /// One session on each side: the unit is the run, or the round.
    WithinSessions([IndependentSample; 2]),
    /// Several sessions on each side: the unit is the session. Each value is how many times as good as 1, or as the control.
    /// The ends are those before rounding.
    Sessions([Vec<Ratio>; 2]),
}

impl Units {
    /// The sessions of both sides.
    pub fn new([before, after]: [Vec<IndependentSample>; 2]) -> Units {
        match (before.as_slice(), after.as_slice()) {
            ([before], [after]) => Units::WithinSessions([before.clone(), after.clone()]),
            (before, after) => Units::Sessions(
                [before, after].map(|side| side.iter().map(IndependentSample::before_rounding).collect()),
            ),
        }
    }

    /// None with too few units, or if nothing varies.
    pub fn test(&self, settings: &Settings) -> Option<IndependentTest> {
        match self {
            Units::WithinSessions([before, after]) => IndependentTest::of(before, after, settings, SEED),
            Units::Sessions([before, after]) => {
                let values = |side: &[Ratio]| side.iter().map(|session| session.value).collect::<Vec<f64>>();
                let (values, direction) =
                    ([before, after].map(|side| values(side)), Direction::HigherIsBetter);
                let test = IndependentTest::of_sessions(&values[0], &values[1], direction, settings)?;
                Some(test.rounded([mean(before), mean(after)]))
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
                let scale = |session: &Ratio| Ratio {
                    value: session.value * times_as_good,
                    lower: session.lower * times_as_good,
                    upper: session.upper * times_as_good,
                };
                Units::Sessions([before.iter().map(scale).collect(), after.clone()])
            }
        }
    }
}

/// The mean of the sessions' values, between the means of their ends.
fn mean(sessions: &[Ratio]) -> Ratio {
    let of = |part: fn(&Ratio) -> f64| sessions.iter().map(part).sum::<f64>() / sessions.len() as f64;
    Ratio { value: of(|s| s.value), lower: of(|s| s.lower), upper: of(|s| s.upper) }
}
