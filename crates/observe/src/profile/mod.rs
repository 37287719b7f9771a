//! `unspin profile`: samples of the program counter, printed as readprofile(8) prints those of the kernel's own timer.

mod folded;
mod frames;
mod samples;
mod spin;
mod table;

use crate::meter::running;
use crate::observed::{self, Observation, Sink};
use crate::settings::ProfileSettings;
use frames::Frames;
use samples::{Samples, SpaceMode};
use std::fs::{self, File};
use std::process::{Command, ExitCode};
use std::time::UNIX_EPOCH;
use table::{Layout, ProfileTable};
use unspin_launch::error::Error;
use unspin_launch::output::scratch::{self, Scratch};
use unspin_launch::output::{outfile, stderr};
use unspin_launch::program::{Program, inheriting};
use unspin_report::pprof;
use unspin_sys::creds::Creds;
use unspin_trace::{
    CallChain, Config, Event, EventSource, Frequency, KernelSymbols, Losses, Record, RingSize, Stacks,
    Target, Tracer,
};
use unspin_wire::environment::PROFILE_RESET;

/// Bytes of each CPU's ring: some 2000 samples with deep stacks, two seconds of them.
const RING: usize = 512 << 10;

/// Samples, prints the table, and returns the program's exit code.
pub fn run(options: &ProfileSettings) -> Result<ExitCode, Error> {
    observed::check(&options.observe)?;
    let files = [
        ("--output", options.output.as_deref()),
        ("--pprof", options.pprof.as_deref()),
        ("--flamegraph", options.flamegraph.as_deref()),
    ];
    outfile::try_files(&files)?;
    outfile::refuse_replacing("a file of the command", &options.command, &files)?;
    let program = match options.command.is_empty() {
        true => None,
        false => Some(Program::find_any(&options.command)?),
    };
    let config = permitted_config(options)?;
    let symbols = kernel_symbols(options, &config)?;
    let reset = ResetFile::new()?;
    let command = program.as_ref().map(|program| {
        let mut command = inheriting(program.command());
        reset.name_to(&mut command);
        (program, command)
    });
    let spaces = if options.user { SpaceMode::OfProcesses } else { SpaceMode::Shared };
    let sink = Sampling { samples: Samples::new(spaces), reset };
    let observation = observed::observe(&config, command, options.observe.seconds, sink)?;
    report(options, &observation, &symbols)?;
    Ok(observation.end.map_or(ExitCode::SUCCESS, |end| ExitCode::from(running::exit_code(end))))
}

/// Counts samples, and sets the counters to zero when the program asks for it.
struct Sampling {
    samples: Samples,
    reset: ResetFile,
}

impl Sink for Sampling {
    fn note(&mut self, record: &Record, _: &Stacks) {
        self.samples.note(record);
    }

    fn before_reading(&mut self) {
        if self.reset.was_asked() {
            self.samples.clear();
        }
    }
}

/// The configuration. A program that unspin starts is sampled by events of all CPUs where that is permitted. If programs are
/// sampled too and the kernel may not be, only programs are, and a message says so.
fn permitted_config(options: &ProfileSettings) -> Result<Config, Error> {
    let config = config(options);
    if config.target == Target::Children {
        let on_all_cpus = Config { target: Target::Started, ..config.clone() };
        if Tracer::open(&on_all_cpus).is_ok() {
            return Ok(on_all_cpus);
        }
    }
    match Tracer::open(&config) {
        Err(error @ unspin_trace::Error::Forbidden { .. }) if options.user => {
            let mut programs_only = config;
            programs_only.events[0].kernel = false;
            // If this is not permitted either, the first message says more.
            if Tracer::open(&programs_only).is_err() {
                return Err(observed::trace_error(error));
            }
            stderr::say(format_args!("the kernel is left out: {error}"));
            Ok(programs_only)
        }
        opened => opened.map(|_| config).map_err(observed::trace_error),
    }
}

/// Why the kernel forbids sampling a program and the kernel under it; none if it permits that.
pub fn obstacle() -> Option<Error> {
    let source = EventSource::CpuClock(Frequency(1));
    let event = Event { source, call_chain: CallChain::None, kernel: true, user: true };
    let config = Config {
        target: Target::Children,
        events: vec![event],
        ring: RingSize::AtMost(RING),
        processes: false,
    };
    let symbols = || KernelSymbols::read().err();
    Tracer::open(&config).err().or_else(symbols).map(observed::trace_error)
}

