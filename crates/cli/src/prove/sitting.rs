//! The measurement itself: run after run, in the order that the statistics ask for.

use super::conditions::{CpuTime, Disturbance};
use super::contestant::Contestant;
use super::interrupt::Interrupt;
use super::progress::Progress;
use super::runner::{Limit, Runner, Trial};
use crate::error::Error;
use serde::Serialize;
use std::time::{Duration, Instant};
use unspin_stats::{
    Analysis, Comparison, Experiment, NextStep, Role, Run, Schedule, SessionPhase, SessionPlan, Settings,
};
use unspin_sys::child::Usage;

/// One run, and where it belongs.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Index of the contestant.
    pub candidate: usize,
    /// Round, counted from 1; 0 is the warm-up.
    pub round: u32,
    /// Seconds since the sitting began.
    pub started_s: f64,
    /// The run.
    #[serde(flatten)]
    pub trial: Trial,
}

/// A sitting that is over.
#[derive(Debug)]
pub struct Sitting {
    /// Every run in the order in which it was made.
    pub entries: Vec<Entry>,
    /// What was measured, as the statistics keep it.
    pub experiment: Experiment,
    /// What it means for those that are judged.
    pub analysis: Analysis,
    /// The bare program against the control: a family of its own, so that asking what the interposition costs
    /// does not make it harder to prove something about the others.
    pub bare: Option<Comparison>,
    /// What disturbed it from its beginning to its end. The kernel counts CPU time in ticks, so this is worth
    /// more than the sum over short runs.
    pub disturbance: Disturbance,
    /// What made it impossible to go on.
    pub aborted: Option<Error>,
    /// Complete rounds.
    pub rounds: u32,
    /// How long it took.
    pub elapsed: Duration,
}

impl Sitting {
    /// Runs the plan to its end, or until ^C. `patience` is what a run may take at most in any case.
    pub fn hold(
        runner: &Runner<'_>,
        contestants: &[Contestant],
        plan: SessionPlan,
        patience: Duration,
    ) -> Result<Sitting, Error> {
        let mut progress = Progress::new(&plan, contestants.len());
        let mut schedule = Schedule::new(plan).map_err(|e| Error::Usage(e.to_string()))?;
        let (mut entries, mut aborted) = (Vec::new(), None);
        let (cpu_before, own_before) = (CpuTime::since_boot(), Usage::of_self());
        let began = Instant::now();
        while let NextStep::Run { candidate, phase, limit } = schedule.next(began.elapsed()) {
            progress.show(&contestants[candidate], phase, began.elapsed());
            let limit = match limit {
                Some(limit) if limit < patience => Limit::Collapse(limit),
                _ => Limit::Patience(patience),
            };
            let started_s = began.elapsed().as_secs_f64();
            let setup = contestants[candidate].setup.as_ref();
            let trial = match runner.run(setup, limit, None, &mut progress) {
                Ok(Some(trial)) => trial,
                Ok(None) => break,
                Err(e) if schedule.rounds() == 0 => return Err(e),
                Err(e) => {
                    aborted = Some(e);
                    break;
                }
            };
            let run = Run::new(Duration::from_secs_f64(trial.elapsed_s), trial.outcome(limit));
            schedule.record(candidate, run.with_cpu_s(trial.cpu_s()));
            entries.push(Entry { candidate, round: round(phase), started_s, trial });
            if runner.interrupt.came() {
                break;
            }
        }
        progress.finish();
        let elapsed = began.elapsed();
        let own_s = Usage::of_self().since(&own_before).cpu_s()
            + entries.iter().map(|e| e.trial.cpu_s()).sum::<f64>();
        let experiment = schedule.experiment().clone();
        let (analysis, bare) = analyse(&schedule, contestants);
        Ok(Sitting {
            disturbance: Disturbance::between(&cpu_before, &CpuTime::since_boot(), own_s),
            rounds: schedule.rounds(),
            entries,
            aborted,
            experiment,
            analysis,
            bare,
            elapsed,
        })
    }

    /// A sitting in which nobody is judged, so that nothing is run.
    pub fn without_runs(contestants: &[Contestant], plan: SessionPlan) -> Result<Sitting, Error> {
        let schedule = Schedule::new(plan).map_err(|e| Error::Usage(e.to_string()))?;
        let (analysis, bare) = analyse(&schedule, contestants);
        Ok(Sitting {
            entries: Vec::new(),
            experiment: schedule.experiment().clone(),
            analysis,
            bare,
            disturbance: Disturbance::default(),
            aborted: None,
            rounds: 0,
            elapsed: Duration::ZERO,
        })
    }

