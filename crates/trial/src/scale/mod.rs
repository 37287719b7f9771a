//! `unspin scale`: measures a program on 1..n CPUs, and predicts what more would show.

mod configurations;
mod cpu_sets;
pub mod measurement;
mod probe;
mod profile;
pub mod report;
mod text;

use crate::budget::TimeBudget;
use crate::figure::Figure;
use crate::interrupt::Interrupt;
use crate::next;
use crate::progress::Progress;
use crate::reached;
use crate::runner::Runner;
use crate::seed::seed;
use crate::settings::ScaleSettings;
use crate::standard_input;
use cpu_sets::CpuSets;
use measurement::{Measurement, ROUNDS_MIN};
use report::ScaleReport;
use std::process::ExitCode;
use std::time::Duration;
use text::Text;
use unspin_launch::error::Error;
use unspin_launch::library;
use unspin_launch::output::outfile;
use unspin_launch::program::Program;
use unspin_report::shell_line;

/// Measures, fits, prints, and returns the exit code.
pub fn run(options: &ScaleSettings) -> Result<ExitCode, Error> {
    let cpu_sets = CpuSets::of(&options.cpus, &options.predict)?;
    let program = Program::find_launcher(&options.command)?;
    let figure = Figure::new(options.metric.as_deref(), options.direction, program.workload())?;
    let requested = configurations::choose(options, &program)?;
    let (json, html) = (options.json.as_deref(), options.html.as_deref());
    let files = [("--json", json), ("--html", html)];
    outfile::try_files(&files)?;
    outfile::refuse_replacing("a file of the command", &options.command, &files)?;
    outfile::refuse_replacing("--use-plan", &options.use_plan, &files)?;
    let interrupt = Interrupt::install()?;
    if let Some(warning) = standard_input::warning() {
        unspin_launch::output::stderr::say(format_args!("{warning}"));
    }
    let progress =
        Progress::new("scale", TimeBudget::begin(Duration::MAX, Some(options.runs)), options.quiet);
    let runner = Runner::new(&program, &figure, &interrupt, &progress, None, library::unpack()?)?;
    let may_go_on = reached::check(&runner, options.time_limit).inspect_err(|_| progress.finish())?;
    progress.phase("the costs between this machine's CPUs");
    let machine = if may_go_on { probe::measure(&cpu_sets, interrupt.pending())? } else { None };
    let Some(machine) = machine else {
        progress.finish();
        unspin_launch::output::stderr::say(format_args!("interrupted before anything was measured"));
        return Ok(ExitCode::from(INTERRUPTED));
    };
    let seed = seed();
    let measured = Measurement::take(&runner, requested, &cpu_sets, options, seed);
    progress.finish();
    let measured = measured?;
    if measured.rounds < ROUNDS_MIN && measured.runs.is_empty() {
        return too_few(measured.rounds, measured.interrupted, &measured.failures);
    }
    let mut report = ScaleReport::new(&runner, measured, machine, &cpu_sets, options.parallel, seed)?;
    report.next = next::scale::next(&report).text;
    report.repeat = options.words.as_deref().map(shell_line);
    let written = json.map_or(Ok(()), |file| report.write(file));
    let page = html.map_or(Ok(()), |file| report.write_page(file));
    interrupt.allow_signals_to_exit();
    outfile::print_report(&Text(&report).to_string(), &[json, html])?;
    written.and(page)?;
    if report.rounds < ROUNDS_MIN {
        return too_few(report.rounds, report.interrupted, &report.failures);
    }
    Ok(if report.interrupted { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

const INTERRUPTED: u8 = 130;

/// There is nothing to fit.
fn too_few(rounds: u32, interrupted: bool, failures: &[String]) -> Result<ExitCode, Error> {
    let rounds = format!("{rounds} complete of the {ROUNDS_MIN} rounds that a fit needs");
    if interrupted {
        unspin_launch::output::stderr::say(format_args!("interrupted after {rounds}: nothing is predicted"));
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let why = failures.last().map_or("", String::as_str);
    Err(Error::Unjudged(format!("{rounds}: {why}")))
}
