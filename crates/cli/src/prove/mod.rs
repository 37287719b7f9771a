//! `unspin prove`: measures a program under several engines and says what is proven.

mod conditions;
mod contestant;
mod figure;
mod format;
mod interrupt;
mod json;
mod locks;
mod machine;
mod output;
mod progress;
mod remains;
mod report;
mod runner;
mod sitting;
mod text;

use crate::error::Error;
use crate::library;
use crate::options;
use crate::outfile;
use crate::program::Program;
use crate::stdout;
use contestant::contestants;
use figure::Figure;
use interrupt::Interrupt;
use report::Report;
use runner::Runner;
use sitting::Sitting;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use unspin_stats::{Direction, Plan};

/// Measures, reports, and answers with the verdict's exit code.
pub fn run(options: &options::Prove) -> Result<ExitCode, Error> {
    let program = Program::find(&options.command)?;
    let direction =
        if options.higher_is_better { Direction::HigherIsBetter } else { Direction::LowerIsBetter };
    let figure = Figure::new(options.metric.as_deref(), direction, program.workload())?;
    let contestants = contestants(&options.sysv);
    let plan = plan(options, &contestants, &figure)?;
    options.json.as_deref().map_or(Ok(()), |file| outfile::try_file("--json", file))?;
    let interrupt = Interrupt::watch()?;
    let runner = Runner::new(&program, &figure, &interrupt, library::unpack()?)?;
    let sitting = Sitting::hold(&runner, &contestants, plan, options.time_limit)?;
    let locks = locks::meter(&runner, &contestants, &sitting, options.time_limit);
    let report = Report::new(&options.command, contestants, sitting, locks, &interrupt);
    stdout::print(&text::Text(&report).to_string())?;
    if let Some(file) = &options.json {
        json::write(&report, file)?;
    }
    Ok(report.exit_code())
}

fn plan(
    options: &options::Prove,
    contestants: &[contestant::Contestant],
    figure: &Figure,
) -> Result<Plan, Error> {
    let candidates = contestants.iter().map(|c| c.candidate.clone()).collect();
    let mut plan = Plan::new(candidates, figure.metric.clone(), seed());
    plan.budget = options.time_budget;
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
