//! `unspin prove`: measures a program with other locks and reports which differences are proven.

mod call_sites;
mod captured_output;
mod conditions;
mod configuration;
mod figure;
mod format;
mod interrupt;
mod json;
mod leftovers;
mod locks;
mod machine;
mod metering;
mod monitor;
mod progress;
mod recommendation;
mod report;
mod requested;
mod runner;
mod search;
mod session;
mod setup;
mod staircase;
mod text;
mod waits;

use crate::error::Error;
use crate::library;
use crate::options;
use crate::outfile;
use crate::program::Program;
use crate::stdout;
use configuration::Configuration;
use figure::Figure;
use interrupt::Interrupt;
use locks::Locks;
use recommendation::Recommended;
use report::Report;
use requested::Requested;
use runner::Runner;
use search::{Search, SearchResult};
use session::Session;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use text::{Detail, Text};
use unspin_stats::{Direction, SessionPlan};

/// Measures, reports, and returns the exit code of the verdict.
pub fn run(options: &options::ProveOptions) -> Result<ExitCode, Error> {
    let program = Program::find(&options.command)?;
    let direction =
        if options.higher_is_better { Direction::HigherIsBetter } else { Direction::LowerIsBetter };
    let figure = Figure::new(options.metric.as_deref(), direction, program.workload())?;
    let requested = Requested::of(options, &program)?;
    outfile::try_files(&[("--json", options.json.as_deref()), ("--plan", options.plan.as_deref())])?;
    let interrupt = Interrupt::install()?;
    let runner = Runner::new(&program, &figure, &interrupt, library::unpack()?)?;
    let report = match requested {
        Some(mut requested) => judge_requested(&runner, &mut requested, options)?,
        None => judge_found(&runner, options)?,
    };
    // Files first: the reader of the report may close the pipe.
    let json = options.json.as_ref().map_or(Ok(()), |file| json::write(&report, file));
    let plan = options.plan.as_ref().map_or(Ok(()), |file| write_plan(&report, file));
    interrupt.allow_signals_to_exit();
    let detail = if options.verbose { Detail::Full } else { Detail::Brief };
    stdout::print(&Text(&report, detail).to_string())?;
    json.and(plan)?;
    Ok(report.exit_code())
}

/// Judges the candidates that the command line names.
fn judge_requested(
    runner: &Runner<'_>,
    requested: &mut Requested,
    options: &options::ProveOptions,
) -> Result<Report, Error> {
    for warning in requested.warnings() {
        eprintln!("unspin: {warning}");
    }
    let plan = plan(options, &requested.configurations(), runner.figure, options.time_budget)?;
    let mut locks = Locks::default();
    if requested.is_about_plans() || requested.names_call_sites() {
        locks.meter_control(runner, requested, options.time_limit)?;
    }
    // The metered run has completed the candidates.
    let configurations = requested.configurations();
    judge(runner, configurations, plan, locks, None, options)
}

/// Searches for candidates, and judges them.
fn judge_found(runner: &Runner<'_>, options: &options::ProveOptions) -> Result<Report, Error> {
    let began = Instant::now();
    let SearchResult { search, requested, locks } = search::search(runner, options)?;
    let configurations = requested.configurations();
    let left = options.time_budget.saturating_sub(began.elapsed());
    let plan = plan(options, &configurations, runner.figure, left)?;
    judge(runner, configurations, plan, locks, search, options)
}

fn judge(
    runner: &Runner<'_>,
    configurations: Vec<Configuration>,
    plan: SessionPlan,
    mut locks: Locks,
    search: Option<Search>,
    options: &options::ProveOptions,
) -> Result<Report, Error> {
    let session = match configurations.iter().any(Configuration::is_judged) {
        true => Session::run(runner, &configurations, plan, options.time_limit)?,
        false => Session::without_runs(&configurations, plan)?,
    };
    locks.meter(runner, &configurations, &session, options.time_limit);
    let mut report = Report::new(&options.command, configurations, session, locks, search, runner.interrupt);
    report.recommended = Recommended::of(&report, runner.program)?;
    Ok(report)
}

/// Writes the plan that won. Without a winner, prints a message and keeps an existing file.
fn write_plan(report: &Report, file: &Path) -> Result<(), Error> {
    match &report.recommended {
        Some(recommended) => recommended.file.write(file),
        None => {
            eprintln!("unspin: --plan {}: no plan is written, because none won", file.display());
            Ok(())
        }
    }
}

fn plan(
    options: &options::ProveOptions,
    configurations: &[Configuration],
    figure: &Figure,
    budget: Duration,
) -> Result<SessionPlan, Error> {
    let candidates = configurations.iter().map(|c| c.candidate.clone()).collect();
    let mut plan = SessionPlan::new(candidates, figure.metric.clone(), seed());
    plan.budget = budget;
    plan.settings.cpu_limit = options.cpu_limit;
    if let Some(runs) = options.runs {
        (plan.rounds_min, plan.rounds_max, plan.budget) = (runs, runs, Duration::MAX);
    }
    plan.check().map_err(|e| Error::Usage(e.to_string()))?;
    Ok(plan)
}

/// A different order for each session. The report contains the seed, so that the analysis can be repeated.
fn seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64)
}
