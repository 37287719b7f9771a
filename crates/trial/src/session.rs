//! The measurement: all runs, in the order that the statistics determine.

use super::budget::{HasWarmedUp, Shortfall, TimeBudget};
use super::configuration::Configuration;
use super::monitor::NoMonitor;
use super::runner::{Limit, Runner, Trial};
use super::steps::{Printed, steps};
use serde::Serialize;
use std::time::{Duration, Instant};
use unspin_launch::error::Error;
use unspin_observe::disturbance::{CpuTime, Disturbance};
use unspin_stats::{
    Analysis, Comparison, Experiment, NextStep, Role, Schedule, SessionPhase, SessionPlan, Settings,
};
use unspin_sys::child::Usage;

/// A run and its position in the session.
#[derive(Clone, Debug, Serialize)]
pub struct SessionRun {
    /// Index of the configuration.
    pub candidate: usize,
    /// Round, counted from 1; 0 is the warm-up.
    pub round: u32,
    /// Seconds since the session began.
    pub started_s: f64,
    /// The result.
    #[serde(flatten)]
    pub trial: Trial,
}

/// A completed session.
#[derive(Debug)]
pub struct Session {
    /// All runs in their order.
    pub runs: Vec<SessionRun>,
    /// The measurements in the form of the statistics.
    pub experiment: Experiment,
    /// The analysis of the candidates.
    pub analysis: Analysis,
    /// The program without the preload library, compared with the control. It is a family of its own, so that this
    /// comparison does not make it harder to prove something about the candidates.
    pub no_preload: Option<Comparison>,
    /// Disturbances from the beginning to the end. The kernel counts CPU time in ticks, so this is more exact than the
    /// sum over short runs.
    pub disturbance: Disturbance,
    /// The error that ended the session early.
    pub aborted: Option<Error>,
    /// Complete rounds.
    pub rounds: u32,
    /// The time that a proof needs, if it did not fit in the time budget.
    pub shortfall: Option<Shortfall>,
    /// The session's duration.
    pub elapsed: Duration,
}

impl Session {
    /// Runs the plan to its end, or until ^C, and leaves time for a metered run of each candidate. No run may take longer
    /// than `time_limit`.
    pub fn run(
        runner: &Runner<'_>,
        configurations: &[Configuration],
        plan: SessionPlan,
        budget: &TimeBudget,
        time_limit: Duration,
    ) -> Result<Session, Error> {
        let rounds_min = plan.rounds_min_effective();
        let mut schedule = Schedule::new(plan).map_err(|e| Error::Usage(e.to_string()))?;
        announce(runner, configurations, rounds_min);
        let mut announced = None;
        let (mut runs, mut aborted) = (Vec::new(), None);
        let (cpu_before, own_before) = (CpuTime::since_boot(), Usage::of_self());
        let began = Instant::now();
        while let NextStep::Run { candidate, phase, limit } = schedule.next(began.elapsed()) {
            runner.progress.detail(&description(&configurations[candidate], phase, configurations.len()));
            let limit = match limit {
                Some(limit) if limit.after() < time_limit => Limit::Candidate(limit),
                _ => Limit::Timeout(time_limit),
            };
            let started_s = began.elapsed().as_secs_f64();
            let setup = configurations[candidate].setup.as_ref();
            let trial = match runner.run(setup, limit, None, &mut NoMonitor) {
                Ok(Some(trial)) => trial,
                Ok(None) => break,
                Err(e) if schedule.rounds() == 0 => return Err(e),
                Err(e) => {
                    aborted = Some(e);
                    break;
                }
            };
            schedule.record(candidate, trial.run(limit));
            runs.push(SessionRun { candidate, round: round(phase), started_s, trial });
            let locks = time_of_locks(&runs, configurations);
            schedule.set_budget(budget.left_after(began).saturating_sub(locks));
            let more = schedule.time_for_proof().map(|time| time.saturating_add(locks));
            runner.progress.set_whole(budget.elapsed().saturating_add(more.unwrap_or_default()));
            if announced.is_none() && schedule.rounds() < rounds_min {
                let has_warmed_up =
                    if runs.len() < configurations.len() { HasWarmedUp::No } else { HasWarmedUp::Yes };
                let shortfall = more.and_then(|more| budget.shortfall(more));
                announced = shortfall.filter(|shortfall| shortfall.is_certain(has_warmed_up));
                if let Some(shortfall) = &announced {
                    let text = match runner.progress.is_of_part() {
                        true => shortfall.finding(),
                        false => shortfall.sentence(),
                    };
                    runner.progress.notice(&format!("{text}. As many rounds as fit are run"));
                }
            }
            if runner.interrupt.has_come() {
                break;
            }
        }
        let elapsed = began.elapsed();
        let is_short = schedule.rounds() < rounds_min && schedule.is_out_of_time();
        let more = schedule.time_for_proof().filter(|_| is_short);
        let shortfall = more
            .and_then(|more| budget.shortfall(more.saturating_add(time_of_locks(&runs, configurations))))
            .map(|shortfall| shortfall.after(announced));
        let own_s =
            Usage::of_self().since(&own_before).cpu_s() + runs.iter().map(|e| e.trial.all_cpu_s).sum::<f64>();
        let mut experiment = schedule.experiment().clone();
        refine_steps(&mut runs, &mut experiment);
        let (mut analysis, no_preload) = analyse(&schedule, &experiment, configurations);
        // Known when a program has printed it.
        experiment.metric = runner.figure.measured_metric();
        analysis.metric = experiment.metric.clone();
        Ok(Session {
            disturbance: Disturbance::between(&cpu_before, &CpuTime::since_boot(), own_s),
            rounds: schedule.rounds(),
            shortfall,
            runs,
            aborted,
            experiment,
            analysis,
            no_preload,
            elapsed,
        })
    }

