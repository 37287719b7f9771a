//! Did a session drift: are its later runs faster or slower than its earlier ones?

use super::sample::IndependentSample;
use super::{IndependentTest, UNITS_MIN};
use crate::interval::factor;
use crate::metric::Direction;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The second half of a session against the first. Rounds cancel drift, and so do the comparisons within a session; a comparison of
/// figures with those of another session contains it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// How many times as good the figures of the second half are.
    pub ratio: f64,
    /// Probability of such a difference if the session did not drift.
    pub p: f64,
}

impl Drift {
    /// Compares the halves of a session. `rounds` has one figure for each round: the mean over the configurations, each
    /// divided by its own mean. `None` if a half has fewer than [`UNITS_MIN`] rounds.
    pub fn of(rounds: &[f64], direction: Direction, settings: &Settings, seed: u64) -> Option<Drift> {
        let (first, second) = rounds.split_at(rounds.len() / 2);
        if first.len() < UNITS_MIN as usize {
            return None;
        }
        let half = |values| IndependentSample::of_figures(values, direction);
        let test = IndependentTest::of(&half(first), &half(second), settings, seed)?;
        Some(Drift { ratio: test.ratio.value, p: test.p })
    }

    /// The drift as a factor of at least 1, if these rounds show that there was one.
    pub fn factor(&self, alpha: f64) -> Option<f64> {
        (self.p <= alpha).then(|| factor(self.ratio))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_session_does_not_drift() {
        let settings = Settings::default();
        let drift = |rounds: &[f64]| Drift::of(rounds, Direction::LowerIsBetter, &settings, 1);
        let steady = [1.0, 1.02, 0.98, 1.01, 0.99, 1.0, 1.01, 0.98, 1.02, 0.99, 1.0, 1.0];
        assert_eq!(drift(&steady).unwrap().factor(0.05), None);
        let slower: Vec<f64> = steady.iter().enumerate().map(|(i, v)| v * (1.0 + 0.02 * i as f64)).collect();
        let found = drift(&slower).unwrap();
        assert!(found.ratio < 1.0 && found.factor(0.05).unwrap() > 1.08, "{found:?}");
        assert_eq!(drift(&steady[..11]), None);
    }
}
