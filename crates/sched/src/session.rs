//! From loading a scheduler to its statistics.

use crate::bpf::Scheduler;
use crate::command::{self, Running};
use crate::counters::Counters;
use crate::error::Error;
use crate::locks::{self, Window};
use crate::options::Options;
use crate::signals::Signals;
use crate::statistics::Statistics;
use std::fs::File;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How often the session looks whether the kernel has ended the scheduler.
const LOOK: Duration = Duration::from_millis(100);

/// How the session ended.
enum Ending {
    /// The command has ended, or the time is up.
    Code(u8),
    /// The kernel ended the scheduler.
    Ejected,
}

/// Loads the scheduler, runs the command, unloads the scheduler, prints the statistics.
pub fn run(options: &Options) -> Result<ExitCode, Error> {
    let output = options.stats.as_ref().filter(|path| path.as_os_str() != "-").map(create).transpose()?;
    let mut signals = Signals::install()?;
    let mut scheduler = Scheduler::load(options)?;
    let begun = Instant::now();
    let ending = wait(options, &scheduler, &mut signals);
    let at_unload = scheduler.counters()?;
    let seconds = begun.elapsed().as_secs_f64();
    // Without a command the caller gets to know from the kernel's state that the scheduler is loaded.
    scheduler.unload();
    let statistics = statistics(options, &scheduler, at_unload, seconds)?;
    report(options, output, &statistics)?;
    match ending? {
        Ending::Code(code) => Ok(ExitCode::from(code)),
        Ending::Ejected => Err(Error::Ejected(format!(
            "the kernel ended the scheduler {}: {}; dmesg has the state of its queues",
            options.scheduler.name(),
            statistics.ejected.as_deref().unwrap_or("without a reason")
        ))),
    }
}

fn create(path: &std::path::PathBuf) -> Result<File, Error> {
    File::create(path)
        .map_err(|error| Error::Failed(format!("--stats {}: {error}: choose another file", path.display())))
}

fn wait(options: &Options, scheduler: &Scheduler, signals: &mut Signals) -> Result<Ending, Error> {
    match options.command.as_slice() {
        [] => Ok(wait_for_signal(options, scheduler, signals)),
        line => wait_for_command(Running::start(line)?, scheduler, signals),
    }
}

fn wait_for_signal(options: &Options, scheduler: &Scheduler, signals: &mut Signals) -> Ending {
    let begun = Instant::now();
    let limit = options.seconds.map(|seconds| Duration::from_secs(seconds.into()));
    loop {
        if scheduler.end().is_some() {
            return Ending::Ejected;
        }
        if signals.have_come() || limit.is_some_and(|limit| begun.elapsed() >= limit) {
            return Ending::Code(0);
        }
        let rest = limit.map_or(LOOK, |limit| limit.saturating_sub(begun.elapsed()));
        std::thread::sleep(rest.min(LOOK));
    }
}

fn wait_for_command(
    mut running: Running,
    scheduler: &Scheduler,
    signals: &mut Signals,
) -> Result<Ending, Error> {
    loop {
        if let Some(status) = running.wait_at_most(LOOK)? {
            return Ok(match scheduler.end() {
                Some(_) => Ending::Ejected,
                None => Ending::Code(command::code_of(status)),
            });
        }
        if scheduler.end().is_some() {
            running.end();
            return Ok(Ending::Ejected);
        }
        for signal in signals.take_for(running.pid()) {
            running.pass_on(signal);
        }
    }
}

fn statistics(
    options: &Options,
    scheduler: &Scheduler,
    at_unload: Counters,
    seconds: f64,
) -> Result<Statistics, Error> {
    let counters = scheduler.counters()?;
    // The counters of the CPUs are read one after another: a task may come on one and leave on another meanwhile.
    let tasks_at_unload = at_unload.tasks.saturating_sub(at_unload.left);
    let contradictions = counters.contradictions(tasks_at_unload);
    Ok(Statistics {
        scheduler: options.scheduler.name(),
        seconds,
        cpus: cpus(),
        tasks_at_unload,
        counters,
        runs: counters.runs(),
        adds_up: contradictions.is_empty(),
        contradictions,
        ejected: scheduler.end().map(|end| end.text),
        locks: options.locks.then(|| scheduler.lock_uses()).transpose()?,
    })
}

/// CPUs of the machine that are online.
fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

fn report(options: &Options, output: Option<File>, statistics: &Statistics) -> Result<(), Error> {
    eprintln!("unspin-sched: {}", statistics.line());
    if let Some(uses) = &statistics.locks {
        eprint!("{}", locks::table(uses, Window { seconds: statistics.seconds, cpus: statistics.cpus }));
    }
    if options.stats.is_none() {
        return Ok(());
    }
    let text =
        serde_json::to_string_pretty(statistics).map_err(|error| Error::Failed(error.to_string()))? + "\n";
    let written = match output {
        Some(mut file) => file.write_all(text.as_bytes()),
        None => std::io::stdout().write_all(text.as_bytes()),
    };
    written.map_err(|error| Error::Failed(format!("--stats cannot be written: {error}")))
}
