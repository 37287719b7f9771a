//! The order of the runs, and the stopping rule.
//!
//! There is one warm-up round in the order of the plan, the control first; its values enter no statistic. Then come
//! rounds in which every candidate runs once, in a new random order for each round. So drift during the session, and
//! the after-effects of one run on the next, affect all candidates equally (Kalibera & Jones, *Rigorous benchmarking in
//! reasonable time*, ISMM 2013). Two runs never overlap.
//!
//! The session ends when intervals are *narrow*, never when a difference looks *significant*: repeated checks for
//! significance would find it in noise. `tests/calibration.rs` measures the rate of false proofs with this rule in
//! force.

use crate::advice::Advice;
use crate::analysis::Analysis;
use crate::candidate::Role;
use crate::collapse;
use crate::experiment::Experiment;
use crate::pairs::Pairs;
use crate::plan::{SessionPlan, SessionPlanError};
use crate::precision;
use crate::random::{Purpose, Random, stream};
use crate::run::{Run, RunOutcome};
use crate::sample::SampleSet;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A candidate that fails this often in a row is not run again. The first failure has already decided its verdict; the
/// others show whether it ever works.
pub const FAILURES_IN_A_ROW: usize = 3;

/// The position of a run in the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionPhase {
    /// The warm-up round.
    WarmUp,
    /// A measured round, counted from 1.
    Round(u32),
}

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NextStep {
    /// Run this candidate (an index into the plan's list) and record its outcome.
    Run {
        /// Index of the candidate.
        candidate: usize,
        /// The position of the run in the session.
        phase: SessionPhase,
        /// Stop the run after this time and record it as [`RunOutcome::Collapsed`]. `None` until the control has shown
        /// how long a run takes.
        limit: Option<Duration>,
    },
    /// The session is over.
    Stop(StopReason),
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Every interval is as narrow as requested.
    NarrowEnough,
    /// The time budget is spent.
    BudgetSpent,
    /// The maximum number of rounds is reached.
    RoundsMax,
    /// The control failed, so nothing can be compared with it.
    ControlFailed,
    /// All candidates have collapsed or failed repeatedly.
    NoneLeft,
}

/// The state of a session. The caller asks [`Schedule::next`] what to run, runs it, and reports to
/// [`Schedule::record`].
///
/// ```
/// use std::time::Duration;
/// use unspin_stats::{Candidate, Metric, RunOutcome, SessionPlan, Run, Schedule, NextStep};
///
/// let candidates =
///     vec![Candidate::control("kernel"), Candidate::aa_control("kernel again"), Candidate::new("rcu")];
/// let mut schedule = Schedule::new(SessionPlan::new(candidates, Metric::wall_time(), 42))?;
/// let mut clock = Duration::ZERO;
/// while let NextStep::Run { candidate, .. } = schedule.next(clock) {
///     let took = [3.0, 3.0, 1.0][candidate]; // here the program would run
///     clock += Duration::from_secs_f64(took);
///     schedule.record(candidate, Run::new(Duration::from_secs_f64(took), RunOutcome::measured(took)));
/// }
/// let analysis = schedule.analyse();
/// assert_eq!(
///     analysis.comparisons[1].sentence,
///     "rcu is 3 times as fast as kernel (95 % interval 3–3, p = 0.031, 6 rounds): difference proven."
/// );
/// # Ok::<(), unspin_stats::SessionPlanError>(())
/// ```
#[derive(Debug)]
pub struct Schedule {
    plan: SessionPlan,
    experiment: Experiment,
    order: Random,
    /// Candidates that have not run in the current round; the next one is last.
    waiting: Vec<usize>,
    running: Option<usize>,
    /// Whether each candidate still takes part.
    active: Vec<bool>,
    phase: SessionPhase,
    /// When the current round began.
    round_began: Duration,
    stopped: Option<StopReason>,
}

