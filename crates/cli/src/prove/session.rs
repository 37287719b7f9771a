//! The measurement itself: run after run, in the order that the statistics ask for.

use super::conditions::{CpuTime, Disturbance};
use super::configuration::Configuration;
use super::interrupt::Interrupt;
use super::progress::Progress;
use super::runner::{Limit, Runner, Trial};
use crate::error::Error;
use serde::Serialize;
use std::time::{Duration, Instant};
use unspin_stats::{Analysis, Comparison, Experiment, Phase, Plan, Role, Run, Schedule, Settings, Step};
use unspin_sys::child::Usage;

/// One run, and where it belongs.
#[derive(Clone, Debug, Serialize)]
pub struct SessionRun {
    /// Index of the configuration.
    pub candidate: usize,
    /// Round, counted from 1; 0 is the warm-up.
    pub round: u32,
    /// Seconds since the session began.
    pub started_s: f64,
    /// The run.
    #[serde(flatten)]
    pub trial: Trial,
}

/// A session that is over.
#[derive(Debug)]
pub struct Session {
    /// Every run in the order in which it was made.
    pub runs: Vec<SessionRun>,
    /// What was measured, as the statistics keep it.
    pub experiment: Experiment,
    /// What it means for those that are judged.
    pub analysis: Analysis,
    /// The bare program against the control: a family of its own, so that asking what the interposition costs
    /// does not make it harder to prove something about the others.
    pub no_preload: Option<Comparison>,
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

impl Session {
    /// Runs the plan to its end, or until ^C. `time_limit` is what a run may take at most in any case.
    pub fn run(
        runner: &Runner<'_>,
        configurations: &[Configuration],
        plan: Plan,
        time_limit: Duration,
    ) -> Result<Session, Error> {
        let mut progress = Progress::new(&plan, configurations.len());
        let mut schedule = Schedule::new(plan).map_err(|e| Error::Usage(e.to_string()))?;
        let (mut runs, mut aborted) = (Vec::new(), None);
        let (cpu_before, own_before) = (CpuTime::since_boot(), Usage::of_self());
        let began = Instant::now();
        while let Step::Run { candidate, phase, limit } = schedule.next(began.elapsed()) {
            progress.show(&configurations[candidate], phase, began.elapsed());
            let limit = match limit {
                Some(limit) if limit < time_limit => Limit::Collapse(limit),
                _ => Limit::Timeout(time_limit),
            };
            let started_s = began.elapsed().as_secs_f64();
            let setup = configurations[candidate].setup.as_ref();
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
            runs.push(SessionRun { candidate, round: round(phase), started_s, trial });
            if runner.interrupt.came() {
                break;
            }
        }
        progress.finish();
        let elapsed = began.elapsed();
        let own_s =
            Usage::of_self().since(&own_before).cpu_s() + runs.iter().map(|e| e.trial.cpu_s()).sum::<f64>();
        let experiment = schedule.experiment().clone();
        let (analysis, no_preload) = analyse(&schedule, configurations);
        Ok(Session {
            disturbance: Disturbance::between(&cpu_before, &CpuTime::since_boot(), own_s),
            rounds: schedule.rounds(),
            runs,
            aborted,
            experiment,
            analysis,
            no_preload,
            elapsed,
        })
    }

    /// A session in which nobody is judged, so that nothing is run.
    pub fn without_runs(configurations: &[Configuration], plan: Plan) -> Result<Session, Error> {
        let schedule = Schedule::new(plan).map_err(|e| Error::Usage(e.to_string()))?;
        let (analysis, no_preload) = analyse(&schedule, configurations);
        Ok(Session {
            runs: Vec::new(),
            experiment: schedule.experiment().clone(),
            analysis,
            no_preload,
            disturbance: Disturbance::default(),
            aborted: None,
            rounds: 0,
            elapsed: Duration::ZERO,
        })
    }

