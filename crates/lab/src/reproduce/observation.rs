//! A command line of unspin that a report shows, and what it printed. No verdict judges it.

use serde::Serialize;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use unspin_launch::command::lab;
use unspin_launch::error::Error;
use unspin_launch::output::captured::{CapturedOutput, with_output};
use unspin_report::shell_line;
use unspin_sys::child::{self, End, Signal};
use unspin_trial::Interrupt;

/// What is run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Observation {
    /// What it shows, in a few words.
    pub what: &'static str,
    /// The words of the command line, of which the first is `unspin`.
    pub command: Vec<String>,
    /// The longest time that it may take.
    #[serde(skip)]
    pub limit: Duration,
}

/// A command line that has run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Observed {
    /// What was run.
    #[serde(flatten)]
    pub observation: Observation,
    /// Its standard error, and its standard output.
    pub output: String,
}

/// Bytes of output that are kept, of its end.
const OUTPUT_MAX: u64 = 1 << 20;
/// Time to end after a signal.
const LAST_WORDS: Duration = Duration::from_secs(10);
/// The longest wait between two looks at ^C.
const SLICE: Duration = Duration::from_millis(200);

impl Observation {
    /// Runs it. None if ^C ended it.
    pub fn run(self, interrupt: &Interrupt) -> Result<Option<Observed>, Error> {
        let unspin = lab::find_unspin()?;
        let mut output = CapturedOutput::new()?;
        let mut command = Command::new(&unspin);
        command.args(&self.command[1..]).stdin(Stdio::null());
        command.stdout(output.stdout()?).stderr(output.stderr()?);
        child::signal_on_parent_death(&mut command, Signal::Terminate);
        let process = command.spawn().map_err(|error| Error::not_started(&unspin, &error))?;
        let how = match wait(process.id(), self.limit, interrupt)? {
            Some(End::Exited(0)) => {
                let output = output.text(OUTPUT_MAX);
                return Ok(Some(Observed { observation: self, output }));
            }
            // It may have got the signal, too.
            _ if interrupt.has_come() => return Ok(None),
            None => {
                format!("did not end within {} s: wait until this machine is less busy", self.limit.as_secs())
            }
            Some(End::Exited(code)) => format!("ended with exit code {code}"),
            Some(End::Killed(signal)) => format!("was killed by signal {signal}"),
        };
        let how = format!("{} {how}", shell_line(&self.command));
        Err(Error::Environment(with_output(how, &output.tail())))
    }
}

/// How the process ended; none if it was ended, at its limit or by ^C.
fn wait(pid: u32, limit: Duration, interrupt: &Interrupt) -> Result<Option<End>, Error> {
    let failed =
        |errno: unspin_sys::Errno| Error::Environment(format!("cannot wait for process {pid}: {errno}"));
    let mut until = Instant::now() + limit;
    let mut ended_by: Option<Signal> = None;
    loop {
        if let Some(ended) = child::wait_for(pid, SLICE).map_err(failed)? {
            return Ok(ended_by.is_none().then_some(ended.end));
        }
        let is_over = Instant::now() >= until;
        let signal = match ended_by {
            None if is_over || interrupt.has_come() => Signal::Terminate,
            Some(_) if is_over => Signal::Kill,
            _ => continue,
        };
        // It may have ended.
        let _ = child::signal(pid, signal);
        (ended_by, until) = (Some(signal), Instant::now() + LAST_WORDS);
    }
}
