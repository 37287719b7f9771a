//! The command that runs under the scheduler.

use crate::error::Error;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use unspin_sys::child::{self, Signal};

/// For a command that is ended because its scheduler is gone.
const TIME_TO_END: Duration = Duration::from_secs(2);

/// A command of the policy SCHED_EXT that has been started.
pub struct Running(Child);

impl Running {
    /// Starts the command.
    pub fn start(line: &[OsString]) -> Result<Running, Error> {
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]);
        let started = child::under_sched_ext(&mut command).spawn();
        started.map(Running).map_err(|error| {
            let name = line[0].to_string_lossy();
            match error.kind() {
                ErrorKind::NotFound => Error::NotFound(format!("{name}: not found: check the name and PATH")),
                _ => Error::NotExecutable(format!("{name} cannot be executed under SCHED_EXT: {error}")),
            }
        })
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Waits until the command has ended, the time is up, or a signal has arrived.
    pub fn wait_at_most(&mut self, time: Duration) -> Result<Option<ExitStatus>, Error> {
        let waited = child::has_ended_within(self.0.id(), time);
        match waited {
            Ok(true) => self.0.wait().map(Some).map_err(failed),
            Ok(false) => Ok(None),
            Err(error) => Err(Error::Failed(format!("the command cannot be waited for: {error}"))),
        }
    }

    /// Sends the command the signal that this process got.
    pub fn pass_on(&self, signal: i32) {
        let _ = child::signal(self.0.id(), Signal::PassedOn(signal));
    }

    /// Ends the command: by SIGTERM, then by SIGKILL.
    pub fn end(mut self) {
        let _ = child::signal(self.0.id(), Signal::Terminate);
        let begun = Instant::now();
        while begun.elapsed() < TIME_TO_END {
            if let Ok(Some(_)) = self.wait_at_most(TIME_TO_END / 8) {
                return;
            }
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::Failed(format!("the command cannot be waited for: {error}"))
}

/// The exit code as a shell has it.
pub fn code_of(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, signal) => 128 + signal.unwrap_or(0) as u8,
    }
}