    /// The measured runs of a configuration, the warm-up left out.
    pub fn trials(&self, candidate: usize) -> impl Iterator<Item = &Trial> + Clone {
        self.runs.iter().filter(move |e| e.candidate == candidate && e.round > 0).map(|e| &e.trial)
    }

    /// The first run of a configuration that did not end well, warm-up or not.
    pub fn first_failure(&self, candidate: usize) -> Option<&Trial> {
        self.runs.iter().filter(|e| e.candidate == candidate).map(|e| &e.trial).find(|t| t.value.is_err())
    }
}

/// The analysis of all that go through the interposition, and that of the bare program.
fn analyse(schedule: &Schedule, configurations: &[Configuration]) -> (Analysis, Option<Comparison>) {
    let whole = schedule.analyse();
    let experiment = schedule.experiment();
    let part = |wanted: &dyn Fn(&Configuration) -> bool, settings: &Settings| {
        let samples = experiment.samples.iter().zip(configurations).filter(|(_, c)| wanted(c));
        let samples = samples.map(|(s, _)| s.clone()).collect();
        Analysis::of(&Experiment { samples, ..experiment.clone() }, settings)
    };
    let interposed = part(&|c| c.setup.is_some(), &whole.settings);
    // The bare program is never recommended, whatever it costs.
    let unlimited = Settings { cpu_limit: None, ..whole.settings };
    // With the A/A pair, whose noise floor holds for the bare program too.
    let no_preload = part(&|c| c.setup.is_none() || c.candidate.role != Role::Candidate, &unlimited)
        .comparisons
        .into_iter()
        .find(|comparison| comparison.role == Role::Candidate);
    (Analysis { stop: whole.stop, advice: whole.advice, ..interposed }, no_preload)
}

fn round(phase: Phase) -> u32 {
    match phase {
        Phase::WarmUp => 0,
        Phase::Round(round) => round,
    }
}

/// Whether a session was cut short.
pub fn was_interrupted(interrupt: &Interrupt, analysis: &Analysis) -> bool {
    interrupt.came() && analysis.stop.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_stats::{Candidate, Direction, Doubt, Metric, Outcome, Verdict};

    /// Throughputs of a session of twelve rounds, the same in each but for a little noise.
    fn analysed(values: &[f64]) -> (Analysis, Option<Comparison>) {
        let control = Configuration::kernel();
        let again = Candidate::control_again("kernel (again)");
        let configurations = [
            control.clone(),
            Configuration { candidate: again, setup: control.setup.clone() },
            Configuration { candidate: Candidate::new("no preload"), setup: None },
        ];
        let candidates = configurations.iter().map(|c| c.candidate.clone()).collect();
        let mut plan = Plan::new(candidates, Metric::custom("tps", "", Direction::HigherIsBetter), 1);
        (plan.rounds_min, plan.rounds_max) = (12, 12);
        let mut schedule = Schedule::new(plan).unwrap();
        let mut runs = 0;
        while let Step::Run { candidate, .. } = schedule.next(Duration::ZERO) {
            runs += 1;
            let value = values[candidate] * (1.0 + 0.001 * f64::from(runs % 7));
            schedule.record(candidate, Run::new(Duration::from_secs(1), Outcome::measured(value)));
        }
        analyse(&schedule, &configurations)
    }

    /// The control differs from itself by a fifth, so a difference of a tenth proves nothing of the bare program either.
    #[test]
    fn noise_floor_holds_for_the_bare_program() {
        let (analysis, no_preload) = analysed(&[100.0, 120.0, 110.0]);
        assert!(analysis.noise_floor.unwrap().factor > 1.15);
        let verdict = no_preload.unwrap().verdict;
        let below = |doubt| matches!(doubt, Doubt::BelowFloor { .. });
        assert!(matches!(verdict, Verdict::NothingProven { doubt, .. } if below(doubt)), "{verdict:?}");
        let (_, no_preload) = analysed(&[100.0, 100.0, 110.0]);
        assert!(matches!(no_preload.unwrap().verdict, Verdict::ProvenFaster { .. }));
    }
}
