//! The order of the runs, and the stopping rule.
//!
//! There is one warm-up round in the order of the plan, the control first; its values enter no statistic. Then come
//! rounds in which every candidate runs once, in a new random order for each round. So drift during the session, and
//! the after-effects of one run on the next, affect all candidates equally (Kalibera & Jones, *Rigorous benchmarking in
//! reasonable time*, ISMM 2013). Two runs never overlap.
//!
//! The session ends when intervals are *narrow*, never when a difference looks *significant*: repeated checks for
//! significance would find it in noise. `tests/suite/calibration.rs` measures the rate of false proofs with this rule in
//! force.

use crate::advice::Advice;
use crate::analysis::Analysis;
use crate::candidate::Role;
use crate::collapse::{self, CutOff};
use crate::experiment::Experiment;
use crate::much_slower::{MuchSlower, STOPPED_AT_LEAST, STOPPED_TIMES};
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
        /// When to stop the run, and how to record it then. `None` until the control has shown how long a run takes.
        limit: Option<RunLimit>,
    },
    /// The session is over.
    Stop(StopReason),
}

/// After how long a run is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLimit {
    /// Then it is recorded as [`RunOutcome::Collapsed`].
    Collapse(Duration),
    /// Then it is recorded as [`RunOutcome::Stopped`].
    Stop(Duration),
}

impl RunLimit {
    /// The time.
    pub fn after(self) -> Duration {
        match self {
            RunLimit::Collapse(limit) | RunLimit::Stop(limit) => limit,
        }
    }