impl Schedule {
    /// A session that has not begun.
    ///
    /// # Errors
    /// If the plan cannot be carried out, see [`SessionPlan::check`].
    pub fn new(plan: SessionPlan) -> Result<Schedule, SessionPlanError> {
        plan.check()?;
        let samples = plan.candidates.iter().cloned().map(SampleSet::new).collect();
        Ok(Schedule {
            experiment: Experiment { metric: plan.metric.clone(), seed: plan.seed, samples },
            order: stream(plan.seed, Purpose::Order),
            waiting: (0..plan.candidates.len()).rev().collect(),
            running: None,
            active: vec![true; plan.candidates.len()],
            phase: SessionPhase::WarmUp,
            round_began: Duration::ZERO,
            stopped: None,
            plan,
        })
    }

    /// The next action; `elapsed` is the time since the session began. Returns the same action until the requested run
    /// has been recorded.
    pub fn next(&mut self, elapsed: Duration) -> NextStep {
        if let Some(reason) = self.stopped {
            return NextStep::Stop(reason);
        }
        let candidate = match self.running {
            Some(candidate) => candidate,
            None => {
                if self.waiting.is_empty() {
                    self.stopped = self.reason_to_stop(elapsed);
                    if let Some(reason) = self.stopped {
                        return NextStep::Stop(reason);
                    }
                    self.begin_round(elapsed);
                }
                self.waiting.pop().expect("a round has at least one run: the control is always active")
            }
        };
        self.running = Some(candidate);
        NextStep::Run { candidate, phase: self.phase, limit: self.limit() }
    }

    /// Records the outcome of the run that [`Schedule::next`] requested.
    ///
    /// # Panics
    /// If the requested run was not of this candidate.
    pub fn record(&mut self, candidate: usize, run: Run) {
        assert_eq!(
            self.running.take(),
            Some(candidate),
            "record() must follow next() for the same candidate"
        );
        let run = match run.outcome {
            RunOutcome::Ok { value } => Run { outcome: RunOutcome::measured(value), ..run },
            RunOutcome::Failed { .. } | RunOutcome::Collapsed { .. } => run,
        };
        let ended_well = run.value().is_some();
        let samples = &mut self.experiment.samples[candidate];
        match self.phase {
            SessionPhase::WarmUp => samples.warm_up = Some(run),
            SessionPhase::Round(_) => samples.runs.push(run),
        }
        let failing = samples.all_runs().rev().take_while(|run| run.value().is_none()).count();
        let out = samples.collapsed_at().is_some() || failing >= FAILURES_IN_A_ROW;
        self.active[candidate] &= !out;
        if !ended_well && self.plan.candidates[candidate].role != Role::Candidate {
            self.stopped = Some(StopReason::ControlFailed);
        }
    }

    /// The current time limit of a run; `None` until the control has run.
    pub fn limit(&self) -> Option<Duration> {
        let control = self.experiment.samples[0].all_runs().filter(|run| run.value().is_some());
        let elapsed: Vec<Duration> = control.map(|run| Duration::from_secs_f64(run.elapsed_s)).collect();
        collapse::limit(&elapsed)
    }

    /// Number of complete measured rounds.
    pub fn rounds(&self) -> u32 {
        match self.phase {
            SessionPhase::WarmUp => 0,
            SessionPhase::Round(round) => {
                round - u32::from(self.running.is_some() || !self.waiting.is_empty())
            }
        }
    }

    /// Estimated progress of the session after `elapsed`, from 0 to 1, for a progress bar: first the minimum number of
    /// rounds, then the budget or the maximum number of rounds, whichever ends the session first. Narrow intervals may
    /// end it earlier.
    pub fn progress(&self, elapsed: Duration) -> f64 {
        if self.stopped.is_some() {
            return 1.0;
        }
        let active = self.active.iter().filter(|active| **active).count() as f64;
        let left = (self.waiting.len() + usize::from(self.running.is_some())) as f64;
        // Here the warm-up counts as a round.
        let begun = match self.phase {
            SessionPhase::WarmUp => 1.0,
            SessionPhase::Round(round) => f64::from(round) + 1.0,
        };
        let share_of = |rounds: u32| (begun - left / active) / (f64::from(rounds) + 1.0);
        let time = elapsed.as_secs_f64() / self.plan.budget.as_secs_f64().max(f64::MIN_POSITIVE);
        time.max(share_of(self.plan.rounds_max))
            .min(share_of(self.plan.rounds_min_effective()))
            .clamp(0.0, 1.0)
    }

