//! From figures to a verdict.

use crate::analysis::control_failure;
use crate::candidate::Role;
use crate::collapse::CutOff;
use crate::comparison::{Comparison, Spread, SpreadVerdict};
use crate::experiment::Experiment;
use crate::floor::NoiseFloor;
use crate::interval::factor;
use crate::much_slower::MuchSlower;
use crate::permutation::rounds_for_proof;
use crate::run::RunOutcome;
use crate::sample::SampleSet;
use crate::settings::Settings;
use crate::verdict::{NotProvenReason, Verdict};

/// The values that all verdicts of a session share.
pub(crate) struct VerdictRule<'a> {
    experiment: &'a Experiment,
    /// The number of candidates for which the p values are corrected.
    judged: usize,
    alpha: f64,
    floor: Option<NoiseFloor>,
    /// The smallest number of rounds that can prove anything.
    rounds_needed: u32,
    control_failure: Option<Verdict>,
    control_worst_s: f64,
}

impl<'a> VerdictRule<'a> {
    pub(crate) fn new(
        experiment: &'a Experiment,
        settings: &Settings,
        floor: Option<NoiseFloor>,
    ) -> VerdictRule<'a> {
        let judged = experiment.samples.iter().filter(|s| s.candidate.role == Role::Candidate).count();
        VerdictRule {
            experiment,
            judged,
            alpha: settings.alpha,
            floor,
            rounds_needed: rounds_for_proof(judged, settings.alpha),
            control_failure: control_failure(experiment),
            control_worst_s: experiment.control_worst_s(),
        }
    }

    /// The verdict on one comparison. Failures are checked first: no speed outweighs them.
    pub(crate) fn verdict(&self, comparison: &Comparison, samples: &SampleSet) -> Verdict {
        if let Some(failure) = &self.control_failure {
            return failure.clone();
        }
        let cut_off = CutOff::of(self.experiment, samples);
        if let Some(cut_off) = cut_off.filter(CutOff::is_proven) {
            return if cut_off.is_hang() { Verdict::Hangs(cut_off) } else { Verdict::Collapsed(cut_off) };
        }
        if let (failed, Some(reason)) = samples.failures() {
            let runs = samples.all_runs().count() as u32;
            return Verdict::Failed { name: comparison.name.clone(), failed, runs, reason: reason.into() };
        }
        if let Some(cut_off) = cut_off {
            return Verdict::Withheld(cut_off);
        }
        self.given_up(samples).unwrap_or_else(|| self.verdict_of_measurements(comparison))
    }

    /// The verdict on a candidate whose runs were stopped, or that was proven much slower before there were enough
    /// rounds for the other tests.
    fn given_up(&self, samples: &SampleSet) -> Option<Verdict> {
        let stopped = samples.stopped_runs();
        let much_slower = MuchSlower::of(self.experiment, samples);
        let proven = much_slower.is_some_and(|found| found.is_proven(self.judged, self.alpha));
        let is_early = (samples.runs.len() as u32) < self.rounds_needed;
        if stopped == 0 && !(proven && is_early) {
            return None;
        }
        let limits = samples.all_runs().filter_map(|run| match run.outcome {
            RunOutcome::Stopped { limit_s } => Some(limit_s),
            _ => None,
        });
        Some(Verdict::GivenUp {
            times: match much_slower {
                Some(found) => found.times,
                None => limits.fold(f64::INFINITY, f64::min) / self.control_worst_s,
            },
            runs: samples.all_runs().count() as u32,
            stopped,
            proven,
            p: much_slower.map(|found| (found.p * self.judged.max(1) as f64).min(1.0)),
        })
    }

    fn verdict_of_measurements(&self, comparison: &Comparison) -> Verdict {
        let noise = self.floor.map(|floor| floor.factor).or(comparison.minimum_detectable_effect);
        let floor = noise.map(|noise| noise.max(comparison.rounding.unwrap_or(1.0)));
        let doubtful = |doubt| {
            // The interval of fewer rounds misses its confidence, so it bounds nothing.
            let ratio = comparison.ratio.filter(|_| comparison.has_interval(1.0 - self.alpha));
            // The printed interval says the same. Only where the floor is the reason, it bounds as well.
            let could_hide = ratio.map(|ratio| match doubt {
                NotProvenReason::BelowFloor { floor } => ratio.farthest_factor().max(floor),
                _ => ratio.farthest_factor(),
            });
            Verdict::NothingProven { could_hide, doubt }
        };
        let few = doubtful(NotProvenReason::TooFewRounds { needed: self.rounds_needed });
        let (Some(ratio), Some(floor), Some(difference)) = (comparison.ratio, floor, comparison.difference)
        else {
            return few;
        };
        let p = comparison.difference_p_corrected.unwrap_or(difference.p);
        if comparison.rounds < self.rounds_needed {
            few
        } else if p > self.alpha {
            doubtful(NotProvenReason::NotSignificant)
        } else if comparison.rounding.is_some_and(|rounding| factor(ratio.value) <= rounding) {
            // The interval, which has all values before rounding, then includes 1 even if the runs do not vary.
            doubtful(NotProvenReason::BelowFloor { floor })
        } else if ratio.includes_one() {
            doubtful(NotProvenReason::NotSignificant)
        } else if factor(ratio.value) <= floor {
            doubtful(NotProvenReason::BelowFloor { floor })
        } else if ratio.value > 1.0 {
            Verdict::ProvenFaster { ratio }
        } else {
            Verdict::ProvenSlower { ratio }
        }
    }
}