    /// The measured runs of a contestant, the warm-up left out.
    pub fn trials(&self, candidate: usize) -> impl Iterator<Item = &Trial> + Clone {
        self.entries.iter().filter(move |e| e.candidate == candidate && e.round > 0).map(|e| &e.trial)
    }

    /// The first run of a contestant that did not end well, warm-up or not.
    pub fn first_failure(&self, candidate: usize) -> Option<&Trial> {
        self.entries.iter().filter(|e| e.candidate == candidate).map(|e| &e.trial).find(|t| t.value.is_err())
    }
}

/// The analysis of all that go through the interposition, and that of the bare program.
fn analyse(schedule: &Schedule, contestants: &[Contestant]) -> (Analysis, Option<Comparison>) {
    let whole = schedule.analyse();
    let experiment = schedule.experiment();
    let part = |wanted: &dyn Fn(&Contestant) -> bool, settings: &Settings| {
        let samples = experiment.samples.iter().zip(contestants).filter(|(_, c)| wanted(c));
        let samples = samples.map(|(s, _)| s.clone()).collect();
        Analysis::of(&Experiment { samples, ..experiment.clone() }, settings)
    };
    let interposed = part(&|c| c.setup.is_some(), &whole.settings);
    // The bare program is never recommended, whatever it costs.
    let unlimited = Settings { cpu_limit: None, ..whole.settings };
    // With the A/A pair, whose noise floor holds for the bare program too.
    let bare = part(&|c| c.setup.is_none() || c.candidate.role != Role::Candidate, &unlimited)
        .comparisons
        .into_iter()
        .find(|comparison| comparison.role == Role::Candidate);
    (Analysis { stop: whole.stop, advice: whole.advice, ..interposed }, bare)
}

fn round(phase: SessionPhase) -> u32 {
    match phase {
        SessionPhase::WarmUp => 0,
        SessionPhase::Round(round) => round,
    }
}

/// Whether a sitting was cut short.
pub fn was_interrupted(interrupt: &Interrupt, analysis: &Analysis) -> bool {
    interrupt.came() && analysis.stop.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_stats::{Candidate, Direction, Metric, NotProvenReason, RunOutcome, Verdict};

    /// Throughputs of a sitting of twelve rounds, the same in each but for a little noise.
    fn held(values: &[f64]) -> (Analysis, Option<Comparison>) {
        let control = Contestant::kernel();
        let twin = Candidate::aa_control("kernel (again)");
        let contestants = [
            control.clone(),
            Contestant { candidate: twin, setup: control.setup.clone() },
            Contestant { candidate: Candidate::new("no preload"), setup: None },
        ];
        let candidates = contestants.iter().map(|c| c.candidate.clone()).collect();
        let mut plan = SessionPlan::new(candidates, Metric::custom("tps", "", Direction::HigherIsBetter), 1);
        (plan.rounds_min, plan.rounds_max) = (12, 12);
        let mut schedule = Schedule::new(plan).unwrap();
        let mut runs = 0;
        while let NextStep::Run { candidate, .. } = schedule.next(Duration::ZERO) {
            runs += 1;
            let value = values[candidate] * (1.0 + 0.001 * f64::from(runs % 7));
            schedule.record(candidate, Run::new(Duration::from_secs(1), RunOutcome::measured(value)));
        }
        analyse(&schedule, &contestants)
    }

    /// The control differs from itself by a fifth, so a difference of a tenth proves nothing of the bare program either.
    #[test]
    fn noise_floor_holds_for_the_bare_program() {
        let (analysis, bare) = held(&[100.0, 120.0, 110.0]);
        assert!(analysis.noise_floor.unwrap().factor > 1.15);
        let verdict = bare.unwrap().verdict;
        let below = |doubt| matches!(doubt, NotProvenReason::BelowFloor { .. });
        assert!(matches!(verdict, Verdict::NothingProven { doubt, .. } if below(doubt)), "{verdict:?}");
        let (_, bare) = held(&[100.0, 100.0, 110.0]);
        assert!(matches!(bare.unwrap().verdict, Verdict::ProvenFaster { .. }));
    }
}
