//! Searches for candidates if the command line names none: it meters the program, and picks the locks and the call
//! sites of waits that cost most time. It tries kinds and policies on them in short runs, and passes the best to the
//! session, which judges them.
//!
//! ```text
//! meter ─► findings ─► picks, polling ─► candidates ─► screening ─► finalists ─► (the session, with runs of its own) ─► plan
//!             └──────────── nothing to gain: why ◄──────────────────────────────────┘
//! ```

mod candidates;
mod engines;
pub mod findings;
mod futility;
mod picks;
mod screen;
mod sites;

pub use findings::{Findings, WORTH};
pub use futility::Unprovable;
pub use picks::Pick;
pub use screen::Screened;
pub use sites::{Polling, SitePick};

use super::budget::{self, Shortfall, TimeBudget};
use super::configuration::Configuration;
use super::locks::{Locks, Metered};
use super::metering::{Metering, meter_as_far_as_possible};
use super::monitor::NoMonitor;
use super::requested::{Requested, engines_beside};
use super::runner::{Limit, Runner, Trial};
use super::setup::Setup;
use crate::settings::ProveSettings;
use serde::Serialize;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use unspin_launch::error::Error;
use unspin_launch::plan::{Plan, Resolver, WaitPolicy};
use unspin_stats::{CpuCost, rounds_for_proof};
use unspin_wire::plan::LockFamily;

/// Maximum number of candidates that are judged: each one makes it harder to prove something about the others.
const FINALISTS: usize = 2;

/// How the candidates of a session were found.
#[derive(Debug, Serialize)]
pub struct Search {
    /// Where the program's time goes.
    pub findings: Findings,
    /// The picked locks, most lost time first.
    pub picks: Vec<Pick>,
    /// What polling before sleeping could save, and where.
    pub polling: Polling,
    /// The results of the short runs; none if there was nothing to try, or only one candidate.
    pub screening: Option<Screened>,
    /// The time that a proof needs, if it does not fit in the time budget. Then no candidate is judged.
    pub shortfall: Option<Shortfall>,
    /// The upper bound on the gain, if it is too small to search for.
    pub not_worth: Option<f64>,
    /// Why no gain can be proven, whatever is tried.
    pub unprovable: Option<Unprovable>,
}

impl Search {
    /// The upper bound on the gain of all candidates for locks and waits; none if it is unknown: the metered run was too
    /// disturbed, or readers contend without waiting.
    pub fn bound(&self) -> Option<f64> {
        let is_known = !self.findings.disturbed && !self.picks.iter().any(|pick| pick.contended_readers);
        is_known.then(|| futility::bound(&self.picks, &self.polling, self.findings.seconds))
    }

    /// Whether it ended without candidates for a reason that is printed first.
    pub fn is_given_up(&self) -> bool {
        self.shortfall.is_some() || self.not_worth.is_some() || self.unprovable.is_some()
    }
}

/// The result of a search.
#[derive(Debug)]
pub struct SearchResult {
    /// How the candidates were found; none if the program could not be metered.
    pub search: Option<Search>,
    /// The configurations to be judged; there may be no candidate.
    pub requested: Requested,
    /// The locks under the control.
    pub locks: Locks,
}

/// Searches for candidates.
pub fn search(
    runner: &Runner<'_>,
    budget: &TimeBudget,
    options: &ProveSettings,
) -> Result<SearchResult, Error> {
    let control = control_for(runner, [])?;
    let setup = control.setup.as_ref().expect("the control goes through the interposition");
    runner.progress.phase("one metered run of the program, to find the locks and waits that cost time");
    let began = Instant::now();
    match meter_as_far_as_possible(runner, setup, options.time_limit) {
        Ok(metering) => search_in(runner, control, metering, began.elapsed(), budget, options),
        Err(reason) => search_unmetered(runner, &reason),
    }
}

/// Continues with the result of the metered run, which took `metered` in all.
fn search_in(
    runner: &Runner<'_>,
    control: Configuration,
    metering: Metering,
    metered: Duration,
    budget: &TimeBudget,
    options: &ProveSettings,
) -> Result<SearchResult, Error> {
    let findings = Findings::of(&metering);
    let picks = picks::picks(&metering, runner.figure.metric.quantity);
    let polling = Polling::of(&metering);
    let (screening, shortfall, not_worth, unprovable) = (None, None, None, None);
    let mut search = Search { findings, picks, polling, screening, shortfall, not_worth, unprovable };
    let mut judged = Vec::new();
    let mut control = control;
    if metering.ended_early.is_none() {
        control = control_of(runner, &search)?;
        let entrants = entrants(runner, &control, &metering, &search, budget, options)?;
        let times = RunTimes { run: length(&metering.trial), metered };
        judged = try_out(runner, &control, &mut search, entrants, times, budget, options)?;
    }
    if runner.interrupt.has_come() {
        judged.clear();
    } else if let Some(silence) = &metering.silence
        && metering.has_missed
        && metering.ended_early.is_none()
        && judged.is_empty()
    {
        // Nothing is known of the locks of the program that did the work.
        return Err(Error::CannotRun(format!(
            "{}: {}",
            runner.program.shown(),
            silence.trim_end_matches('.')
        )));
    }
    let locks = Locks::before(Metered::new(control.name(), metering));
    Ok(SearchResult { search: Some(search), requested: Requested { control, judged }, locks })
}

