//! `unspin prove`: measures a program with other locks and reports which differences are proven.

use crate::budget::{TimeBudget, duration};
use crate::configuration::Configuration;
use crate::figure::Figure;
use crate::interrupt::Interrupt;
use crate::locks::Locks;
use crate::monitor::NoMonitor;
use crate::preparation::PreparedProgram;
use crate::progress::{PartOfCommand, Progress};
use crate::quiet::{Others, WaitEnd, wait_for_quiet};
use crate::recommendation::Recommended;
use crate::report::Report;
use crate::requested::{NamedCandidates, Requested, run_queues};
use crate::runner::{Limit, Runner};
use crate::search::{Search, SearchResult};
use crate::seed::seed;
use crate::service::Service;
use crate::session::Session;
use crate::settings::ProveSettings;
use crate::text::{Detail, Text, fixed_time};
use crate::{ci, json, reached, search, standard_input};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use unspin_launch::command::words;
use unspin_launch::error::Error;
use unspin_launch::library;
use unspin_launch::output::outfile;
use unspin_launch::program::run_queue_program;
use unspin_launch::program::{Account, Program};
use unspin_stats::{Candidate, SessionPlan, rounds_for_proof};

/// Measures, reports, and returns the exit code of the verdict.
pub fn run(options: &ProveSettings) -> Result<ExitCode, Error> {
    let files = files(options);
    ci::check(&options.ci)?;
    outfile::try_files(&files)?;
    outfile::refuse_replacing("a file of the command", &options.command, &files)?;
    for (option, line) in options.server.lines() {
        outfile::refuse_replacing(
            &format!("a file of {option}"),
            &shell_words::split(line).unwrap_or_default(),
            &files,
        )?;
    }
    outfile::refuse_replacing("--use-plan", &options.use_plan, &files)?;
    let interrupt = Interrupt::install()?;
    if let Some(warning) = standard_input::warning() {
        unspin_launch::output::stderr::say(format_args!("{warning}"));
    }
    let budget = TimeBudget::begin(options.time_budget(), options.runs);
    let mut progress = Progress::new("prove", budget, options.quiet);
    if options.ci.is_ci {
        progress = progress.in_lines();
    }
    let report = measure_under(options, budget, &interrupt, &progress);
    progress.finish();
    if let Err(error) = &report {
        // That error is the command's, whatever becomes of the files.
        if let Err(other) = ci::write_without_report(&error.to_string(), error.code(), options) {
            unspin_launch::output::stderr::say(format_args!("{other}"));
        }
    }
    let Some(mut report) = report? else {
        unspin_launch::output::stderr::say(format_args!("{BEFORE_ANYTHING}"));
        ci::write_without_report(BEFORE_ANYTHING, INTERRUPTED, options)?;
        return Ok(ExitCode::from(INTERRUPTED));
    };
    report.command_of_unspin.clone_from(&options.words);
    // Files first: the reader of the report may close the pipe. The plan before the results, which name its file.
    let plan = options.plan.as_ref().map_or(Ok(()), |file| write_plan(&report, file));
    if let Some(recommended) = report.recommended.as_mut().filter(|_| plan.is_ok()) {
        recommended.path.clone_from(&options.plan);
    }
    let results = json::write(&report, options.json.as_deref(), options.html.as_deref());
    interrupt.allow_signals_to_exit();
    let detail = if options.verbose { Detail::Full } else { Detail::Brief };
    let mut text = Text(&report, detail).to_string();
    let ci = ci::write(&report, &text, &options.ci).map(|summary| {
        text.extend(summary.map(|summary| format!("\n{summary}")));
    });
    outfile::print_report(&text, &files.map(|(_, file)| file))?;
    let mut errors = [results, plan, ci].into_iter().filter_map(Result::err);
    let Some(last) = errors.next_back() else { return Ok(report.exit_code()) };
    errors.for_each(|error| unspin_launch::output::stderr::say(format_args!("{error}")));
    Err(last)
}

