//! From figures to a verdict.

use crate::analysis::control_failure;
use crate::candidate::Role;
use crate::comparison::{Comparison, Spread, SpreadVerdict};
use crate::experiment::Experiment;
use crate::floor::NoiseFloor;
use crate::interval::factor;
use crate::permutation::rounds_for_proof;
use crate::sample::SampleSet;
use crate::settings::Settings;
use crate::verdict::{Doubt, Verdict};

/// What all verdicts of a sitting have in common.
pub(crate) struct Judge {
    alpha: f64,
    floor: Option<NoiseFloor>,
    /// The fewest rounds that can prove anything.
    rounds_needed: u32,
    control_failure: Option<Verdict>,
    control_worst_s: f64,
}

impl Judge {
    pub(crate) fn new(experiment: &Experiment, settings: &Settings, floor: Option<NoiseFloor>) -> Judge {
        let judged = experiment.samples.iter().filter(|s| s.candidate.role == Role::Candidate).count();
        let elapsed = experiment.samples[0].all_runs().map(|run| run.elapsed_s);
        Judge {
            alpha: settings.alpha,
            floor,
            rounds_needed: rounds_for_proof(judged, settings.alpha),
            control_failure: control_failure(experiment),
            control_worst_s: elapsed.fold(0.0, f64::max),
        }
    }

    /// The verdict on one comparison. Failures come first: no speed makes up for them.
    pub(crate) fn verdict(&self, comparison: &Comparison, samples: &SampleSet) -> Verdict {
        if let Some(failure) = &self.control_failure {
            return failure.clone();
        }
        if let Some(limit_s) = samples.collapsed_at() {
            return Verdict::Collapsed { limit_s, control_worst_s: self.control_worst_s };
        }
        if let (failed, Some(reason)) = samples.failures() {
            let runs = samples.all_runs().count() as u32;
            return Verdict::Failed { name: comparison.name.clone(), failed, runs, reason: reason.into() };
        }
        self.of_figures(comparison)
    }

    fn of_figures(&self, comparison: &Comparison) -> Verdict {
        let floor = self.floor.map(|floor| floor.factor).or(comparison.minimum_detectable_effect);
        let doubtful = |doubt| {
            let could_hide = comparison.ratio.zip(floor).map(|(r, floor)| r.farthest_factor().max(floor));
            Verdict::NothingProven { could_hide, doubt }
        };
        let few = doubtful(Doubt::TooFewRounds { needed: self.rounds_needed });
        let (Some(ratio), Some(floor), Some(difference)) = (comparison.ratio, floor, comparison.difference)
        else {
            return few;
        };
        let p = comparison.difference_p_corrected.unwrap_or(difference.p);
        if comparison.rounds < self.rounds_needed {
            few
        } else if p > self.alpha || ratio.includes_one() {
            doubtful(Doubt::NotSignificant)
        } else if factor(ratio.value) <= floor {
            doubtful(Doubt::BelowFloor { floor })
        } else if ratio.value > 1.0 {
            Verdict::ProvenFaster { ratio }
        } else {
            Verdict::ProvenSlower { ratio }
        }
    }
}

/// What the test of spread proves.
pub(crate) fn judge_spread(spread: &Spread, alpha: f64) -> SpreadVerdict {
    let p = spread.difference_p_corrected.unwrap_or(spread.difference.p);
    if p > alpha {
        SpreadVerdict::NothingProven
    } else if spread.candidate_coefficient_of_variation < spread.control_coefficient_of_variation {
        SpreadVerdict::ProvenSteadier
    } else {
        SpreadVerdict::ProvenMoreErratic
    }
}
