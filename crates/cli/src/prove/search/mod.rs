//! Searches for candidates if the command line names none: meters the program, picks the locks and the call sites of
//! waits that cost most time, tries kinds and policies on them in short runs, and passes the best to the session that
//! judges them.
//!
//! ```text
//! meter ─► findings ─► picks, polling ─► candidates ─► screening ─► finalists ─► (the session, with runs of its own) ─► plan
//!             └──────────── nothing to gain: why ◄──────────────────────────────────┘
//! ```

mod candidates;
mod engines;
mod findings;
mod picks;
mod screen;
mod sites;
mod why;

pub use findings::Findings;
pub use picks::{Pick, WORTH};
pub use screen::Screened;
pub use sites::{Polling, SitePick};
pub use why::{Judged, why};

use super::configuration::Configuration;
use super::locks::{Locks, Metered};
use super::metering::{Metering, meter};
use super::requested::{Requested, engines_beside};
use super::runner::Runner;
use super::setup::{Prepared, Setup};
use crate::error::Error;
use crate::options;
use crate::plan::{Plan, WaitPolicy};
use serde::Serialize;
use std::time::Duration;
use unspin_locks::LockKind;
use unspin_stats::{CpuCost, rounds_for_proof};

/// The share of the time budget for the screening. Judging needs more, because only it proves anything.
const SCREENING: f64 = 0.35;
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
    /// The results of the short runs; none if there was nothing to try.
    pub screening: Option<Screened>,
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
pub fn search(runner: &Runner<'_>, options: &options::ProveOptions) -> Result<SearchResult, Error> {
    let plans = [Plan::all(LockKind::System), Plan::all_waits(WaitPolicy::System)];
    let control = Configuration::system(&plans, runner.program)?;
    let setup = control.setup.as_ref().expect("the control goes through the interposition");
    match meter(runner, setup, options.time_limit) {
        Ok(metering) => search_in(runner, control, metering, options),
        Err(reason) => unmetered(runner, control, &reason),
    }
}

/// Continues with the result of the metered run.
fn search_in(
    runner: &Runner<'_>,
    control: Configuration,
    metering: Metering,
    options: &options::ProveOptions,
) -> Result<SearchResult, Error> {
    let findings = Findings::of(&metering);
    let picks = picks::picks(&metering);
    let polling = Polling::of(&metering);
    let run = Duration::from_secs_f64(metering.trial.elapsed_s);
    let mut entrants = configurations(candidates::candidates(&picks, &polling, &findings), runner)?;
    entrants.extend(engines_beside(&control, &engines::used(runner, &metering, options.time_limit)?));
    let budget = options.time_budget.mul_f64(SCREENING);
    entrants.truncate(affordable(budget, run));
    let screening = match entrants.is_empty() {
        true => None,
        false => Some(screen::screen(runner, &control, &entrants, budget, options.time_limit)?),
    };
    let judged = match &screening {
        Some(screened) => {
            let most = finalists(options.time_budget.saturating_sub(budget), run);
            let metric = &runner.figure.metric;
            let within_limit = |index: usize| {
                let cost = CpuCost::quotient(&screened.samples[0], &screened.samples[index], metric);
                options.cpu_limit.is_none_or(|limit| cost.is_some_and(|cost| cost <= 1.0 + limit))
            };
            let mut judged = screened.best(most, &entrants, &within_limit);
            judged
                .extend(configurations(candidates::together(&picks, &polling, &screened.standings), runner)?);
            judged
        }
        None => Vec::new(),
    };
    let locks = Locks::before(Metered::new(control.name(), metering));
    let search = Some(Search { findings, picks, polling, screening });
    Ok(SearchResult { search, requested: Requested { control, judged }, locks })
}

fn configurations(
    plans: impl IntoIterator<Item = (String, Plan)>,
    runner: &Runner<'_>,
) -> Result<Vec<Configuration>, Error> {
    let configuration = |(name, plan): (String, Plan)| {
        Ok(Configuration::judged(&name, Setup::of(Prepared::new(plan, runner.program)?)))
    };
    plans.into_iter().map(configuration).collect()
}

/// If a program cannot be metered, everything is tried on all of it. If it fails by itself, the session shows how.
fn unmetered(runner: &Runner<'_>, control: Configuration, reason: &str) -> Result<SearchResult, Error> {
    let missing = vec![format!("No lock table of {}: {reason}.", control.name())];
    let judged = match runner.interrupt.came() {
        true => Vec::new(),
        false => {
            let kinds = candidates::KINDS.map(candidates::everywhere);
            configurations(kinds.into_iter().chain([candidates::poll_everywhere()]), runner)?
        }
    };
    Ok(SearchResult {
        search: None,
        requested: Requested { control, judged },
        locks: Locks { missing, ..Locks::default() },
    })
}

/// Number of candidates for which there is time, the most promising first: the screening has at least two rounds, and
/// includes the control.
fn affordable(budget: Duration, run: Duration) -> usize {
    const AT_LEAST: usize = 2;
    let rounds = budget.as_secs_f64() / (2.0 * run.as_secs_f64().max(1e-3));
    (rounds as usize).saturating_sub(1).max(AT_LEAST)
}

/// Number of finalists for which there is time, beside the control, its A/A pair and the program without the preload
/// library.
fn finalists(budget: Duration, run: Duration) -> usize {
    let needed = |finalists: usize| {
        let rounds = f64::from(rounds_for_proof(finalists, 0.05));
        rounds * (3 + finalists) as f64 * run.as_secs_f64()
    };
    if needed(FINALISTS) <= budget.as_secs_f64() { FINALISTS } else { 1 }
}
