//! Lenses that need no preload library: checks the options, observes, prints.

use super::conditions::Conditions;
use super::lenses::{Chosen, LeftOutLens, Lenses};
use super::reports::Reports;
use crate::meter::outputs;
use crate::meter::provenance::Provenance;
use crate::meter::running;
use crate::observed::{self, Observation};
use crate::settings::{Format, Lens, MeterSettings, ObserveSettings};
use serde::Serialize;
use std::borrow::Cow;
use std::process::ExitCode;
use std::time::UNIX_EPOCH;
use unspin_launch::error::Error;
use unspin_launch::output::stderr;
use unspin_launch::program::{Program, inheriting};
use unspin_launch::replace::engine::Engine;
use unspin_report::{SCHEMA, SCHEMA_VERSION};

/// Whether the preload library is to record.
pub fn has_pthread(options: &MeterSettings) -> bool {
    options.lenses().contains(&Lens::Pthread) && options.observe.pid.is_none() && has_program(options)
}

fn has_program(options: &MeterSettings) -> bool {
    !options.recorded.command.is_empty()
}

/// Refuses options of which one would be without effect. If the pthread lens is left out, says why.
pub fn check(options: &MeterSettings) -> Result<(), Error> {
    let refuse = |text: &str| Err(Error::Usage(text.into()));
    let observe = &options.observe;
    if options.lenses().iter().all(|&lens| lens == Lens::Pthread) {
        if options.firefox.is_some() {
            return refuse(
                "--firefox requires a lens that has the times of single waits, as in --lens futex,off-cpu: the pthread lens only adds \
                 waits up",
            );
        }
        return match (observe.pid, observe.all_processes) {
            (Some(_), _) => refuse(
                "-p does not go with the pthread lens alone, which needs the preload library from a program's start: leave \
                 --lens out, or add futex, kernel or off-cpu",
            ),
            (_, true) => refuse(
                "-a does not go with the pthread lens alone, which sees one program: leave --lens out, or add futex, kernel or off-cpu",
            ),
            _ if observe.seconds.is_some() => {
                refuse("--seconds requires --lens futex, off-cpu or kernel, and -a or -p")
            }
            _ if observe.buffer.is_some() => refuse("--buffer requires --lens futex, off-cpu or kernel"),
            _ => Ok(()),
        };
    }
    if observe.pid.is_some() && has_program(options) {
        return refuse("-p observes a running process: leave out the program, or -p");
    }
    if observe.seconds.is_some() && has_program(options) {
        return refuse("--seconds requires -a or -p, without a program");
    }
    if has_pthread(options) {
        return Ok(());
    }
    let recorded = &options.recorded;
    let replace = &recorded.replace;
    let unused = [
        ("--record", options.record.is_some()),
        ("--serve", options.serve.is_some()),
        ("--pprof", options.view.pprof.is_some()),
        ("--otlp", options.view.otlp.is_some()),
        ("--format", options.view.format != Format::Table),
        ("--sysv", recorded.sysv != Engine::Kernel),
        ("--mutex", !replace.mutex.is_empty()),
        ("--rwlock", !replace.rwlock.is_empty()),
        ("--spin", !replace.spin.is_empty()),
        ("--waits", !replace.waits.is_empty()),
        ("--use-plan", replace.use_plan.is_some()),
        ("--runqueue", replace.run_queue.is_some()),
    ];
    if let Some((option, _)) = unused.into_iter().find(|(_, given)| *given) {
        return Err(Error::Usage(format!(
            "{option} requires the pthread lens, as in --lens pthread,kernel, and a program"
        )));
    }
    if options.lenses().contains(&Lens::Pthread) {
        stderr::say(format_args!(
            "the pthread lens is left out: it needs the preload library, which must be there when a program starts"
        ));
    }
    Ok(())
}

/// Why a lens that reads the kernel's events cannot observe these processes; none if it can.
pub fn obstacle(lens: Lens, observe: &ObserveSettings) -> Option<Error> {
    Lenses::of(lens, observe).err()
}

/// Observes with the lenses that need no preload library, prints the report, and returns the program's exit code.
pub fn run(options: &MeterSettings) -> Result<ExitCode, Error> {
    let program = match has_program(options) {
        true => Some(Program::find_any(&options.recorded.command)?),
        false => None,
    };
    let Chosen { lenses, mut left_out } = Chosen::of(options);
    let Some((lenses, config)) = lenses else {
        let last = left_out.pop().expect("at least one lens is requested, and it does not work");
        // The error that ends unspin states its own reason.
        left_out.retain(|other| other.error.to_string() != last.error.to_string());
        LeftOutLens::say(&left_out);
        return Err(last.error);
    };
    LeftOutLens::say(&left_out);
    let command = program.as_ref().map(|program| (program, inheriting(program.command())));
    let observation = observed::observe(&config, command, options.observe.seconds, lenses)?;
    let Observation { mut sink, started, seconds, end, losses, stacks } = observation;
    let conditions = Conditions::new(&options.observe, &options.recorded.command, seconds, losses);
    let (reports, timeline) = sink.reports(&stacks, &conditions);
    let layout = outputs::layout(&options.view, outputs::report_width(options.output.as_deref()));
    let text = reports.sections(&options.view, &layout).join("\n");
    let mut failed = Vec::new();
    failed.extend(outputs::print(&text, options.output.as_deref()).err());
    let started = started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let Conditions { seconds, cpus, .. } = conditions;
    let provenance = Provenance::of_observation(options.words.as_deref());
    let (schema, version) = (SCHEMA, SCHEMA_VERSION);
    let command = options.recorded.command.iter().map(|word| word.to_string_lossy()).collect();
    let document =
        Document { schema, version, started, seconds, cpus, command, reports: &reports, provenance };
    failed.extend(outputs::write_results(&document, &options.view));
    if let Some((file, timeline)) = options.firefox.as_deref().zip(timeline) {
        failed.extend(timeline.write(file, &conditions).err());
    }
    match outputs::print_all_but_the_last(failed) {
        Some(last) => Err(last),
        None => Ok(end.map_or(ExitCode::SUCCESS, |end| ExitCode::from(running::exit_code(end)))),
    }
}

/// The JSON document without the pthread lens.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: u32,
    started: u64,
    seconds: f64,
    cpus: usize,
    /// The words of the program's command line; empty without a program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    command: Vec<Cow<'a, str>>,
    #[serde(flatten)]
    reports: &'a Reports,
    #[serde(flatten)]
    provenance: Provenance,
}