/// The control of the candidates. Its plan is for mutexes and waits; and for locks of another family if kinds of it are tried.
fn control_of(runner: &Runner<'_>, search: &Search) -> Result<Configuration, Error> {
    let is_picked = |family| search.picks.iter().any(|pick| pick.family == family && !pick.held_long);
    control_for(runner, LockFamily::ALL.into_iter().filter(|&family| is_picked(family)))
}

/// The control of candidates for locks of these families, for mutexes and for waits.
fn control_for(
    runner: &Runner<'_>,
    families: impl IntoIterator<Item = LockFamily>,
) -> Result<Configuration, Error> {
    let families: BTreeSet<LockFamily> = families.into_iter().chain([LockFamily::Mutex]).collect();
    let mut plans: Vec<Plan> = families.into_iter().map(Plan::control).collect();
    plans.push(Plan::all_waits(WaitPolicy::System));
    Configuration::system(&plans, runner.program)
}

/// How long a run takes.
#[derive(Clone, Copy)]
struct RunTimes {
    /// A run of the control, as far as known: it is shorter without the meter.
    run: Duration,
    /// A metered run, with the evaluation of its recording.
    metered: Duration,
}

/// The time from the start of a run to the end of the processes that it left behind.
fn length(trial: &Trial) -> Duration {
    trial.whole + trial.cleared
}

/// How long a run of the control takes; none if the time budget is over, or the run failed or was interrupted.
fn run_of_control(
    runner: &Runner<'_>,
    control: &Configuration,
    budget: &TimeBudget,
    options: &ProveSettings,
) -> Result<Option<Duration>, Error> {
    if budget.left().is_zero() {
        return Ok(None);
    }
    runner.progress.phase("one run without the meter, to see whether a proof fits in the time budget");
    let limit = Limit::Timeout(options.time_limit);
    let trial = runner.run(control.setup.as_ref(), limit, None, &mut NoMonitor)?;
    Ok(trial.filter(|trial| trial.value.is_ok()).map(|trial| length(&trial)))
}

/// Everything that could be tried, the most promising first.
fn entrants(
    runner: &Runner<'_>,
    control: &Configuration,
    metering: &Metering,
    search: &Search,
    budget: &TimeBudget,
    options: &ProveSettings,
) -> Result<Vec<Configuration>, Error> {
    let candidates = candidates::candidates(&search.picks, &search.polling, &search.findings);
    let mut entrants = configurations(candidates, control, runner)?;
    if !budget.left().is_zero() {
        entrants.extend(engines_beside(control, &engines::find_used(runner, metering, options.time_limit)?));
    }
    Ok(entrants)
}

/// Selects the candidates to be judged by short runs, as far as the time budget allows. None if a proof does not fit in
/// it, or if no gain could be proven.
fn try_out(
    runner: &Runner<'_>,
    control: &Configuration,
    search: &mut Search,
    mut entrants: Vec<Configuration>,
    RunTimes { mut run, metered }: RunTimes,
    budget: &TimeBudget,
    options: &ProveSettings,
) -> Result<Vec<Configuration>, Error> {
    if entrants.is_empty() || runner.interrupt.has_come() {
        return Ok(Vec::new());
    }
    // An engine has no bound on its gain.
    if entrants.iter().all(|entrant| entrant.judged_plan().is_some()) {
        search.not_worth = futility::not_worth(search, runner.figure.metric.quantity);
        if search.not_worth.is_none() {
            search.unprovable = Unprovable::of(runner, control, search, run, budget, options)?;
        }
        if search.is_given_up() {
            return Ok(Vec::new());
        }
    }
    // The meter makes runs longer. Where the length of a run decides, a run without the meter shows it.
    if budget.left() < budget::screening(entrants.len(), run) + budget::proof(FINALISTS + 1, run, metered) {
        run = run.min(run_of_control(runner, control, budget, options)?.unwrap_or(run));
        if runner.interrupt.has_come() {
            return Ok(Vec::new());
        }
    }
    let proof = |candidates| budget::proof(candidates, run, metered);
    let choice = if entrants.len() > 1 { budget::screening(2, run) } else { Duration::ZERO };
    search.shortfall = match budget.left() < proof(1) {
        true => budget.shortfall(proof(1).saturating_add(choice)),
        false => None,
    };
    if let Some(shortfall) = &search.shortfall {
        runner
            .progress
            .notice(&format!("{}. Only short runs fit, which prove nothing", shortfall.sentence()));
    }
    let screening = match search.shortfall {
        Some(_) => budget.left(),
        None => budget.for_screening().min(budget.left().saturating_sub(proof(1))),
    };
    entrants.truncate(affordable(screening, run));
    if !needs_choice(entrants.len(), search.shortfall.is_some()) {
        return Ok(entrants);
    }
    let which = match &entrants[..] {
        [only] => only.name().to_owned(),
        all => format!("{} candidates, to select the best", all.len()),
    };
    runner.progress.phase(&format!("short runs of {which}"));
    let screened = screen::screen(runner, control, &entrants, screening, options.time_limit)?;
    let mut judged = Vec::new();
    if search.shortfall.is_none() {
        let most = finalists(budget, options, &proof);
        let metric = &runner.figure.metric;
        let within_limit = |index: usize| {
            let cost = CpuCost::quotient(&screened.samples[0], &screened.samples[index], metric);
            options.cpu_limit.is_none_or(|limit| cost.is_some_and(|cost| cost <= 1.0 + limit))
        };
        judged = screened.best(most.min(FINALISTS), &entrants, &within_limit);
        if judged.len() < most {
            let together = candidates::together(&search.picks, &search.polling, &screened.standings);
            judged.extend(configurations(together, control, runner)?);
        }
    }
    search.screening = Some(screened);
    Ok(judged)
}