/// The files for results, each with the option or the variable that names it.
fn files(options: &ProveSettings) -> [(&'static str, Option<&Path>); 6] {
    let [markdown, junit, step_summary] = ci::files(&options.ci);
    let [json, html, plan] = [&options.json, &options.html, &options.plan].map(Option::as_deref);
    [("--json", json), ("--html", html), ("--plan", plan), markdown, junit, step_summary]
}

const BEFORE_ANYTHING: &str = "interrupted before anything was measured";
/// Exit code after SIGINT, SIGTERM or SIGHUP before anything was measured.
const INTERRUPTED: u8 = 130;

/// [`measure`] begins no round in the last part of the time budget, one of this many parts. Its result contains the
/// lock tables of all candidates, and a metered run may take several times as long as a timed one.
const RESERVED: u32 = 6;

/// Measures for another command, which has installed `interrupt` and prints the report. The lines of progress begin with the
/// words of `part`. None if ^C came before anything was measured.
pub fn measure(
    options: &ProveSettings,
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
    options: &ProveSettings,
    budget: TimeBudget,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<Option<Report>, Error> {
    let prepared = match &options.preparation {
        None => None,
        Some(preparation) => {
            progress.phase(preparation.phase);
            let Some(program) = (preparation.prepare)(interrupt.pending())? else { return Ok(None) };
            Some(program)
        }
    };
    let request = CheckedRequest::of(options, prepared)?;
    let Some(budget) = look_at_machine(options, budget, interrupt, progress)? else { return Ok(None) };
    request.measure(&budget, interrupt, progress)
}

/// Checks the machine before anything is measured. With `--wait-for-quiet` it waits until the machine is quiet;
/// without, it prints a warning if the machine is busy. Returns the budget, which begins after the wait; none if ^C
/// came.
fn look_at_machine(
    options: &ProveSettings,
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
            WaitEnd::Quiet => Some(budget.restart()),
            WaitEnd::Interrupted => None,
        });
    }
    // A command that measures several programs prints its own report of disturbances.
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
    options: &'o ProveSettings,
    program: Program,
    service: Option<Service>,
    figure: Figure,
    requested: Option<Requested>,
    /// The program, if it was prepared. Holds what the runs need.
    prepared: Option<PreparedProgram>,
}

impl<'o> CheckedRequest<'o> {
    fn of(
        options: &'o ProveSettings,
        prepared: Option<PreparedProgram>,
    ) -> Result<CheckedRequest<'o>, Error> {
        let (program, service, workload) = match &prepared {
            Some(prepared) => (prepared.program.clone(), prepared.service.clone(), Some(prepared.workload)),
            None => {
                let service = Service::of(&options.server)?;
                let program = program(options)?;
                let workload = program.workload();
                (program, service, workload)
            }
        };
        let figure = Figure::new(options.metric.as_deref(), options.direction, workload)?;
        let figure = if options.server.server.is_some() { figure.of_load() } else { figure };
        let requested = Requested::of(&NamedCandidates::of(options), &program)?;
        Ok(CheckedRequest { options, program, service, figure, requested, prepared })
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
        let uses_the_library = self.requested.as_ref().is_none_or(Requested::uses_the_library);
        if uses_the_library && !reached::check(&runner, self.options.time_limit)? {
            return Ok(None);
        }
        let mut report = match self.requested {
            Some(mut requested) => judge_requested(&runner, &mut requested, budget, self.options),
            None => judge_found(&runner, budget, self.options),
        }?;
        if let Some(prepared) = &self.prepared {
            // The commands that were measured use files that are gone when the report is read.
            report.command.clone_from(&self.options.command);
            report.applied_to = prepared.applied_to.clone().unwrap_or_else(|| report.command.clone());
        }
        Ok(Some(report))
    }
}

