//! Stops a search if its gain would be within the noise.

use super::super::budget::TimeBudget;
use super::super::configuration::Configuration;
use super::super::monitor::NoMonitor;
use super::super::runner::{Limit, Runner};
use super::{Pick, Polling, Search};
use crate::settings::ProveSettings;
use serde::Serialize;
use std::time::Duration;
use unspin_launch::error::Error;
use unspin_report::WORTH_IT;
use unspin_stats::Quantity;
use unspin_stats::precision::least_detectable_effect;

/// A possible gain above this factor is searched for without measuring the noise first.
const SMALL: f64 = 1.3;
/// Number of runs that show the noise.
const RUNS: u32 = 5;
/// Number of configurations in a round: the control twice, the program without the preload library, a candidate.
const CONFIGURATIONS: u32 = 4;
/// The largest number of rounds of a session.
const ROUNDS_MAX: u32 = 100;

/// No gain can be proven: even if the locks and waits cost nothing, the gain would be within the noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unprovable {
    /// The upper bound on the gain: how many times as fast the program could become.
    pub bound: f64,
    /// The smallest effect that the rounds could find, as a factor: the noise floor that is to be expected.
    pub floor: f64,
    /// Number of runs of the control that showed the noise.
    pub runs: u32,
    /// The rounds for which there is time.
    pub rounds: u32,
    /// The time budget, in seconds, that would be enough for the bound, if a session can be long enough.
    pub enough_s: Option<f64>,
}

impl Unprovable {
    /// Measures the noise where the possible gain is small. None if the gain can be proven, or if that is unknown.
    pub fn of(
        runner: &Runner<'_>,
        control: &Configuration,
        search: &Search,
        run: Duration,
        budget: &TimeBudget,
        options: &ProveSettings,
    ) -> Result<Option<Unprovable>, Error> {
        let Some(bound) = search.bound() else { return Ok(None) };
        // The bound applies to times only, and measuring the noise must not cost more than a part of the budget.
        if bound >= SMALL || runner.figure.metric.is_cpu_time() || budget.left() < run * RUNS * 5 {
            return Ok(None);
        }
        runner.progress.phase(&format!(
            "{RUNS} runs of {}, to compare the noise with the possible gain",
            control.name()
        ));
        let mut values = Vec::new();
        for _ in 0..RUNS {
            let limit = Limit::Timeout(options.time_limit);
            match runner.run(control.setup.as_ref(), limit, None, &mut NoMonitor)?.map(|trial| trial.value) {
                Some(Ok(value)) if value > 0.0 => values.push(value),
                // The session shows the failure.
                _ => return Ok(None),
            }
        }
        let round_s = f64::from(CONFIGURATIONS) * run.as_secs_f64();
        let rounds = options.runs.unwrap_or((budget.left().as_secs_f64() / round_s) as u32);
        let spent_s = budget.elapsed().as_secs_f64();
        Ok(judge(bound, &values, rounds.min(ROUNDS_MAX), |rounds| spent_s + round_s * f64::from(rounds + 1)))
    }
}

/// The upper bound on the gain of all candidates together. The shares of the time that they could save are added.
pub fn bound(picks: &[Pick], polling: &Polling, seconds: f64) -> f64 {
    let locks: f64 = picks.iter().map(|pick| 1.0 - 1.0 / pick.ceiling.max(1.0)).sum();
    let waits = if polling.is_promising() { polling.saving_s / seconds } else { 0.0 };
    1.0 / (1.0 - (locks + waits).min(0.99))
}

/// The upper bound on the gain in time, if it is known and too small to search for.
pub fn not_worth(search: &Search, judged: Quantity) -> Option<f64> {
    let bound = search.bound()?;
    // Waits are tried for smaller gains, see `WORTH_POLLING`.
    let is_small = bound < WORTH_IT && !search.polling.is_promising();
    (is_small && judged == Quantity::WallTime).then_some(bound)
}

fn judge(bound: f64, values: &[f64], rounds: u32, time_s: impl Fn(u32) -> f64) -> Option<Unprovable> {
    let floor_of = |rounds| least_detectable_effect(values, rounds, 0.05, 0.8);
    let floor = floor_of(rounds.max(2))?;
    (bound < floor).then(|| Unprovable {
        bound,
        floor,
        runs: values.len() as u32,
        rounds,
        enough_s: (rounds.max(2)..=ROUNDS_MAX)
            .find(|&n| floor_of(n).is_some_and(|floor| floor <= bound))
            .map(time_s),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_wire::plan::LockFamily;

    const NOISY: [f64; 5] = [1.0, 1.1, 0.9, 1.12, 0.93];

    fn judge_noisy(bound: f64, rounds: u32) -> Option<Unprovable> {
        judge(bound, &NOISY, rounds, f64::from)
    }

    #[test]
    fn gain_below_the_noise_cannot_be_proven() {
        let found = judge_noisy(1.03, 8).unwrap();
        assert!(found.floor > 1.05, "{found:?}");
        assert_eq!(judge_noisy(1.5, 8), None);
        assert_eq!(judge(1.03, &[1.0, 1.0, 1.0, 1.0, 1.0], 8, f64::from), None, "no noise");
    }

    #[test]
    fn more_rounds_are_advised_only_if_they_are_enough() {
        let found = judge_noisy(1.06, 8).unwrap();
        assert!(found.enough_s.is_some_and(|rounds| rounds > 8.0), "{found:?}");
        assert!(judge_noisy(1.001, 8).unwrap().enough_s.is_none());
    }

    #[test]
    fn possible_gains_are_added() {
        let pick = |ceiling| Pick {
            family: LockFamily::Mutex,
            name: "a".into(),
            origin: None,
            lost_s: 1.0,
            lost: 0.05,
            ceiling,
            starved: false,
            held_long: false,
            contended_readers: false,
            located: None,
        };
        let none = Polling::default();
        assert!((bound(&[pick(1.25), pick(1.25)], &none, 10.0) - 1.0 / 0.6).abs() < 1e-9);
        assert!((bound(&[], &none, 10.0) - 1.0).abs() < 1e-9);
    }
}