fn configurations(
    plans: impl IntoIterator<Item = (String, Plan)>,
    control: &Configuration,
    runner: &Runner<'_>,
) -> Result<Vec<Configuration>, Error> {
    let configuration = |(name, plan): (String, Plan)| {
        Ok(Configuration::judged(&name, Setup::of(control.prepare(plan, runner.program)?)))
    };
    plans.into_iter().map(configuration).collect()
}

/// For a program that cannot be metered: tries every kind and policy on the whole program, of read-write locks and spin locks
/// only if the program calls their functions. If the program fails by itself, the session reports that.
fn search_unmetered(runner: &Runner<'_>, reason: &str) -> Result<SearchResult, Error> {
    let families = Resolver::new(runner.program).called_families();
    let control = control_for(runner, families.iter().copied())?;
    let missing = vec![format!("No lock table of {}: {reason}.", control.name())];
    let judged = match runner.interrupt.has_come() {
        true => Vec::new(),
        false => configurations(candidates::unmetered(&families), &control, runner)?,
    };
    Ok(SearchResult {
        search: None,
        requested: Requested { control, judged },
        locks: Locks { missing, ..Locks::default() },
    })
}

/// Whether short runs must choose among so many candidates. A single one goes to the session, which has the whole budget then.
/// Without time for a proof the short runs are the result.
fn needs_choice(candidates: usize, has_no_time_for_proof: bool) -> bool {
    candidates > 1 || has_no_time_for_proof
}

/// Number of candidates for which there is time, the most promising first: one at least.
fn affordable(time: Duration, run: Duration) -> usize {
    const MOST: usize = 100;
    (1..MOST).take_while(|&candidates| budget::screening(candidates, run) <= time).last().unwrap_or(1)
}

/// Number of candidates that can be judged in the time left, or in the given number of rounds: one at least, and one
/// more than the finalists at most, which combines them.
fn finalists(budget: &TimeBudget, options: &ProveSettings, proof: &dyn Fn(usize) -> Duration) -> usize {
    let fits = |&candidates: &usize| {
        let enough = options.runs.is_none_or(|runs| runs >= rounds_for_proof(candidates, 0.05));
        enough && proof(candidates) <= budget.left()
    };
    (1..=FINALISTS + 1).take_while(fits).last().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::settings;

    #[test]
    fn single_candidate_is_judged_without_a_search() {
        assert!(!needs_choice(1, false));
        assert!(needs_choice(2, false) && needs_choice(1, true));
    }

    #[test]
    fn candidates_and_finalists_are_those_for_which_there_is_time() {
        let second = Duration::from_secs(1);
        assert_eq!(affordable(Duration::ZERO, second), 1);
        assert_eq!((affordable(7 * second, second), affordable(14 * second, second)), (2, 5));
        // Hours, of which the test itself takes none.
        let hour = Duration::from_hours(1);
        let proof = |candidates| budget::proof(candidates, hour, hour);
        let most = |hours: u32, arguments: &[&str]| {
            let options = settings(arguments);
            finalists(&TimeBudget::begin(hours * hour, options.runs), &options, &proof)
        };
        assert_eq!((most(35, &["ls"]), most(45, &["ls"]), most(90, &["ls"])), (1, 2, 3));
        assert_eq!((most(1, &["--runs", "6", "ls"]), most(1, &["--runs", "8", "ls"])), (1, 3));
    }
}