    /// A session without candidates, so that nothing is run.
    pub fn without_runs(configurations: &[Configuration], plan: SessionPlan) -> Result<Session, Error> {
        let schedule = Schedule::new(plan).map_err(|e| Error::Usage(e.to_string()))?;
        let (analysis, no_preload) = analyse(&schedule, schedule.experiment(), configurations);
        Ok(Session {
            runs: Vec::new(),
            experiment: schedule.experiment().clone(),
            analysis,
            no_preload,
            disturbance: Disturbance::default(),
            aborted: None,
            rounds: 0,
            shortfall: None,
            elapsed: Duration::ZERO,
        })
    }

    /// Compares two configurations by the session's runs, at the significance level `alpha`: one as the control, the other as the
    /// only candidate. None if the control failed. `unit` is that of the figure, where the session does not know it.
    pub fn between(&self, before: usize, after: usize, unit: &str, alpha: f64) -> Option<Comparison> {
        let [mut before, mut after] = [before, after].map(|index| self.experiment.samples[index].clone());
        if before.failures().0 > 0 || before.cut_off() > 0 {
            return None;
        }
        (before.candidate.role, after.candidate.role) = (Role::Control, Role::Candidate);
        let mut experiment = Experiment { samples: vec![before, after], ..self.experiment.clone() };
        if experiment.metric.unit.is_empty() {
            unit.clone_into(&mut experiment.metric.unit);
        }
        let Analysis { settings, noise_floor, .. } = &self.analysis;
        let settings = Settings { alpha, ..*settings };
        Analysis::above_floor(&experiment, &settings, *noise_floor).comparisons.pop()
    }

    /// The runs of a configuration, without the warm-up.
    pub fn trials(&self, candidate: usize) -> impl Iterator<Item = &Trial> + Clone {
        self.runs.iter().filter(move |e| e.candidate == candidate && e.round > 0).map(|e| &e.trial)
    }

    /// The failed runs of a configuration, including the warm-up.
    pub fn failures(&self, candidate: usize) -> impl Iterator<Item = &Trial> {
        self.runs
            .iter()
            .filter(move |e| e.candidate == candidate)
            .map(|e| &e.trial)
            .filter(|t| t.value.is_err())
    }
}

/// Gives each run the step that its figure has in view of all others.
fn refine_steps(runs: &mut [SessionRun], experiment: &mut Experiment) {
    let printed = |run: &SessionRun| {
        let (value, step) = (run.trial.value.as_ref().ok()?, run.trial.step?);
        Some(Printed { value: *value, step, unit: run.trial.printed_unit? })
    };
    let figures: Vec<Option<Printed>> = runs.iter().map(printed).collect();
    for (run, step) in runs.iter_mut().zip(steps(&figures)) {
        run.trial.step = step.or(run.trial.step);
    }
    for (candidate, samples) in experiment.samples.iter_mut().enumerate() {
        let all = samples.warm_up.iter_mut().chain(&mut samples.runs);
        let own = runs.iter().filter(|run| run.candidate == candidate);
        all.zip(own).for_each(|(run, own)| run.step = own.trial.step);
    }
}