    /// The outcome of a run that was stopped at this limit.
    pub fn outcome(self) -> RunOutcome {
        match self {
            RunLimit::Collapse(limit) => RunOutcome::Collapsed { limit_s: limit.as_secs_f64() },
            RunLimit::Stop(limit) => RunOutcome::Stopped { limit_s: limit.as_secs_f64() },
        }
    }
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
    /// The candidate of the last run, if that was cut off: it does not run again at once.
    cut_off: Option<usize>,
    phase: SessionPhase,
    /// When the current round began.
    round_began: Duration,
    /// The time since the session began, as the caller last stated it.
    clock: Duration,
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
            cut_off: None,
            phase: SessionPhase::WarmUp,
            round_began: Duration::ZERO,
            clock: Duration::ZERO,
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
        self.clock = elapsed;
        let candidate = match self.running {
            Some(candidate) => candidate,
            None => {
                if elapsed >= self.plan.deadline {
                    self.stopped = Some(StopReason::BudgetSpent);
                    return NextStep::Stop(StopReason::BudgetSpent);
                }
                if self.waiting.is_empty() {
                    self.give_up_slow();
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
        NextStep::Run { candidate, phase: self.phase, limit: self.limit(candidate) }
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
            RunOutcome::Failed { .. }
            | RunOutcome::Collapsed { .. }
            | RunOutcome::Hung { .. }
            | RunOutcome::Stopped { .. } => run,
        };
        self.cut_off = run.outcome.cut_off_at().map(|_| candidate);
        let has_failed = run.value().is_none() && self.cut_off.is_none();
        let samples = &mut self.experiment.samples[candidate];
        match self.phase {
            SessionPhase::WarmUp => samples.warm_up = Some(run),
            SessionPhase::Round(_) => samples.runs.push(run),
        }
        let has_no_hope = samples.fruitless_in_a_row() >= FAILURES_IN_A_ROW;
        if self.plan.candidates[candidate].role != Role::Candidate {
            // A run that was cut off is no failure: without a baseline, one stall of the machine would end the session.
            if has_failed || has_no_hope {
                self.stopped = Some(StopReason::ControlFailed);
            }
            return;
        }
        let samples = &self.experiment.samples[candidate];
        let has_collapsed = CutOff::of(&self.experiment, samples).is_some_and(|found| found.is_proven());
        // A candidate with some stopped runs cannot be ranked; only if all its runs are much slower more of them can
        // prove something. One stopped run may be a stall of the machine.
        let is_unranked = samples.stopped_runs() > 1 && MuchSlower::of(&self.experiment, samples).is_none();
        self.active[candidate] &= !has_no_hope && !has_collapsed && !is_unranked;
    }

    /// The current time limit of a candidate's run; `None` until the control has run. A judged candidate is stopped
    /// when the time left cannot pay for as many runs of this length as a proof needs, but not before
    /// [`STOPPED_TIMES`] times the control's slowest run.
    fn limit(&self, candidate: usize) -> Option<RunLimit> {
        let control = self.experiment.samples[0].all_runs().filter(|run| run.value().is_some());
        let elapsed: Vec<Duration> = control.map(|run| Duration::from_secs_f64(run.elapsed_s)).collect();
        let collapse = collapse::limit(&elapsed)?;
        let slowest = Duration::from_secs_f64(self.slowest_s());
        let affordable = self.affordable(candidate);
        let patience = affordable.max(slowest * STOPPED_TIMES).max(STOPPED_AT_LEAST);
        Some(match self.plan.is_judged(candidate) && patience < collapse {
            true => RunLimit::Stop(patience),
            false => RunLimit::Collapse(collapse),
        })
    }

    /// Duration of the slowest run of the control and its A/A configuration.
    fn slowest_s(&self) -> f64 {
        let same = self.experiment.samples.iter().filter(|samples| samples.candidate.role != Role::Candidate);
        let ended = same.flat_map(SampleSet::all_runs).filter(|run| run.outcome.cut_off_at().is_none());
        ended.map(|run| run.elapsed_s).fold(0.0, f64::max)
    }

    /// How long each remaining run of a candidate may take if all rounds that a proof needs are to be complete at the
    /// deadline. One more run is left for what follows the session.
    fn affordable(&self, candidate: usize) -> Duration {
        if self.plan.deadline == Duration::MAX {
            return Duration::MAX;
        }
        let others = (0..self.active.len()).filter(|&other| other != candidate);
        let others_s: f64 = others.map(|other| self.time_for_proof_of(other)).sum();
        let left = self.plan.deadline.saturating_sub(self.clock).as_secs_f64() - others_s;
        let runs = self.runs_for_proof_of(candidate) + 1.0;
        Duration::try_from_secs_f64(left / runs.max(1.0)).unwrap_or(Duration::ZERO)
    }

    /// Estimated time for the runs that a proof still needs, of all configurations that take part; `None` until the
    /// control has run.
    pub fn time_for_proof(&self) -> Option<Duration> {
        self.mean_time_s(0)?;
        let all: f64 = (0..self.active.len()).map(|candidate| self.time_for_proof_of(candidate)).sum();
        Duration::try_from_secs_f64(all).ok()
    }

    fn time_for_proof_of(&self, candidate: usize) -> f64 {
        let mean_s = self.mean_time_s(candidate).or_else(|| self.mean_time_s(0)).unwrap_or(0.0);
        self.runs_for_proof_of(candidate) * mean_s * self.overhead()
    }

    /// Number of further runs of a candidate that a proof needs.
    fn runs_for_proof_of(&self, candidate: usize) -> f64 {
        let rounds = match self.phase {
            SessionPhase::WarmUp => 0,
            SessionPhase::Round(round) => round - self.lost_rounds(),
        };
        let this_round = u32::from(self.waiting.contains(&candidate) || self.running == Some(candidate));
        match self.active[candidate] {
            true => f64::from(self.plan.rounds_min_effective().saturating_sub(rounds) + this_round),
            false => 0.0,
        }
    }

    /// The time of the session so far, relative to the time of its runs: 1 and more.
    fn overhead(&self) -> f64 {
        let runs = self.experiment.samples.iter().flat_map(SampleSet::all_runs);
        let runs_s: f64 = runs.map(|run| run.elapsed_s).sum();
        if runs_s > 0.0 { (self.clock.as_secs_f64() / runs_s).max(1.0) } else { 1.0 }
    }

    /// Mean duration of a candidate's runs; without those that were cut off, if there are others.
    fn mean_time_s(&self, candidate: usize) -> Option<f64> {
        let samples = &self.experiment.samples[candidate];
        let has_others = samples.all_runs().any(|run| run.outcome.cut_off_at().is_none());
        let runs = samples.all_runs().filter(|run| !has_others || run.outcome.cut_off_at().is_none());
        let (count, sum) = runs.fold((0.0, 0.0), |(n, sum), run| (n + 1.0, sum + run.elapsed_s));
        (count > 0.0).then(|| sum / count)
    }

    /// Ends the runs of the candidates that are proven much slower: once they have the rounds that the other tests
    /// need, or at once if the time left cannot pay for those.
    fn give_up_slow(&mut self) {
        let judged = self.plan.judged().count();
        let is_enough = self.rounds_with_baseline() >= self.plan.rounds_min_effective();
        let is_affordable =
            self.time_for_proof().is_none_or(|time| self.clock.saturating_add(time) <= self.plan.deadline);
        if is_affordable && !is_enough || self.plan.deadline == Duration::MAX {
            return;
        }
        for candidate in 0..self.active.len() {
            let found = MuchSlower::of(&self.experiment, &self.experiment.samples[candidate]);
            if self.plan.is_judged(candidate)
                && found.is_some_and(|found| found.is_proven(judged, self.plan.settings.alpha))
            {
                self.active[candidate] = false;
            }
        }
    }

    /// Changes the time after which no new round begins once there are enough rounds for a proof.
    pub fn set_budget(&mut self, budget: Duration) {
        self.plan.budget = budget;
    }

    /// Whether the session ended because its time was over.
    pub fn is_out_of_time(&self) -> bool {
        self.stopped == Some(StopReason::BudgetSpent)
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

    /// Number of rounds in which a run of the control or of its A/A configuration was cut off. They count for nothing.
    fn lost_rounds(&self) -> u32 {
        let same = || self.experiment.samples.iter().filter(|s| s.candidate.role != Role::Candidate);
        let is_lost = |round: &usize| {
            same()
                .filter_map(|samples| samples.runs.get(*round))
                .any(|run| run.outcome.cut_off_at().is_some())
        };
        (0..self.experiment.samples[0].runs.len()).filter(is_lost).count() as u32
    }

    /// Number of complete measured rounds in which no run of the control was cut off.
    fn rounds_with_baseline(&self) -> u32 {
        self.rounds().saturating_sub(self.lost_rounds())
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
        // The next one is last. What was just cut off waits until another one has run: a stall of the machine may last.
        if self.cut_off.is_some() && self.waiting.last() == self.cut_off.as_ref() {
            let last = self.waiting.len() - 1;
            self.waiting.swap(0, last);
        }
    }

    /// Evaluated between rounds. The minimum number of rounds takes precedence over the budget, but not over the
    /// deadline: with fewer, nothing can be proven.
    fn reason_to_stop(&self, elapsed: Duration) -> Option<StopReason> {
        let mut judged = self.plan.judged().peekable();
        if judged.peek().is_some() && !judged.any(|i| self.active[i]) {
            return Some(StopReason::NoneLeft);
        }
        let rounds = self.rounds_with_baseline();
        if rounds >= self.plan.rounds_max {
            return Some(StopReason::RoundsMax);
        }
        // The next round is assumed to take as long as the last one.
        let last = elapsed.saturating_sub(self.round_began);
        if rounds < self.plan.rounds_min_effective() {
            // The last run of a round may end after the deadline.
            let runs = self.active.iter().filter(|active| **active).count().max(1) as u32;
            let is_late = elapsed.saturating_add(last - last / runs) > self.plan.deadline;
            return is_late.then_some(StopReason::BudgetSpent);
        }
        if self.widest().is_some_and(|(half_width, ..)| half_width <= self.plan.half_width_target) {
            return Some(StopReason::NarrowEnough);
        }
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
        let active = (0..self.active.len()).filter(|&candidate| self.active[candidate]);
        active.filter_map(|candidate| self.mean_time_s(candidate)).sum()
    }
}
