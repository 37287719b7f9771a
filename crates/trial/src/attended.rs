//! A process that a run starts: in a process group of its own, with captured output, ended in any case.

use super::interrupt::Interrupt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use unspin_launch::error::Error;
use unspin_launch::output::captured::CapturedOutput;
use unspin_sys::child::{self, Ended, Signal};

/// A process and its output.
pub struct Attended {
    /// The program's pid, which is also the number of its process group. No other process gets it before
    /// [`Attended::ended`] is some.
    pub pid: u32,
    /// When it was started.
    pub began: Instant,
    /// What it has printed.
    pub output: CapturedOutput,
    /// How it ended; none while it runs.
    pub ended: Option<Ended>,
}

/// Maximum time until ^C is checked again, if the signal did not interrupt the wait.
pub const SLICE: Duration = Duration::from_millis(500);
/// The sleep between two looks after a second ^C.
const BRIEF_SLICE: Duration = Duration::from_millis(50);

impl Attended {
    /// Starts it. Standard input is empty. The kernel kills it if unspin is killed.
    pub fn start(command: &mut Command) -> Result<Attended, Error> {
        let output = CapturedOutput::new()?;
        command.stdin(Stdio::null()).stdout(output.stdout()?).stderr(output.stderr()?);
        let began = Instant::now();
        let process = child::kill_on_parent_death(command)
            .spawn()
            .map_err(|e| Error::not_started(Path::new(command.get_program()), &e))?;
        Ok(Attended { pid: process.id(), began, output, ended: None })
    }

    /// Waits for its end, for `time` at most. Returns whether it has ended; it stays a zombie until [`Attended::reap`].
    pub fn has_ended_within(&self, time: Duration) -> Result<bool, Error> {
        if self.ended.is_some() {
            return Ok(true);
        }
        self.output.trim();
        // The kernel's timeout has milliseconds.
        let time = if time.is_zero() { time } else { time.max(Duration::from_millis(1)) };
        child::has_ended_within(self.pid, time).map_err(|e| self.wait_error(e))
    }

    /// How it ended; none while it runs.
    pub fn reap(&mut self) -> Result<Option<Ended>, Error> {
        if self.ended.is_none() {
            self.ended = child::wait_for(self.pid, Duration::ZERO).map_err(|e| self.wait_error(e))?;
        }
        Ok(self.ended)
    }

    /// Waits for its end, for `time` at most, and only until `interrupt` is over. Returns how it ended; none if it
    /// still runs.
    pub fn wait(&mut self, time: Duration, interrupt: &Patience<'_>) -> Result<Option<Ended>, Error> {
        let began = Instant::now();
        loop {
            let left = time.saturating_sub(began.elapsed());
            self.has_ended_within(left.min(BRIEF_SLICE))?;
            if self.reap()?.is_some() || left.is_zero() || interrupt.is_over() {
                return Ok(self.ended);
            }
        }
    }

    /// Sends SIGTERM to its process group, and SIGKILL after `grace` or at a second ^C. Waits until it has ended.
    pub fn end(&mut self, grace: Duration, interrupt: &Interrupt) -> Result<Ended, Error> {
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        // The leader is still a zombie, so the number of the group cannot have been reused.
        let _ = child::signal_group(self.pid, Signal::Terminate);
        match self.wait(grace, &Patience::UntilSecond(interrupt))? {
            Some(ended) => Ok(ended),
            None => self.kill(),
        }
    }

    /// Ends it, and kills what it has left in its process group.
    pub fn end_with_group(&mut self, grace: Duration, interrupt: &Interrupt) -> Result<Ended, Error> {
        let ended = self.end(grace, interrupt)?;
        // The number of the group is not reused as long as a process is in it.
        let _ = child::signal_group(self.pid, Signal::Kill);
        Ok(ended)
    }

    /// Sends SIGKILL to its process group, and waits until it has ended.
    pub fn kill(&mut self) -> Result<Ended, Error> {
        loop {
            if let Some(ended) = self.ended {
                return Ok(ended);
            }
            let _ = child::signal_group(self.pid, Signal::Kill);
            self.has_ended_within(SLICE)?;
            self.reap()?;
        }
    }

    fn wait_error(&self, error: unspin_sys::Errno) -> Error {
        Error::Environment(format!("cannot wait for process {}: {error}", self.pid))
    }
}

/// Which ^C ends a wait.
#[derive(Clone, Copy, Debug)]
pub enum Patience<'a> {
    /// The first.
    UntilFirst(&'a Interrupt),
    /// The second.
    UntilSecond(&'a Interrupt),
}

impl Patience<'_> {
    /// Whether that ^C has come.
    pub fn is_over(&self) -> bool {
        match self {
            Patience::UntilFirst(interrupt) => interrupt.has_come(),
            Patience::UntilSecond(interrupt) => interrupt.has_come_again(),
        }
    }
}
