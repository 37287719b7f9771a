//! The complete analysis: from runs to verdicts.

use crate::advice::Advice;
use crate::bootstrap::ratio_of_means;
use crate::candidate::Role;
use crate::comparison::{Comparison, Spread, SpreadVerdict};
use crate::cpu::CpuCost;
use crate::decision::{VerdictRule, spread_verdict};
use crate::experiment::Experiment;
use crate::floor::NoiseFloor;
use crate::holm::holm;
use crate::metric::Metric;
use crate::pairs::Pairs;
use crate::permutation::sign_flip;
use crate::precision::minimum_detectable_effect;
use crate::random::{Purpose, stream};
use crate::rounding::Rounding;
use crate::run::{Run, RunOutcome};
use crate::sample::{SampleSet, Summary};
use crate::schedule::{FAILURES_IN_A_ROW, StopReason};
use crate::settings::Settings;
use crate::spread::brown_forsythe;
use crate::verdict::{NotProvenReason, Verdict};
use crate::wording::Wording;
use serde::{Deserialize, Serialize};

/// The result of a session. The field names are part of the JSON schema of `unspin prove --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// The metric of the runs.
    pub metric: Metric,
    /// The seed that reproduces order and intervals.
    pub seed: u64,
    /// The significance settings.
    pub settings: Settings,
    /// Why the session ended; absent if it was interrupted.
    pub stop: Option<StopReason>,
    /// The control's name.
    pub control: String,
    /// The control's warm-up run.
    pub control_warm_up: Option<Run>,
    /// All measured runs of the control, in the order of the rounds.
    pub control_runs: Vec<Run>,
    /// Summary of the control's successful runs.
    pub control_summary: Option<Summary>,
    /// What the A/A pair shows; absent if there is no pair or it has too few rounds.
    pub noise_floor: Option<NoiseFloor>,
    /// The noise floor in one English sentence.
    pub noise_floor_sentence: Option<String>,
    /// All other configurations compared with the control, in the order of the plan.
    pub comparisons: Vec<Comparison>,
    /// How many more rounds would make the intervals narrow.
    pub advice: Option<Advice>,
}

/// The overall result of a session, for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// At least one candidate is proven faster, and is within the limit of CPU time if there is one.
    Faster,
    /// At least one candidate is proven faster, but none of these is shown to stay within the limit of CPU time.
    OverCpuLimit,
    /// No candidate is proven faster; at least one is proven slower, has collapsed, or hangs.
    Slower,
    /// No difference is proven.
    NothingProven,
    /// The control failed, or all candidates did.
    Failed,
}

impl Analysis {
    /// Analyses all runs of a session. Pure: the same experiment and settings give the same result.
    ///
    /// # Panics
    /// If the first sample set of the experiment is not a control.
    pub fn of(experiment: &Experiment, settings: &Settings) -> Analysis {
        Analysis::above_floor(experiment, settings, None)
    }

    /// Analyses a part of a session that has no A/A pair of its own, with the session's noise floor, `floor`.
    ///
    /// # Panics
    /// If the experiment has no control at its head.
    pub fn above_floor(experiment: &Experiment, settings: &Settings, floor: Option<NoiseFloor>) -> Analysis {
        let (control, others) = experiment.samples.split_first().expect("an experiment has a control");
        assert_eq!(control.candidate.role, Role::Control, "the control comes first");
        let metric = &experiment.metric;
        let mut comparisons: Vec<Comparison> = others
            .iter()
            .map(|samples| compare(control, samples, metric, settings, experiment.seed))
            .collect();
        correct(&mut comparisons);

        let aa_control = comparisons.iter().find(|c| c.role == Role::AaControl);
        let aa_samples = others.iter().find(|samples| samples.candidate.role == Role::AaControl);
        let rounding = aa_samples.and_then(|samples| Rounding::of(control, samples));
        let noise_floor = aa_control.and_then(noise_floor);
        let noise_floor = noise_floor
            .map(|floor| floor.above_rounding(rounding.map(|rounding| rounding.factor_of_control())))
            .or(floor);
        let judged = comparisons.iter().filter(|c| c.role == Role::Candidate).count();
        let wording = Wording { metric, settings, control: &control.candidate.name, judged };
        let rule = VerdictRule::new(experiment, settings, noise_floor);
        let halves = coefficients_of_variation(experiment);
        for (comparison, samples) in comparisons.iter_mut().zip(others) {
            comparison.verdict = rule.verdict(comparison, samples);
            comparison.sentence = wording.verdict(comparison);
            if let Some(spread) = &mut comparison.spread {
                let rounding = Rounding::of(control, samples).map_or(0.0, |rounding| rounding.spread());
                spread.verdict = spread_verdict(spread, &halves, noise_floor, rounding, settings.alpha);
                let sentence = wording.spread(&comparison.name, spread, noise_floor);
                comparison.spread_sentence = Some(sentence);
            }
        }
        Analysis {
            metric: metric.clone(),
            seed: experiment.seed,
            settings: *settings,
            stop: None,
            control: control.candidate.name.clone(),
            control_warm_up: control.warm_up.clone(),
            control_runs: control.runs.clone(),
            control_summary: control.summary(metric.direction),
            noise_floor_sentence: noise_floor.map(|floor| wording.noise_floor(&floor)),
            noise_floor,
            comparisons,
            advice: None,
        }
    }

