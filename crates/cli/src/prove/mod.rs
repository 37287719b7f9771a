//! `unspin prove`: measures a program with other locks and says what is proven.

mod asked;
mod call_sites;
mod conditions;
mod contestant;
mod figure;
mod format;
mod interrupt;
mod json;
mod locks;
mod machine;
mod metering;
mod output;
mod progress;
mod recommendation;
mod remains;
mod report;
mod runner;
mod search;
mod setup;
mod sitting;
mod staircase;
mod text;
mod waits;
mod watch;

use crate::error::Error;
use crate::library;
use crate::options;
use crate::outfile;
use crate::program::Program;
use crate::stdout;
use asked::Asked;
use contestant::Contestant;
use figure::Figure;
use interrupt::Interrupt;
use locks::Locks;
use recommendation::Recommended;
use report::Report;
use runner::Runner;
use search::{Found, Search};
use sitting::Sitting;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use text::{Detail, Text};
use unspin_stats::{Direction, SessionPlan};

/// Measures, reports, and answers with the verdict's exit code.
pub fn run(options: &options::Prove) -> Result<ExitCode, Error> {
    let program = Program::find(&options.command)?;
    let direction =
        if options.higher_is_better { Direction::HigherIsBetter } else { Direction::LowerIsBetter };
    let figure = Figure::new(options.metric.as_deref(), direction, program.workload())?;
    let asked = Asked::of(options, &program)?;
    outfile::try_files(&[("--json", options.json.as_deref()), ("--plan", options.plan.as_deref())])?;
    let interrupt = Interrupt::watch()?;
    let runner = Runner::new(&program, &figure, &interrupt, library::unpack()?)?;
    let report = match asked {
        Some(asked) => judge_asked(&runner, &asked, options)?,
        None => judge_found(&runner, options)?,
    };
    // Files first: a reader of the report may stop reading.
    let json = options.json.as_ref().map_or(Ok(()), |file| json::write(&report, file));
    let plan = options.plan.as_ref().map_or(Ok(()), |file| write_plan(&report, file));
    interrupt.expect_the_end();
    let detail = if options.verbose { Detail::Full } else { Detail::Brief };
    stdout::print(&Text(&report, detail).to_string())?;
    json.and(plan)?;
    Ok(report.exit_code())
}

/// Judges the candidates that are named.
fn judge_asked(runner: &Runner<'_>, asked: &Asked, options: &options::Prove) -> Result<Report, Error> {
    for warning in asked.warnings() {
        eprintln!("unspin: {warning}");
    }
    let contestants = asked.contestants();
    let plan = plan(options, &contestants, runner.figure, options.time_budget)?;
    let mut locks = Locks::default();
    if asked.is_about_plans() || asked.names_call_sites() {
        locks.meter_control(runner, asked, options.time_limit)?;
    }
    judge(runner, contestants, plan, locks, None, options)
}

/// Finds candidates, and judges them.
fn judge_found(runner: &Runner<'_>, options: &options::Prove) -> Result<Report, Error> {
    let began = Instant::now();
    let Found { search, asked, locks } = search::search(runner, options)?;
    let contestants = asked.contestants();
    let left = options.time_budget.saturating_sub(began.elapsed());
    let plan = plan(options, &contestants, runner.figure, left)?;
    judge(runner, contestants, plan, locks, search, options)
}

fn judge(
    runner: &Runner<'_>,
    contestants: Vec<Contestant>,
    plan: SessionPlan,
    mut locks: Locks,
    search: Option<Search>,
    options: &options::Prove,
) -> Result<Report, Error> {
    let sitting = match contestants.iter().any(Contestant::is_judged) {
        true => Sitting::hold(runner, &contestants, plan, options.time_limit)?,
        false => Sitting::without_runs(&contestants, plan)?,
    };
    locks.meter(runner, &contestants, &sitting, options.time_limit);
    let mut report = Report::new(&options.command, contestants, sitting, locks, search, runner.interrupt);
    report.recommended = Recommended::of(&report, runner.program)?;
    Ok(report)
}

/// Writes the plan that won; without one says so, and leaves a plan that was there before.
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
    options: &options::Prove,
    contestants: &[Contestant],
    figure: &Figure,
    budget: Duration,
) -> Result<SessionPlan, Error> {
    let candidates = contestants.iter().map(|c| c.candidate.clone()).collect();
    let mut plan = SessionPlan::new(candidates, figure.metric.clone(), seed());
    plan.budget = budget;
    plan.settings.cpu_limit = options.cpu_limit;
    if let Some(runs) = options.runs {
        (plan.rounds_min, plan.rounds_max, plan.budget) = (runs, runs, Duration::MAX);
    }
    plan.check().map_err(|e| Error::Usage(e.to_string()))?;
    Ok(plan)
}

/// Another order for each sitting; the report says which, so that the analysis can be repeated.
fn seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64)
}
