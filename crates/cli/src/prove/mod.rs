//! `unspin prove`: measures a program with other locks and reports which differences are proven.

mod attended;
pub mod budget;
mod call_sites;
mod captured_output;
pub mod configuration;
pub mod ending;
pub mod figure;
pub mod format;
mod full_disk;
mod hang;
pub mod interrupt;
pub mod json;
mod leftovers;
mod locks;
pub mod metering;
pub mod monitor;
mod performance;
mod process_tree;
pub mod progress;
mod quiet;
pub mod reached;
mod reading;
mod recommendation;
pub mod report;
pub mod requested;
pub mod run_queues;
pub mod runner;
mod search;
mod served;
mod service;
mod session;
pub mod setup;
mod staircase;
pub mod standard_input;
pub mod text;
mod waits;
mod web_shop;

use crate::options;
use crate::server_line;
use budget::TimeBudget;
pub use budget::duration;
use configuration::Configuration;
use figure::Figure;
use interrupt::Interrupt;
use locks::Locks;
use monitor::NoMonitor;
pub use progress::PartOfCommand;
use progress::Progress;
use quiet::{Others, WaitEnd, wait_for_quiet};
use recommendation::Recommended;
use report::Report;
use requested::{NamedCandidates, Requested, run_queues};
use runner::{Limit, Runner};
use search::{Search, SearchResult};
use service::Service;
use session::Session;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use text::{Detail, Text, fixed_time};
use unspin_launch::error::Error;
use unspin_launch::library;
use unspin_launch::outfile;
use unspin_launch::program::{Account, Program};
use unspin_launch::run_queue_program;
use unspin_stats::{Candidate, Direction, SessionPlan, rounds_for_proof};
use web_shop::{Preparation, WebShop};

/// Measures, reports, and returns the exit code of the verdict.
pub fn run(options: &options::ProveOptions) -> Result<ExitCode, Error> {
    outfile::try_files(&[("--json", options.json.as_deref()), ("--plan", options.plan.as_deref())])?;
    let interrupt = Interrupt::install()?;
    if let Some(warning) = standard_input::warning() {
        unspin_launch::stderr::say(format_args!("{warning}"));
    }
    let budget = TimeBudget::begin(options.time_budget(), options.runs);
    let progress = Progress::new("prove", budget, options.quiet);
    let report = measure_under(options, budget, &interrupt, &progress);
    progress.finish();
    let Some(mut report) = report? else {
        unspin_launch::stderr::say(format_args!("interrupted before anything was measured"));
        return Ok(ExitCode::from(INTERRUPTED));
    };
    // Files first: the reader of the report may close the pipe.
    let json = options.json.as_ref().map_or(Ok(()), |file| json::write(&report, file));
    let plan = options.plan.as_ref().map_or(Ok(()), |file| write_plan(&report, file));
    if let Some(recommended) = report.recommended.as_mut().filter(|_| plan.is_ok()) {
        recommended.path.clone_from(&options.plan);
    }
    interrupt.allow_signals_to_exit();
    let detail = if options.verbose { Detail::Full } else { Detail::Brief };
    outfile::print_report(
        &Text(&report, detail).to_string(),
        &[options.json.as_deref(), options.plan.as_deref()],
    )?;
    if let (Err(error), Err(_)) = (&json, &plan) {
        unspin_launch::stderr::say(format_args!("{error}"));
    }
    plan.and(json)?;
    Ok(report.exit_code())
}

/// Exit code after SIGINT, SIGTERM or SIGHUP before anything was measured.
const INTERRUPTED: u8 = 130;

/// The part of the time budget, one in so many, in which [`measure`] begins no round: the lock tables of all candidates are part
/// of its result, and a metered run may take several times as long as a timed one.
const RESERVED: u32 = 6;