/// The analysis of the configurations with the preload library, and that of the one without.
fn analyse(
    schedule: &Schedule,
    experiment: &Experiment,
    configurations: &[Configuration],
) -> (Analysis, Option<Comparison>) {
    let whole = schedule.analyse();
    let part = |wanted: &dyn Fn(&Configuration) -> bool, settings: &Settings| {
        let samples = experiment.samples.iter().zip(configurations).filter(|(_, c)| wanted(c));
        let samples = samples.map(|(s, _)| s.clone()).collect();
        Analysis::of(&Experiment { samples, ..experiment.clone() }, settings)
    };
    let interposed = part(&|c| c.setup.is_some(), &whole.settings);
    // The program without the preload library is never recommended, whatever its CPU time.
    let unlimited = Settings { cpu_limit: None, ..whole.settings };
    // Include the A/A pair, because its noise floor applies here too.
    let no_preload = part(&|c| c.setup.is_none() || c.candidate.role != Role::Candidate, &unlimited)
        .comparisons
        .into_iter()
        .find(|comparison| comparison.role == Role::Candidate);
    (Analysis { stop: whole.stop, advice: whole.advice, ..interposed }, no_preload)
}

fn round(phase: SessionPhase) -> u32 {
    match phase {
        SessionPhase::WarmUp => 0,
        SessionPhase::Round(round) => round,
    }
}

/// Time for one metered run of each candidate that works, according to its timed runs.
fn time_of_locks(runs: &[SessionRun], configurations: &[Configuration]) -> Duration {
    let of =
        |candidate: usize| runs.iter().filter(move |run| run.candidate == candidate).map(|run| &run.trial);
    let longest = |candidate| of(candidate).map(|trial| trial.whole.as_secs_f64()).fold(0.0, f64::max);
    let is_to_be_metered = |of: &Configuration| of.is_judged() && of.is_metered_after_rounds();
    let judged = (0..configurations.len()).filter(|&candidate| is_to_be_metered(&configurations[candidate]));
    let works = judged.filter(|&candidate| of(candidate).all(|trial| trial.value.is_ok()));
    // Before its first run a candidate is assumed to be as fast as the control.
    let seconds: f64 = works
        .map(|candidate| if of(candidate).next().is_some() { longest(candidate) } else { longest(0) })
        .sum();
    Duration::from_secs_f64(seconds)
}

/// Shows that the rounds begin.
fn announce(runner: &Runner<'_>, configurations: &[Configuration], rounds: u32) {
    let judged: Vec<&str> =
        configurations.iter().filter(|c| c.is_judged()).map(Configuration::name).collect();
    runner.progress.phase(&format!(
        "at least {rounds} rounds of {} configurations, to judge {}",
        configurations.len(),
        judged.join(", ")
    ));
}

/// "round 3: adaptive (4 configurations)".
fn description(configuration: &Configuration, phase: SessionPhase, configurations: usize) -> String {
    let place = match phase {
        SessionPhase::WarmUp => "warm-up".to_owned(),
        SessionPhase::Round(round) => format!("round {round}"),
    };
    format!("{place}: {} ({configurations} configurations)", configuration.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_stats::{Candidate, Direction, Metric, NotProvenReason, Run, RunOutcome, Verdict};

    /// The analysis of twelve rounds, with these throughputs and a little noise.
    fn analyse_throughputs(values: &[f64]) -> (Analysis, Option<Comparison>) {
        let control = Configuration::kernel();
        let again = Candidate::aa_control("kernel (again)");
        let configurations = [
            control.clone(),
            Configuration { candidate: again, setup: control.setup.clone() },
            Configuration { candidate: Candidate::new("no preload"), setup: None },
        ];
        let candidates = configurations.iter().map(|c| c.candidate.clone()).collect();
        let mut plan = SessionPlan::new(candidates, Metric::custom("tps", "", Direction::HigherIsBetter), 1);
        (plan.rounds_min, plan.rounds_max) = (12, 12);
        let mut schedule = Schedule::new(plan).unwrap();
        let mut runs = 0;
        while let NextStep::Run { candidate, .. } = schedule.next(Duration::ZERO) {
            runs += 1;
            let value = values[candidate] * (1.0 + 0.001 * f64::from(runs % 7));
            schedule.record(candidate, Run::new(Duration::from_secs(1), RunOutcome::measured(value)));
        }
        analyse(&schedule, schedule.experiment(), &configurations)
    }

    /// The A/A pair differs by a fifth, so a difference of a tenth proves nothing here either.
    #[test]
    fn noise_floor_applies_to_the_program_without_preload() {
        let (analysis, no_preload) = analyse_throughputs(&[100.0, 120.0, 110.0]);
        assert!(analysis.noise_floor.unwrap().factor > 1.15);
        let verdict = no_preload.unwrap().verdict;
        let below = |doubt| matches!(doubt, NotProvenReason::BelowFloor { .. });
        assert!(matches!(verdict, Verdict::NothingProven { doubt, .. } if below(doubt)), "{verdict:?}");
        let (_, no_preload) = analyse_throughputs(&[100.0, 100.0, 110.0]);
        assert!(matches!(no_preload.unwrap().verdict, Verdict::ProvenFaster { .. }));
    }
}