    /// Whether the digits of the figures make an interval of a candidate wide.
    pub fn has_intervals_of_digits(&self) -> bool {
        let candidates = self.comparisons.iter().filter(|comparison| comparison.role == Role::Candidate);
        candidates.into_iter().any(Comparison::has_interval_of_digits)
    }

    /// The overall result of the session.
    pub fn conclusion(&self) -> Conclusion {
        // If only the A/A configuration takes part, its verdict tells whether the control works.
        let anyone = self.comparisons.iter().any(|c| c.role == Role::Candidate);
        let compared = self.comparisons.iter().filter(|c| !anyone || c.role == Role::Candidate);
        let recommended = compared.clone().any(|c| c.recommended().is_some());
        let judged = || compared.clone().map(|c| &c.verdict);
        let failed = |verdict: &Verdict| matches!(verdict, Verdict::Failed { .. });
        let slower = |verdict: &Verdict| verdict.is_slower();
        if recommended {
            Conclusion::Faster
        } else if judged().any(|verdict| matches!(verdict, Verdict::ProvenFaster { .. })) {
            Conclusion::OverCpuLimit
        } else if judged().any(slower) {
            Conclusion::Slower
        } else if judged().count() > 0 && judged().all(failed) {
            Conclusion::Failed
        } else {
            Conclusion::NothingProven
        }
    }
}

/// All figures of one comparison that do not depend on the other comparisons. Every comparison restarts its random
/// streams, so its figures do not depend on its position in the list either.
fn compare(
    control: &SampleSet,
    samples: &SampleSet,
    metric: &Metric,
    settings: &Settings,
    seed: u64,
) -> Comparison {
    let pairs = Pairs::of(control, samples, metric.direction);
    let values = pairs.values();
    let random = |purpose| stream(seed, purpose);
    let cpu = CpuCost::of(control, samples, metric, settings, seed);
    let rounding = Rounding::of(control, samples);
    let ratio = ratio_of_means(
        &values,
        metric.direction,
        settings.confidence,
        settings.resamples,
        &mut random(Purpose::Bootstrap),
    );
    Comparison {
        name: samples.candidate.name.clone(),
        role: samples.candidate.role,
        warm_up: samples.warm_up.clone(),
        runs: samples.runs.clone(),
        failed_runs: samples.failures().0,
        summary: samples.summary(metric.direction),
        rounds: values.len() as u32,
        ratio: ratio
            .map(|ratio| rounding.map_or(ratio, |rounding| rounding.bounds(metric.direction).widen(ratio))),
        difference: sign_flip(&pairs.differences(), settings.draws, &mut random(Purpose::SignFlip)),
        difference_p_corrected: None,
        minimum_detectable_effect: minimum_detectable_effect(
            &pairs.log_ratios(),
            settings.alpha,
            settings.power,
        ),
        rounding: rounding.map(|rounding| rounding.factor()),
        spread: spread(control, samples, metric, settings, seed),
        over_cpu_limit: settings.cpu_limit.is_some_and(|limit| !cpu.is_some_and(|cpu| cpu.is_within(limit))),
        cpu,
        // Replaced once all comparisons exist, because the correction needs all of them.
        verdict: Verdict::NothingProven { could_hide: None, doubt: NotProvenReason::NotSignificant },
        sentence: String::new(),
        spread_sentence: None,
    }
}

