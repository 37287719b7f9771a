//! A program and the recording that it is started with.

use super::relay::Relay;
use super::running::Running;
use super::wakeup;
use crate::arena;
use crate::engine::Engine;
use crate::environment::Environment;
use crate::error::Error;
use crate::library;
use crate::options;
use crate::program::Program;
use crate::run;
use crate::scratch::{self, Scratch};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use unspin_meter::{Config, Invocation, MAX_PAGES, Reason, Recording};
use unspin_sys::creds::Creds;

/// Everything that is needed to start the program. Its recording goes when the recorded goes.
pub struct RecordedProgram {
    /// What is run.
    pub program: Program,
    /// What is recorded.
    pub recording: Recording,
    library: PathBuf,
    engine: Engine,
    /// Unless it is the engine's usual one.
    arena: Option<PathBuf>,
    /// The compiled plan, if mutexes or waits are replaced.
    plan: Option<PathBuf>,
    scratch: Scratch,
}

impl RecordedProgram {
    /// Finds the program and makes the recording, in memory.
    pub fn new(options: &options::RecordOptions) -> Result<RecordedProgram, Error> {
        let arena = arena::of(Some(options.sysv), options.arena.as_deref()).map_err(Error::Usage)?;
        let program = Program::find(&options.command)?;
        let plan = options.replace.compile(&program)?;
        let library = library::unpack()?;
        run::try_arena(options.sysv, arena.as_deref())?;
        let scratch = Scratch::new(scratch::METER, Creds::current().uid)?;
        let config = Config { bytes: options.size, level: options.level, ..Config::default() };
        let recording = Recording::create(&scratch.file(RECORDING), config).map_err(|e| match e.reason {
            Reason::Size { asked } => {
                Error::Usage(format!("--size {asked}: a recording can take from 32K to {}G", MAX_PAGES >> 18))
            }
            _ => Error::Environment(e.to_string()),
        })?;
        wakeup::store(&recording);
        recording.set_invocation(&Invocation {
            command: words(&options.command),
            waits: plan.as_ref().map_or(Vec::new(), |plan| plan.wait_policies().to_vec()),
        });
        // In the cache, not in our folder: what the program leaves behind may start others when we are gone.
        let plan = plan.map(|plan| plan.keep()).transpose()?;
        Ok(RecordedProgram { program, recording, library, engine: options.sysv, arena, plan, scratch })
    }

    /// The command that starts the program so that it is recorded: with our standard input, output and error, until the
    /// caller says otherwise.
    pub fn command(&self) -> Command {
        let mut command = self.program.command();
        let recording = self.path();
        let environment = Environment {
            library: &self.library,
            engine: self.engine,
            arena: self.arena.as_deref(),
            recording: Some(&recording),
            plan: self.plan.as_deref(),
        };
        environment.apply(&mut command);
        command
    }

    /// Starts the clock and the program. One at a time: its signals are taken from now on.
    pub fn start(&self, command: Command) -> Result<Running<'_>, Error> {
        Running::start(self, command, Some(Relay::install()?))
    }

    /// As [`start`](RecordedProgram::start), but signals that come to us are none of the program's business.
    pub fn start_apart(&self, command: Command) -> Result<Running<'_>, Error> {
        Running::start(self, command, None)
    }

    /// The recording's file.
    pub fn path(&self) -> PathBuf {
        self.scratch.file(RECORDING)
    }

    /// Leaves the recording where it is, and says where.
    pub fn keep(self) -> PathBuf {
        let path = self.path();
        self.scratch.keep();
        path
    }

    /// The processes, besides us, that have this recording mapped: those that record in it, or would at their first lock.
    pub fn recorded_processes(&self) -> BTreeSet<u32> {
        let path = self.path();
        let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
        fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(pid)
            .filter(|&pid| pid != std::process::id() && maps_contain(pid, &path))
            .collect()
    }
}

const RECORDING: &str = "recording";

/// A command as text; nothing if a word is not UTF-8, as the text would be another command.
fn words(command: &[OsString]) -> Vec<String> {
    let words: Option<Vec<String>> = command.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    words.unwrap_or_default()
}

/// Whether a process has a file mapped. What we may not look at has not.
pub fn maps_contain(pid: u32, file: &Path) -> bool {
    let file = file.to_string_lossy();
    fs::read(format!("/proc/{pid}/maps"))
        .is_ok_and(|maps| String::from_utf8_lossy(&maps).lines().any(|line| line.contains(&*file)))
}
