//! Runs of programs for tests: under a plan, and recorded.

use crate::meter::recorded_program::RecordedProgram;
use crate::settings::RecordSettings;
use std::ffi::OsStr;
use std::path::Path;
use std::process;
use unspin_launch::library;
use unspin_launch::library::environment::Environment;
use unspin_launch::plan::Compiled;
use unspin_launch::replace::engine::Engine;
use unspin_wire::Snapshot;

/// The output of a program with its mutexes replaced by a plan, which is first written to a file.
pub fn run_with_plan(path: &Path, arguments: &[&str], plan: &Compiled, file: &Path) -> String {
    plan.write(file).unwrap();
    let library = library::unpack().unwrap();
    let mut command = process::Command::new(path);
    let (engine, arena, recording, looks) = (Engine::Kernel, None, None, plan.poll_support());
    Environment { library: &library, engine, arena, recording, plan: Some(file), tally: None, looks }
        .apply(&mut command);
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The recording of a program with these arguments.
pub fn record(path: &Path, arguments: &[&str]) -> Snapshot {
    let command = [path.as_os_str()].into_iter().chain(arguments.iter().map(OsStr::new));
    let settings = RecordSettings::of(command.map(OsStr::to_owned).collect());
    let recorded = RecordedProgram::new(&settings).unwrap();
    let mut command = recorded.command();
    command.stdout(process::Stdio::null());
    let mut running = recorded.start_without_relay(command).unwrap();
    running.wait_until_end().unwrap();
    running.snapshot()
}
