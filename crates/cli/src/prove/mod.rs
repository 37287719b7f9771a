//! `unspin prove`: measures a program with other locks and reports which differences are proven.

pub mod budget;
mod call_sites;
mod captured_output;
pub mod conditions;
pub mod configuration;
pub mod figure;
pub mod format;
pub mod interrupt;
mod json;
mod leftovers;
mod locks;
pub mod machine;
pub mod metering;
pub mod monitor;
pub mod progress;
mod recommendation;
mod report;
pub mod requested;
mod run_queues;
pub mod runner;
mod search;
mod session;
pub mod setup;
mod staircase;
pub mod standard_input;
mod text;
mod waits;

use crate::error::Error;
use crate::library;
use crate::options;
use crate::outfile;
use crate::program::Program;
use crate::run_queue_program;
use crate::stdout;
use budget::TimeBudget;
use configuration::Configuration;
use figure::Figure;
use interrupt::Interrupt;
use locks::Locks;
use progress::Progress;
use recommendation::Recommended;
use report::Report;
use requested::{Requested, run_queues};
use runner::Runner;
use search::{Search, SearchResult};
use session::Session;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use text::{Detail, Text};
use unspin_stats::{Candidate, Direction, SessionPlan, rounds_for_proof};

/// Measures, reports, and returns the exit code of the verdict.
pub fn run(options: &options::ProveOptions) -> Result<ExitCode, Error> {
    let budget = TimeBudget::begin(options.time_budget(), options.runs);
    let program = program(options)?;
    let direction =
        if options.higher_is_better { Direction::HigherIsBetter } else { Direction::LowerIsBetter };
    let figure = Figure::new(options.metric.as_deref(), direction, program.workload())?;
    let requested = Requested::of(options, &program)?;
    outfile::try_files(&[("--json", options.json.as_deref()), ("--plan", options.plan.as_deref())])?;
    let interrupt = Interrupt::install()?;
    if let Some(warning) = standard_input::warning() {
        crate::stderr::say(format_args!("{warning}"));
    }
    let progress = Progress::new("prove", budget, options.quiet);
    let runner = Runner::new(&program, &figure, &interrupt, &progress, library::unpack()?)?;
    let report = match requested {
        Some(mut requested) => judge_requested(&runner, &mut requested, &budget, options),
        None => judge_found(&runner, &budget, options),
    };
    progress.finish();
    let report = report?;
    // Files first: the reader of the report may close the pipe.
    let json = options.json.as_ref().map_or(Ok(()), |file| json::write(&report, file));
    let plan = options.plan.as_ref().map_or(Ok(()), |file| write_plan(&report, file));
    interrupt.allow_signals_to_exit();
    let detail = if options.verbose { Detail::Full } else { Detail::Brief };
    stdout::print(&Text(&report, detail).to_string())?;
    if let (Err(error), Err(_)) = (&json, &plan) {
        crate::stderr::say(format_args!("{error}"));
    }
    plan.and(json)?;
    Ok(report.exit_code())
}

/// The program under the run queue of the control.
fn program(options: &options::ProveOptions) -> Result<Program, Error> {
    let Some(compared) = run_queues(&options.runqueue)? else { return Program::find(&options.command) };
    let program = run_queue_program::find(&options.command, Some(compared.judged))?;
    Ok(Program { run_queue: compared.control, ..program })
}

/// Judges the candidates that the command line names.
fn judge_requested(
    runner: &Runner<'_>,
    requested: &mut Requested,
    budget: &TimeBudget,
    options: &options::ProveOptions,
) -> Result<Report, Error> {
    for warning in requested.warnings() {
        crate::stderr::say(format_args!("{warning}"));
    }
    plan(options, &requested.configurations(), runner.figure, budget)?;
    let mut locks = Locks::default();
    if requested.is_about_plans() || requested.names_call_sites() {
        locks.meter_control(runner, requested, options.time_limit)?;
    }
    if requested.is_about_run_queues() {
        locks.meter_run_queues(runner, requested, options.time_limit)?;
    }
    // The metered run has completed the candidates.
    judge(runner, requested.configurations(), locks, None, budget, options)
}

/// Searches for candidates, and judges them.
fn judge_found(
    runner: &Runner<'_>,
    budget: &TimeBudget,
    options: &options::ProveOptions,
) -> Result<Report, Error> {
    let SearchResult { search, requested, locks } = search::search(runner, budget, options)?;
    judge(runner, requested.configurations(), locks, search, budget, options)
}

fn judge(
    runner: &Runner<'_>,
    configurations: Vec<Configuration>,
    mut locks: Locks,
    search: Option<Search>,
    budget: &TimeBudget,
    options: &options::ProveOptions,
) -> Result<Report, Error> {
    let plan = plan(options, &configurations, runner.figure, budget)?;
    let is_judged = configurations.iter().any(Configuration::is_judged);
    let session = match is_judged && !runner.interrupt.came() && locks.ended_early().is_none() {
        true => Session::run(runner, &configurations, plan, budget, options.time_limit)?,
        false => Session::without_runs(&configurations, plan)?,
    };
    locks.meter(runner, &configurations, &session, budget, options.time_limit);
    let mut report = Report::new(runner.program, configurations, session, locks, search, runner.interrupt);
    report.recommended = Recommended::of(&report, runner.program)?;
    Ok(report)
}

/// Writes the plan that won. Without a winner, prints a message and keeps an existing file.
fn write_plan(report: &Report, file: &Path) -> Result<(), Error> {
    match &report.recommended {
        Some(recommended) => recommended.file.write(file),
        None => {
            crate::stderr::say(format_args!(
                "--plan {}: no plan is written, because none won",
                file.display()
            ));
            Ok(())
        }
    }
}

fn plan(
    options: &options::ProveOptions,
    configurations: &[Configuration],
    figure: &Figure,
    budget: &TimeBudget,
) -> Result<SessionPlan, Error> {
    let candidates: Vec<Candidate> = configurations.iter().map(|c| c.candidate.clone()).collect();
    let mut plan = SessionPlan::new(candidates, figure.metric.clone(), seed());
    (plan.budget, plan.deadline) = (budget.left(), budget.left());
    plan.unjudged = (0..configurations.len()).filter(|&i| !configurations[i].is_judged()).collect();
    plan.settings.cpu_limit = options.cpu_limit;
    if let Some(runs) = options.runs {
        let judged = plan.judged().count();
        let needed = rounds_for_proof(judged, plan.settings.alpha);
        if runs < needed {
            let candidates = if judged == 1 { "1 candidate" } else { &format!("{judged} candidates") };
            return Err(Error::Usage(format!(
                "--runs {runs} cannot prove anything about {candidates}: use --runs {needed} or more"
            )));
        }
        (plan.rounds_min, plan.rounds_max) = (runs, runs);
        (plan.budget, plan.deadline) = (Duration::MAX, Duration::MAX);
    }
    plan.check().map_err(|e| Error::Usage(e.to_string()))?;
    Ok(plan)
}

/// A different order for each session. The report contains the seed, so that the analysis can be repeated.
fn seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64)
}