/// Measures for another command, which has installed `interrupt` and prints the report. The lines of progress begin with the
/// words of `part`. None if ^C came before anything was measured.
pub fn measure(
    options: &options::ProveOptions,
    interrupt: &Interrupt,
    part: PartOfCommand,
) -> Result<Option<Report>, Error> {
    let budget = TimeBudget::begin(options.time_budget(), options.runs);
    let budget = budget.with_reserve(budget.total().unwrap_or_default() / RESERVED);
    let progress = Progress::of_part(part, budget, options.quiet);
    let report = measure_under(options, budget, interrupt, &progress);
    progress.finish();
    report
}

fn measure_under(
    options: &options::ProveOptions,
    budget: TimeBudget,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<Option<Report>, Error> {
    let shop = match web_shop::requested(&options.command) {
        None => None,
        Some(command) => {
            progress.phase("populating the database, once for all runs");
            match WebShop::prepare(command, interrupt.pending())? {
                Preparation::Done(shop) => Some(*shop),
                Preparation::Refused => None,
                Preparation::Interrupted => return Ok(None),
            }
        }
    };
    let request = CheckedRequest::of(options, shop)?;
    let Some(budget) = look_at_machine(options, budget, interrupt, progress)? else { return Ok(None) };
    request.measure(&budget, interrupt, progress)
}

/// Waits for a quiet machine if that is wanted, and else says what is wrong with a busy one, before anything is measured.
/// Returns the budget, of which waiting takes nothing; none if ^C came.
fn look_at_machine(
    options: &options::ProveOptions,
    budget: TimeBudget,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<Option<TimeBudget>, Error> {
    if let Some(limit) = options.wait_for_quiet {
        let at_most = duration(limit.as_secs_f64());
        let tell = |others: &Others| {
            progress.notice(&format!("{others}: waiting for {at_most} at most until they have ended"));
        };
        return Ok(match wait_for_quiet(limit, interrupt, tell)? {
            WaitEnd::Quiet => Some(budget.restarted()),
            WaitEnd::Interrupted => None,
        });
    }
    // Another command measures several programs, and has its own report of disturbances.
    if !progress.is_of_part() {
        let Some(others) = Others::now(interrupt) else { return Ok(None) };
        if let Some(warning) = others.warning() {
            progress.notice(&warning);
        }
    }
    Ok(Some(budget))
}

/// What a command line asks for. It has been checked, and nothing has been run.
struct CheckedRequest<'o> {
    options: &'o options::ProveOptions,
    program: Program,
    service: Option<Service>,
    figure: Figure,
    requested: Option<Requested>,
    /// The database that the runs need.
    shop: Option<WebShop>,
}

impl<'o> CheckedRequest<'o> {
    fn of(options: &'o options::ProveOptions, shop: Option<WebShop>) -> Result<CheckedRequest<'o>, Error> {
        let (program, service, workload) = match &shop {
            Some(shop) => (shop.program.clone(), shop.service.clone(), Some("dbt1")),
            None => {
                let service = Service::of(&options.server)?;
                let program = program(options)?;
                let workload = program.workload();
                (program, service, workload)
            }
        };
        let figure = Figure::new(options.metric.as_deref(), direction(options), workload)?;
        let figure = if options.server.server.is_some() { figure.of_load() } else { figure };
        let requested = Requested::of(&NamedCandidates::of(options), &program)?;
        Ok(CheckedRequest { options, program, service, figure, requested, shop })
    }

    fn measure(
        self,
        budget: &TimeBudget,
        interrupt: &Interrupt,
        progress: &Progress,
    ) -> Result<Option<Report>, Error> {
        let (service, library) = (self.service.as_ref(), library::unpack()?);
        let runner = Runner::new(&self.program, &self.figure, interrupt, progress, service, library)?;
        if service.is_some() && !try_service(&runner, self.options.time_limit)? {
            return Ok(None);
        }
        if !reached::check(&runner, self.options.time_limit)? {
            return Ok(None);
        }
        let mut report = match self.requested {
            Some(mut requested) => judge_requested(&runner, &mut requested, budget, self.options),
            None => judge_found(&runner, budget, self.options),
        }?;
        if let Some(shop) = &self.shop {
            // The commands that were measured have a database that is gone when the report is read.
            report.command.clone_from(&self.options.command);
            report.applied_to = shop.applied_to.clone().unwrap_or_else(|| report.command.clone());
        }
        Ok(Some(report))
    }
}

/// The names of the configurations that a command line compares; none if they must be searched for.
#[cfg(test)]
pub fn names(options: &options::ProveOptions) -> Result<Vec<String>, Error> {
    let request = CheckedRequest::of(options, None)?;
    let configurations = request.requested.iter().flat_map(Requested::configurations);
    Ok(configurations.map(|configuration| configuration.name().to_owned()).collect())
}

/// Which values of the figure are better, if that was demanded.
fn direction(options: &options::ProveOptions) -> Option<Direction> {
    match options.higher_is_better {
        true => Some(Direction::HigherIsBetter),
        false => options.lower_is_better.then_some(Direction::LowerIsBetter),
    }
}

/// Runs a server once without the preload library, so that what is wrong with its commands is said at once. Returns whether all is
/// well; not if ^C came.
fn try_service(runner: &Runner<'_>, time_limit: Duration) -> Result<bool, Error> {
    runner
        .progress
        .phase("one run of the server as it is, to see that it starts, answers, is loaded and stops");
    let Some(trial) = runner.run(None, Limit::Timeout(time_limit), None, &mut NoMonitor)? else {
        return Ok(false);
    };
    let Err(reason) = trial.value else { return Ok(true) };
    runner.progress.finish();
    let mut text = format!("{}: {reason}", runner.program.shown());
    if !trial.output_tail.trim().is_empty() {
        text.push_str("; the end of its output:");
        trial.output_tail.lines().for_each(|line| text.push_str(&format!("\n  | {line}")));
    }
    Err(Error::Unjudged(text))
}

/// The program under the run queue of the control.
fn program(options: &options::ProveOptions) -> Result<Program, Error> {
    if let Some(line) = &options.server.server {
        let account = options.server.server_user.as_deref().map(Account::of).transpose()?;
        let program = program_of(options, &server_line::words(line)?)?;
        return Ok(Program { account, ..program });
    }
    program_of(options, &options.command)
}

fn program_of(options: &options::ProveOptions, command: &[OsString]) -> Result<Program, Error> {
    // What a program starts may be reached where the program itself cannot be.
    let found = Program::find_launcher(command)?;
    let Some(compared) = run_queues(&options.runqueue)? else { return Ok(found) };
    let program = run_queue_program::find(command, Some(compared.judged))?;
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
        unspin_launch::stderr::say(format_args!("{warning}"));
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
    if let Some(metered) = locks.metered.first().filter(|_| is_judged && !runner.progress.is_of_part()) {
        let command = runner.program.command_line();
        let warning = fixed_time::warning(&runner.figure.metric, &command, runner.service, metered.elapsed_s);
        warning.iter().for_each(|warning| runner.progress.notice(warning));
    }
    let session = match is_judged && !runner.interrupt.came() && locks.ended_early().is_none() {
        true => Session::run(runner, &configurations, plan, budget, options.time_limit)?,
        false => Session::without_runs(&configurations, plan)?,
    };
    locks.meter(runner, &configurations, &session, budget, options.time_limit);
    let mut report = Report::new(runner, configurations, session, locks, search);
    report.recommended = Recommended::of(&report, runner.program)?;
    Ok(report)
}

/// Writes the plan that won. Without a winner, prints a message and keeps an existing file.
fn write_plan(report: &Report, file: &Path) -> Result<(), Error> {
    match &report.recommended {
        Some(recommended) => recommended.file.write(file),
        None => {
            unspin_launch::stderr::say(format_args!(
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
