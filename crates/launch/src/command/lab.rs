//! The program `unspin-lab`: historical reports, the workloads that need a database or an asynchronous runtime, and virtual machines.
//! unspin finds it as git and cargo find their subcommands: beside itself, else in `PATH`.

mod failure;
mod file_identity;
mod installed;
mod this_program;
mod version;

pub use installed::find_unspin;

use crate::error::Error;
use crate::program::run_queue_program::{VOLANO_FLAGS, VOLANO_VALUES};
use crate::program::workload::{Workload, WorkloadProgram};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use unspin_sys::child::{self, Signal};
use unspin_sys::inherited;

/// Time between two looks at whether the program has ended.
const LOOK: Duration = Duration::from_millis(5);

/// Exit code of an interrupted program.
const INTERRUPTED: i32 = 130;

/// The command that measures the historical reports.
pub const REPRODUCE: &str = "reproduce";

/// The options of that command. The command line of unspin knows these and the next for its messages only.
pub const REPRODUCE_OPTIONS: [&str; 5] = ["quick", "kernel", "db", "json", "quiet"];

/// The command that runs a command line in a virtual machine.
pub const VM: &str = "vm";

/// The program that boots virtual machines.
pub const QEMU: &str = "qemu-system-x86_64";

/// The options of that command.
pub const VM_OPTIONS: [&str; 12] = [
    "kernel",
    "cpus",
    "memory",
    "file",
    "accel",
    "time-limit",
    "kernel-parameter",
    "hide-hypervisor",
    "scheduler",
    "mirror",
    "json",
    "quiet",
];

/// The options of the workload dbt1.
pub const DBT1_OPTIONS: [&str; 13] = [
    "db",
    "database",
    "items",
    "scale",
    "seed",
    "mix",
    "browsers",
    "connections",
    "think-time",
    "warm-up",
    "duration",
    "runs",
    "durable",
];

/// The commands of the program that have an option of this name.
pub fn commands_with(option: &str) -> impl Iterator<Item = &'static str> {
    let volano = VOLANO_VALUES.iter().chain(&VOLANO_FLAGS).any(|&name| name == option);
    let commands = [
        ("volano", volano),
        ("dbt1", DBT1_OPTIONS.contains(&option)),
        (REPRODUCE, REPRODUCE_OPTIONS.contains(&option)),
        (VM, VM_OPTIONS.contains(&option)),
    ];
    commands.into_iter().filter_map(|(command, has)| has.then_some(command))
}

/// Whether the program performs the command of this name.
pub fn performs(command: impl AsRef<OsStr>) -> bool {
    command.as_ref() == REPRODUCE || command.as_ref() == VM || Workload::is_of_lab(command)
}

/// The file of the program, which performs `command`. An error if there is none of the build of this one.
pub fn find(command: &str) -> Result<PathBuf, Error> {
    match this_program::own() {
        WorkloadProgram::Unspin => installed::find(WorkloadProgram::Lab, command),
        WorkloadProgram::Lab => Ok(this_program::own_file()),
    }
}

/// `unspin help COMMAND` in the form that such a command understands; all other command lines as they are.
pub fn with_help_behind(words: Vec<OsString>) -> Vec<OsString> {
    match words.get(1..) {
        Some([help, command]) if help == "help" && performs(command) => {
            vec![words[0].clone(), command.clone(), "--help".into()]
        }
        _ => words,
    }
}

/// Asks the program for something that `command` needs, and returns its standard output. None if `stop` was set before it had
/// answered. Its error is ours.
pub fn ask(command: &str, question: &[OsString], stop: &AtomicBool) -> Result<Option<Vec<u8>>, Error> {
    let file = find(command)?;
    let mut asked = Command::new(&file);
    asked.args(question).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    inherited::hand_on_signals(&mut asked);
    child::signal_on_parent_death(&mut asked, Signal::Terminate);
    let mut process = asked.spawn().map_err(|error| Error::not_started(&file, &error))?;
    let failed = |error| Error::failed(WorkloadProgram::Lab.name(), &error);
    // Either is shorter than a pipe, so the program ends without a reader.
    let status = wait(&mut process, stop).map_err(failed)?;
    let (mut answer, mut said) = (Vec::new(), Vec::new());
    process.stdout.take().map_or(Ok(0), |mut out| out.read_to_end(&mut answer)).map_err(failed)?;
    process.stderr.take().map_or(Ok(0), |mut err| err.read_to_end(&mut said)).map_err(failed)?;
    match status.code() {
        Some(0) => Ok(Some(answer)),
        // Relaxed: the flag guards no other data.
        // Without an exit code: the signal came before it had a handler.
        Some(INTERRUPTED) | None if stop.load(Ordering::Relaxed) => Ok(None),
        _ => Err(failure::error_of(WorkloadProgram::Lab, command, status, &String::from_utf8_lossy(&said))),
    }
}

/// Waits for the end of the program, to which it is told when `stop` is set.
fn wait(process: &mut Child, stop: &AtomicBool) -> std::io::Result<ExitStatus> {
    let mut is_told = false;
    loop {
        if let Some(status) = process.try_wait()? {
            return Ok(status);
        }
        // Relaxed: the flag guards no other data.
        if stop.load(Ordering::Relaxed) && !is_told {
            is_told = true;
            // It cannot be gone: it has not been waited for.
            let _ = child::signal(process.id(), Signal::Terminate);
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_of_other_commands_is_unspins_own() {
        let rewritten = |line: &str| {
            let words = with_help_behind(line.split(' ').map(OsString::from).collect());
            words.join(" ".as_ref()).into_string().unwrap()
        };
        assert_eq!(rewritten("unspin help dbt1"), "unspin dbt1 --help");
        for line in ["unspin help", "unspin help run", "unspin dbt1 help", "unspin help dbt1 more"] {
            assert_eq!(rewritten(line), line);
        }
    }
}