    /// How many more rounds the intervals need. `None` before two rounds, or if nothing is left to compare.
    pub fn advice(&self) -> Option<Advice> {
        let (half_width, candidate, log_ratios) = self.widest()?;
        let (confidence, target) = (self.plan.settings.confidence, self.plan.half_width_target);
        let needed = precision::rounds_needed(&log_ratios, confidence, target.ln_1p())?;
        // The estimate may be below the rounds already run, because two rounds may agree by chance; then no more are
        // needed.
        let rounds_more = needed.saturating_sub(log_ratios.len() as u32);
        Some(Advice {
            widest: self.plan.candidates[candidate].name.clone(),
            half_width,
            half_width_target: target,
            rounds_more,
            time_more_s: f64::from(rounds_more) * self.round_time_s(),
        })
    }

    /// All runs so far.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// The analysis of all runs so far; a session may be interrupted at any time.
    pub fn analyse(&self) -> Analysis {
        let mut analysis = Analysis::of(&self.experiment, &self.plan.settings);
        analysis.stop = self.stopped;
        analysis.advice = self.advice();
        analysis
    }

    fn begin_round(&mut self, elapsed: Duration) {
        self.phase = SessionPhase::Round(self.rounds() + 1);
        self.round_began = elapsed;
        self.waiting = (0..self.active.len()).filter(|&candidate| self.active[candidate]).collect();
        self.waiting.shuffle(&mut self.order);
    }

    /// Evaluated between rounds. The minimum number of rounds takes precedence over the budget: with fewer, nothing can
    /// be proven, and the time spent so far would be wasted.
    fn reason_to_stop(&self, elapsed: Duration) -> Option<StopReason> {
        let judged = |&i: &usize| self.plan.candidates[i].role == Role::Candidate;
        let mut judged = (0..self.active.len()).filter(judged).peekable();
        if judged.peek().is_some() && !judged.any(|i| self.active[i]) {
            return Some(StopReason::NoneLeft);
        }
        let rounds = self.rounds();
        if rounds >= self.plan.rounds_max {
            return Some(StopReason::RoundsMax);
        }
        if rounds < self.plan.rounds_min_effective() {
            return None;
        }
        if self.widest().is_some_and(|(half_width, ..)| half_width <= self.plan.half_width_target) {
            return Some(StopReason::NarrowEnough);
        }
        // The next round is assumed to take as long as the last one.
        let last = elapsed.saturating_sub(self.round_began);
        (elapsed.saturating_add(last) > self.plan.budget).then_some(StopReason::BudgetSpent)
    }

    /// The comparison with the widest interval among the candidates that still take part: the relative half width of
    /// its t interval, its candidate, its log ratios. `None` before two rounds.
    fn widest(&self) -> Option<(f64, usize, Vec<f64>)> {
        let (control, direction) = (&self.experiment.samples[0], self.plan.metric.direction);
        let active = (1..self.active.len()).filter(|&candidate| self.active[candidate]);
        let comparisons = active.filter_map(|candidate| {
            let pairs = Pairs::of(control, &self.experiment.samples[candidate], direction);
            let log_ratios = pairs.log_ratios();
            let half_width = precision::half_width(&log_ratios, self.plan.settings.confidence)?;
            Some((half_width.exp_m1(), candidate, log_ratios))
        });
        comparisons.max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Mean time of a round: the sum of the mean run times of the active candidates.
    fn round_time_s(&self) -> f64 {
        let active = self.experiment.samples.iter().zip(&self.active).filter(|(_, active)| **active);
        let mean = |samples: &SampleSet| {
            let (count, sum) =
                samples.all_runs().fold((0.0, 0.0), |(n, sum), run| (n + 1.0, sum + run.elapsed_s));
            if count > 0.0 { sum / count } else { 0.0 }
        };
        active.map(|(samples, _)| mean(samples)).sum()
    }
}