/// What the test of spread proves. `halves` are the coefficients of variation of the control, and of its A/A configuration
/// if that takes part. As for means, the A/A pair bounds the claim: the candidate must differ from both halves, in the same
/// direction, by more than the halves of the pair differ from each other, and by more than `rounding` can add to a coefficient.
pub(crate) fn spread_verdict(
    spread: &Spread,
    halves: &[f64],
    floor: Option<NoiseFloor>,
    rounding: f64,
    alpha: f64,
) -> SpreadVerdict {
    let candidate = spread.candidate_coefficient_of_variation;
    let least = floor.map_or(1.0, |floor| floor.spread_factor());
    if spread.p() > alpha {
        SpreadVerdict::NothingProven
    } else if halves.iter().all(|half| candidate * least + rounding < *half) {
        SpreadVerdict::ProvenSteadier
    } else if halves.iter().all(|half| candidate > half * least + rounding) {
        SpreadVerdict::ProvenMoreErratic
    } else {
        SpreadVerdict::NothingProven
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Analysis;
    use crate::candidate::Candidate;
    use crate::interval::Ratio;
    use crate::metric::Metric;
    use crate::run::{Run, RunOutcome};
    use std::time::Duration;

    /// A comparison of twelve rounds in which the candidate is clearly twice as fast.
    fn clear_difference() -> (Experiment, Comparison) {
        let samples = |candidate, mean: f64| {
            let value = |i| mean * (1.0 + 0.001 * f64::from(i % 3));
            let run = |i| Run::new(Duration::from_secs(1), RunOutcome::measured(value(i)));
            SampleSet { runs: (0..12).map(run).collect(), ..SampleSet::new(candidate) }
        };
        let samples = vec![samples(Candidate::control("kernel"), 2.0), samples(Candidate::new("rcu"), 1.0)];
        let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples };
        let comparison = Analysis::of(&experiment, &Settings::default()).comparisons.remove(0);
        (experiment, comparison)
    }

    #[test]
    fn each_condition_alone_prevents_a_proof() {
        let (experiment, sound) = clear_difference();
        let floor = NoiseFloor::new(12, Ratio { value: 1.0, lower: 0.99, upper: 1.01 }, 1.05);
        let rule = VerdictRule::new(&experiment, &Settings::default(), Some(floor));
        assert!(matches!(rule.verdict_of_measurements(&sound), Verdict::ProvenFaster { .. }));
        let ratio = sound.ratio.unwrap();
        let floor = 1.05;
        let cases = [
            (
                Comparison { difference_p_corrected: Some(0.051), ..sound.clone() },
                NotProvenReason::NotSignificant,
            ),
            (
                Comparison { ratio: Some(Ratio { lower: 0.99, ..ratio }), ..sound.clone() },
                NotProvenReason::NotSignificant,
            ),
            (
                Comparison { ratio: Some(Ratio { value: 1.04, lower: 1.03, upper: 1.05 }), ..sound.clone() },
                NotProvenReason::BelowFloor { floor },
            ),
        ];
        for (comparison, expected) in cases {
            match rule.verdict_of_measurements(&comparison) {
                Verdict::NothingProven { doubt, could_hide: Some(hidden) } => {
                    assert_eq!(doubt, expected);
                    let end = comparison.ratio.unwrap().farthest_factor();
                    let is_floor = matches!(doubt, NotProvenReason::BelowFloor { .. });
                    assert_eq!(hidden, if is_floor { end.max(floor) } else { end });
                }
                other => panic!("{expected:?} should prevent a proof: {other:?}"),
            }
        }
        // The interval of five rounds does not hold its confidence, so it bounds nothing.
        assert_eq!(
            rule.verdict_of_measurements(&Comparison { rounds: 5, ..sound }),
            Verdict::NothingProven { doubt: NotProvenReason::TooFewRounds { needed: 6 }, could_hide: None }
        );
    }
}
