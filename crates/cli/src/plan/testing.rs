//! Programs for tests, in which locks are looked up and which are recorded.

use super::compiled::Compiled;
use crate::engine::Engine;
use crate::environment::Environment;
use crate::library;
use crate::meter::recorded_program::RecordedProgram;
use crate::options::{Command, CommandLine};
use crate::program::Program;
use clap::Parser;
use std::path::{Path, PathBuf};
use std::process;
use tempfile::TempDir;
use unspin_meter::Snapshot;

/// A folder for programs that are compiled from `tests/c`.
pub struct Workshop {
    folder: TempDir,
}

impl Workshop {
    pub fn new() -> Workshop {
        Workshop { folder: tempfile::tempdir().unwrap() }
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Compiles a source to a file of this name. Returns none and prints a `SKIPPED` line if there is no compiler.
    pub fn compile(&self, source: &str, flags: &[&str], name: &str) -> Option<PathBuf> {
        let path = self.file(name);
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(source);
        let options = [&["-pthread"], flags].concat();
        unspin_e2e::compile(&from, &options, &path).then_some(path)
    }

    /// Compiles the source into a program in which to look names up.
    pub fn program(&self, source: &str, flags: &[&str]) -> Option<Program> {
        self.compile(source, flags, "program").map(|path| program(&path))
    }
}

/// A program without arguments.
pub fn program(path: &Path) -> Program {
    Program {
        path: path.to_path_buf(),
        name: path.as_os_str().to_owned(),
        arguments: Vec::new(),
        run_queue: None,
        account: None,
        withheld: Vec::new(),
    }
}

/// The output of a program with its mutexes replaced by a plan, which is first written to a file.
pub fn run_with_plan(path: &Path, arguments: &[&str], plan: &Compiled, file: &Path) -> String {
    plan.write(file).unwrap();
    let library = library::unpack().unwrap();
    let mut command = process::Command::new(path);
    let (engine, arena, recording) = (Engine::Kernel, None, None);
    Environment { library: &library, engine, arena, recording, plan: Some(file), tally: None }
        .apply(&mut command);
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The recording of a program with these arguments.
pub fn record(path: &Path, arguments: &[&str]) -> Snapshot {
    let words = ["unspin", "meter", "--", path.to_str().unwrap()];
    let Command::Meter(options) = CommandLine::parse_from(words.iter().chain(arguments)).command else {
        unreachable!("it begins with meter")
    };
    let recorded = RecordedProgram::new(&options.recorded).unwrap();
    let mut command = recorded.command();
    command.stdout(process::Stdio::null());
    let mut running = recorded.start_without_relay(command).unwrap();
    running.wait_until_end().unwrap();
    running.snapshot()
}