/// The names of the configurations that a command line compares; none if they must be searched for.
pub fn names(options: &ProveSettings) -> Result<Vec<String>, Error> {
    let request = CheckedRequest::of(options, None)?;
    let configurations = request.requested.iter().flat_map(Requested::configurations);
    Ok(configurations.map(|configuration| configuration.name().to_owned()).collect())
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
fn program(options: &ProveSettings) -> Result<Program, Error> {
    if let Some(line) = &options.server.server {
        let account = options.server.server_user.as_deref().map(Account::of).transpose()?;
        let program = program_of(options, &words::words("--server", line)?)?;
        return Ok(Program { account, ..program });
    }
    program_of(options, &options.command)
}

fn program_of(options: &ProveSettings, command: &[OsString]) -> Result<Program, Error> {
    if !options.schedulers.is_empty() || !options.kernels.is_empty() {
        return match options.schedulers.last() {
            Some(scheduler) if options.server.server.is_none() => scheduler.find_beside(command),
            _ => Program::find_any(command),
        };
    }
    // The library may reach the programs that this one starts, even if it cannot reach this one.
    let found = Program::find_launcher(command)?;
    let Some(compared) = run_queues(&options.run_queues)? else { return Ok(found) };
    let program = run_queue_program::find(command, Some(compared.judged))?;
    Ok(Program { run_queue: compared.control, ..program })
}

/// Judges the candidates that the command line names.
fn judge_requested(
    runner: &Runner<'_>,
    requested: &mut Requested,
    budget: &TimeBudget,
    options: &ProveSettings,
) -> Result<Report, Error> {
    if !options.kernels.is_empty() {
        // Before anything is booted. Where nothing is, the start of the first one tells.
        options.schedulers.iter().try_for_each(|scheduler| scheduler.find().map(drop))?;
    }
    for warning in requested.warnings() {
        unspin_launch::output::stderr::say(format_args!("{warning}"));
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
fn judge_found(runner: &Runner<'_>, budget: &TimeBudget, options: &ProveSettings) -> Result<Report, Error> {
    let SearchResult { search, requested, locks } = search::search(runner, budget, options)?;
    judge(runner, requested.configurations(), locks, search, budget, options)
}

fn judge(
    runner: &Runner<'_>,
    configurations: Vec<Configuration>,
    mut locks: Locks,
    search: Option<Search>,
    budget: &TimeBudget,
    options: &ProveSettings,
) -> Result<Report, Error> {
    let plan = plan(options, &configurations, runner.figure, budget)?;
    let is_judged = configurations.iter().any(Configuration::is_judged);
    if let Some(metered) = locks.metered.first().filter(|_| is_judged && !runner.progress.is_of_part()) {
        let command = runner.program.command_line();
        let warning = fixed_time::warning(&runner.figure.metric, &command, runner.service, metered.elapsed_s);
        let warnings = warning.into_iter().chain(runner.figure.percentile_warning());
        warnings.for_each(|warning| runner.progress.notice(&warning));
    }
    let session = match is_judged && !runner.interrupt.has_come() && locks.ended_early().is_none() {
        true => Session::run(runner, &configurations, plan, budget, options.time_limit)?,
        false => Session::without_runs(&configurations, plan)?,
    };
    locks.meter(runner, &configurations, &session, budget, options.time_limit);
    let mut report = Report::new(runner, configurations, session, locks, search);
    report.recommended = Recommended::of(report.proven_plans(), &report.command, runner.program)?;
    Ok(report)
}

/// Writes the plan that won. Without a winner, prints a message and keeps an existing file.
fn write_plan(report: &Report, file: &Path) -> Result<(), Error> {
    match &report.recommended {
        Some(recommended) => recommended.file.write(file),
        None => {
            unspin_launch::output::stderr::say(format_args!(
                "--plan {}: no plan is written, because none won",
                file.display()
            ));
            Ok(())
        }
    }
}

fn plan(
    options: &ProveSettings,
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