/// The kernel's symbols. If they are hidden, the functions of programs can still be shown; a message says what is missing.
fn kernel_symbols(options: &ProfileSettings, config: &Config) -> Result<KernelSymbols, Error> {
    match KernelSymbols::read() {
        Err(_) if !config.events[0].kernel => Ok(KernelSymbols::none()),
        Err(error) if options.user => {
            stderr::say(format_args!("functions of the kernel have no names: {error}"));
            Ok(KernelSymbols::none())
        }
        read => read.map_err(observed::trace_error),
    }
}

fn config(options: &ProfileSettings) -> Config {
    let stacks = options.pprof.is_some() || options.flamegraph.is_some();
    let call_chain = match (stacks, options.user) {
        (false, _) => CallChain::None,
        (true, false) => CallChain::Kernel,
        (true, true) => CallChain::Both,
    };
    let source = EventSource::CpuClock(Frequency(options.frequency));
    Config {
        target: observed::target(&options.observe),
        events: vec![Event { source, call_chain, kernel: true, user: options.user }],
        ring: options
            .observe
            .buffer
            .map_or(RingSize::AtMost(RING), |bytes| RingSize::Exactly(bytes as usize)),
        processes: options.user || stacks,
    }
}

fn report(
    options: &ProfileSettings,
    observation: &Observation<Sampling>,
    symbols: &KernelSymbols,
) -> Result<(), Error> {
    let samples = &observation.sink.samples;
    let frames = Frames::new(samples, symbols);
    let table = ProfileTable::new(samples, &frames, symbols);
    let layout = Layout { counters: options.counters, addresses: options.verbose };
    let text = table.text(layout);
    let mut written = match &options.output {
        Some(file) => outfile::write(file, text.as_bytes()),
        None => {
            stderr::print(&text);
            Ok(())
        }
    };
    if options.spin {
        stderr::say(format_args!("{}", table.spin_share()));
    }
    if let Some(note) = losses(options, observation.losses, samples.ticks()) {
        stderr::say(format_args!("{note}"));
    }
    if let Some(file) = &options.pprof {
        let stacks = folded::fold(samples, &frames, &observation.stacks);
        let started =
            observation.started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        let period = 1_000_000_000 / options.frequency;
        let name = options.command.first().map_or("[kernel]".into(), |name| name.to_string_lossy());
        let file_of = pprof::encode_samples(&name, &stacks, started, observation.seconds, period);
        written = written.and(outfile::write(file, &file_of));
    }
    if let Some(file) = &options.flamegraph {
        let drawn = folded::flamegraph(&folded::fold(samples, &frames, &observation.stacks))
            .map_err(|e| Error::at(file, "the flame graph cannot be drawn", e));
        written = written.and(drawn.and_then(|svg| outfile::write(file, &svg)));
    }
    written
}

/// What the table lacks, and what to do about it.
fn losses(options: &ProfileSettings, losses: Losses, ticks: u64) -> Option<String> {
    let mut lacks = Vec::new();
    if losses.records > 0 {
        let all = losses.records + ticks;
        lacks.push(format!(
            "{} of {all} records were lost, because a ring buffer was full: use a larger one (--buffer 8M)",
            losses.records
        ));
    }
    if losses.unreadable > 0 {
        lacks.push(format!(
            "{} records were in a form that unspin cannot read: this kernel (uname -r) is not supported; report it",
            losses.unreadable
        ));
    }
    if !lacks.is_empty() {
        return Some(lacks.join("; "));
    }
    if losses.throttled > 0 {
        return Some(format!(
            "the kernel stopped sampling {} times, because samples took too much time: use a lower --frequency, or \
             raise kernel.perf_cpu_time_max_percent",
            losses.throttled
        ));
    }
    if ticks > 0 {
        return None;
    }
    let (place, other) =
        if options.user { ("", "") } else { (" in the kernel", ", or sample programs too (--user)") };
    Some(format!(
        "no sample was taken: too little CPU time was used{place}: observe for longer, use a higher --frequency{other}"
    ))
}

/// A file whose growth sets the ticks to zero.
struct ResetFile {
    scratch: Scratch,
    length: std::cell::Cell<u64>,
}

impl ResetFile {
    fn new() -> Result<ResetFile, Error> {
        let scratch = Scratch::new(scratch::PROFILE, Creds::current().uid)?;
        let path = scratch.file("reset");
        File::create(&path).map_err(|e| Error::at(&path, "cannot be created", e))?;
        Ok(ResetFile { scratch, length: 0.into() })
    }

    fn name_to(&self, command: &mut Command) {
        command.env(PROFILE_RESET, self.scratch.file("reset"));
    }

    /// Whether the file has grown since the last call.
    fn was_asked(&self) -> bool {
        let length = fs::metadata(self.scratch.file("reset")).map_or(0, |about| about.len());
        self.length.replace(length) < length
    }
}
