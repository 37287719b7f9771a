//! Finds the candidates where none are named: meters the program, picks the locks and the call sites of waits that it loses time
//! on, tries kinds and policies on them in short runs, and leaves the best for the session that judges them.
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
use unspin_locks::Kind;
use unspin_stats::{CpuCost, rounds_for_proof};

/// The part of the time budget that choosing may take. Judging needs more: it is what counts.
const SCREENING: f64 = 0.35;
/// Candidates that are judged at most: each makes it harder to prove something about the others.
const FINALISTS: usize = 2;

/// How the candidates of a session were found.
#[derive(Debug, Serialize)]
pub struct Search {
    /// Where the program's time goes.
    pub findings: Findings,
    /// The locks that were picked, most time lost first.
    pub picks: Vec<Pick>,
    /// What polling before sleeping could do, and where.
    pub polling: Polling,
    /// How the candidates did in short runs; none if there was nothing to try.
    pub screening: Option<Screened>,
}

/// A search that is over.
#[derive(Debug)]
pub struct SearchResult {
    /// How it went; none if the program could not be metered.
    pub search: Option<Search>,
    /// Those that are to be judged; there may be none.
    pub requested: Requested,
    /// The locks as they were before.
    pub locks: Locks,
}

/// Searches.
pub fn search(runner: &Runner<'_>, options: &options::ProveOptions) -> Result<SearchResult, Error> {
    let plans = [Plan::all(Kind::System), Plan::all_waits(WaitPolicy::System)];
    let control = Configuration::system(&plans, runner.program)?;
    let setup = control.setup.as_ref().expect("the control goes through the interposition");
    match meter(runner, setup, options.time_limit) {
        Ok(metering) => search_in(runner, control, metering, options),
        Err(reason) => unmetered(runner, control, &reason),
    }
}

/// With what was metered.
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

/// Of a program that cannot be metered nothing is known, so everything is tried on all of it at once. If it fails by itself,
/// the session shows how.
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

/// Candidates that there is time for, in the order of their promise: the screening has two rounds at least, and the control
/// takes part.
fn affordable(budget: Duration, run: Duration) -> usize {
    const AT_LEAST: usize = 2;
    let rounds = budget.as_secs_f64() / (2.0 * run.as_secs_f64().max(1e-3));
    (rounds as usize).saturating_sub(1).max(AT_LEAST)
}

/// Finalists that there is time for beside the control, its twin and the bare program.
fn finalists(budget: Duration, run: Duration) -> usize {
    let needed = |finalists: usize| {
        let rounds = f64::from(rounds_for_proof(finalists, 0.05));
        rounds * (3 + finalists) as f64 * run.as_secs_f64()
    };
    if needed(FINALISTS) <= budget.as_secs_f64() { FINALISTS } else { 1 }
}