fn spread(
    control: &SampleSet,
    samples: &SampleSet,
    metric: &Metric,
    settings: &Settings,
    seed: u64,
) -> Option<Spread> {
    let random = &mut stream(seed, Purpose::Spread);
    let test = brown_forsythe(&control.values(), &samples.values(), settings.draws, random)?;
    let (control, candidate) = (control.summary(metric.direction)?, samples.summary(metric.direction)?);
    Some(Spread {
        control_standard_deviation: control.standard_deviation?,
        candidate_standard_deviation: candidate.standard_deviation?,
        control_coefficient_of_variation: control.coefficient_of_variation?,
        candidate_coefficient_of_variation: candidate.coefficient_of_variation?,
        brown_forsythe: test.statistic,
        difference: test.p,
        difference_p_corrected: None,
        verdict: SpreadVerdict::NothingProven,
    })
}

/// Fills in Holm's corrections: one family for the differences, one for the spreads. The A/A configuration belongs to
/// neither, because it is not judged.
fn correct(comparisons: &mut [Comparison]) {
    let judged = || |c: &&mut Comparison| c.role == Role::Candidate;
    let p: Vec<f64> = comparisons.iter_mut().filter(judged()).filter_map(|c| Some(c.difference?.p)).collect();
    let with_p = comparisons.iter_mut().filter(judged()).filter(|c| c.difference.is_some());
    for (comparison, corrected) in with_p.zip(holm(&p)) {
        comparison.difference_p_corrected = Some(corrected);
    }
    let p: Vec<f64> =
        comparisons.iter_mut().filter(judged()).filter_map(|c| Some(c.spread?.difference.p)).collect();
    let spreads = comparisons.iter_mut().filter(judged()).filter_map(|c| c.spread.as_mut());
    for (spread, corrected) in spreads.zip(holm(&p)) {
        spread.difference_p_corrected = Some(corrected);
    }
}

fn noise_floor(aa_control: &Comparison) -> Option<NoiseFloor> {
    let floor = NoiseFloor::new(aa_control.rounds, aa_control.ratio?, aa_control.minimum_detectable_effect?);
    let coefficients =
        |spread: Spread| [spread.control_coefficient_of_variation, spread.candidate_coefficient_of_variation];
    Some(NoiseFloor { coefficients_of_variation: aa_control.spread.map(coefficients), ..floor })
}

/// The failed runs of the control and, if it takes part, of its A/A configuration.
fn coefficients_of_variation(experiment: &Experiment) -> Vec<f64> {
    let same = experiment.samples.iter().filter(|samples| samples.candidate.role != Role::Candidate);
    same.filter_map(|samples| samples.summary(experiment.metric.direction)?.coefficient_of_variation)
        .collect()
}

/// Failed runs of the control's program, including its A/A configuration: the name, how many of how many runs failed,
/// and the reason of the first failure. Runs that were cut off are a failure only if no run between them succeeded: a
/// machine stalls now and then.
pub(crate) fn control_failure(experiment: &Experiment) -> Option<Verdict> {
    let same = experiment.samples.iter().filter(|samples| samples.candidate.role != Role::Candidate);
    same.filter_map(|samples| {
        let failed = samples.all_runs().filter(|run| run.value().is_none());
        if samples.failures().0 == 0 && samples.fruitless_in_a_row() < FAILURES_IN_A_ROW {
            return None;
        }
        let reason = match &failed.clone().next()?.outcome {
            RunOutcome::Failed { reason } => reason.clone(),
            RunOutcome::Collapsed { limit_s } | RunOutcome::Stopped { limit_s } => {
                format!("still running after {limit_s:.1} s")
            }
            RunOutcome::Hung { limit_s } => format!("it hung: no thread ran any more after {limit_s:.1} s"),
            RunOutcome::Ok { .. } => return None,
        };
        let (failed, runs) = (failed.count() as u32, samples.all_runs().count() as u32);
        Some(Verdict::Failed { name: samples.candidate.name.clone(), failed, runs, reason })
    })
    .next()
}
