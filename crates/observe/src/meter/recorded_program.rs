//! A program together with its recording.

use super::relay::Relay;
use super::running::Running;
use super::wakeup;
use crate::settings;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use unspin_launch::error::Error;
use unspin_launch::library;
use unspin_launch::library::environment::Environment;
use unspin_launch::output::scratch::{self, Scratch};
use unspin_launch::plan::{Compiled, NamesFrom, RunTally};
use unspin_launch::program::Program;
use unspin_launch::program::run_queue_program;
use unspin_launch::replace::arena;
use unspin_launch::replace::engine::Engine;
use unspin_sys::creds::Creds;
use unspin_wire::{Config, Invocation, MAX_PAGES, Reason, Recording};

/// Everything that is needed to start the program. Dropping it removes the recording.
pub struct RecordedProgram {
    /// The program.
    pub program: Program,
    /// The program's recording.
    pub recording: Recording,
    library: PathBuf,
    engine: Engine,
    /// The arena; none for the engine's default arena.
    arena: Option<PathBuf>,
    /// The compiled plan, if mutexes or waits are replaced.
    plan: Option<PathBuf>,
    /// The compiled plan, to be compared with the tally.
    compiled: Option<Compiled>,
    /// What the plan replaces, and the executors that use the run queue.
    tally: Option<RunTally>,
    /// Maximum size of the recording, in bytes.
    size: u64,
    scratch: Scratch,
}

impl RecordedProgram {
    /// Finds the program and creates the recording, in memory.
    pub fn new(options: &settings::RecordSettings) -> Result<RecordedProgram, Error> {
        let arena = arena::of(Some(options.sysv), options.arena.as_deref()).map_err(Error::Usage)?;
        let replace = &options.replace;
        let program = run_queue_program::find(&options.command, replace.run_queue)?;
        let plan = replace.compile(&program)?;
        let library = library::unpack()?;
        arena::try_open(options.sysv, arena.as_deref())?;
        // Do this before the folder exists. It may take a while, and a signal in that time would leave the folder
        // behind.
        wakeup::determine(options.level)?;
        let scratch = Scratch::new(scratch::METER, Creds::current().uid)?;
        let config = Config { level: options.level, ..Config::default() };
        let config = Config { bytes: options.size.unwrap_or(config.bytes), ..config };
        let recording = Recording::create(&scratch.file(RECORDING), config).map_err(|e| match e.reason {
            Reason::Size { asked } => {
                Error::Usage(format!("--size {asked}: a recording can take from 32K to {}G", MAX_PAGES >> 18))
            }
            _ if e.permits_smaller() => Error::Environment(format!("{e}, or give it less by --size")),
            _ => Error::Environment(e.to_string()),
        })?;
        wakeup::store(&recording, options.level);
        recording.set_invocation(&Invocation {
            command: words(&program.command_line()),
            waits: plan.as_ref().map_or(Vec::new(), |plan| plan.wait_policies().to_vec()),
            locks: plan.as_ref().map_or(Vec::new(), lock_replacements),
        });
        let is_tallied = plan.is_some() || program.run_queue.is_some();
        // If there is no tally, the program runs all the same, without the warnings.
        let tally = is_tallied.then(|| RunTally::create(scratch.folder()).ok()).flatten();
        let compiled = plan.clone();
        // In the cache, not in the temporary folder: processes that outlive unspin may start others, which read the
        // plan.
        let plan = plan.map(|plan| plan.keep()).transpose()?;
        Ok(RecordedProgram {
            program,
            recording,
            library,
            engine: options.sysv,
            arena,
            plan,
            compiled,
            tally,
            size: config.bytes,
            scratch,
        })
    }

    /// The command that starts the program with the recording, with the standard streams of unspin.
    pub fn command(&self) -> Command {
        let mut command = self.program.command();
        let recording = self.path();
        let environment = Environment {
            library: &self.library,
            engine: self.engine,
            arena: self.arena.as_deref(),
            recording: Some(&recording),
            plan: self.plan.as_deref(),
            tally: self.tally.as_ref().map(RunTally::path),
            looks: self.compiled.as_ref().and_then(Compiled::poll_support),
        };
        environment.apply(&mut command);
        command
    }

    /// Starts the clock and the program. Only one at a time, because unspin relays its signals from now on.
    pub fn start(&self, command: Command) -> Result<Running<'_>, Error> {
        Running::start(self, command, Some(Relay::install()?))
    }

    /// Like [`start`](RecordedProgram::start), but without relaying signals to the program.
    pub fn start_without_relay(&self, command: Command) -> Result<Running<'_>, Error> {
        Running::start(self, command, None)
    }

    /// Why entries of the plan, and the run queue, have replaced nothing so far, with the next step.
    pub fn warnings(&self) -> Vec<String> {
        let Some(tally) = &self.tally else { return Vec::new() };
        if let Some(lost) = tally.why_lost() {
            return vec![lost];
        }
        let plan = self.compiled.as_ref();
        let mut warnings =
            plan.map_or(Vec::new(), |plan| tally.replacements(plan).warnings(&NamesFrom::Above));
        let run_queue = self.program.run_queue;
        warnings.extend(run_queue.and_then(|run_queue| tally.run_queue_warning(run_queue)));
        warnings
    }

    /// Maximum size of the recording, in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The recording's file.
    pub fn path(&self) -> PathBuf {
        self.scratch.file(RECORDING)
    }

    /// Keeps the recording, and returns its path.
    pub fn keep(self) -> PathBuf {
        let path = self.path();
        self.scratch.keep();
        path
    }

    /// The other processes that have this recording mapped: they record, or would at their first lock.
    pub fn recorded_processes(&self) -> BTreeSet<u32> {
        processes_with(&self.path())
    }
}

/// The other processes that have a file mapped.
pub fn processes_with(file: &Path) -> BTreeSet<u32> {
    let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(pid)
        .filter(|&pid| pid != std::process::id() && maps_contain(pid, file) == Some(true))
        .collect()
}

/// The name of a recording in its folder.
pub const RECORDING: &str = "recording";

/// The entries of a plan for locks, as the user writes them.
fn lock_replacements(plan: &Compiled) -> Vec<String> {
    let locks = plan.counted().filter(|entry| entry.subject.family().is_some());
    locks.map(|entry| entry.label.clone()).collect()
}

/// A command as text; empty if a word is not UTF-8, because the text would be another command.
fn words(command: &[OsString]) -> Vec<String> {
    let words: Option<Vec<String>> = command.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    words.unwrap_or_default()
}

/// Whether a process has a file mapped. None for a process that may not be inspected, and for one that is ending: that has no
/// memory any more.
pub fn maps_contain(pid: u32, file: &Path) -> Option<bool> {
    let file = file.to_string_lossy();
    let maps = fs::read(format!("/proc/{pid}/maps")).ok().filter(|maps| !maps.is_empty())?;
    Some(String::from_utf8_lossy(&maps).lines().any(|line| line.contains(&*file)))
}
