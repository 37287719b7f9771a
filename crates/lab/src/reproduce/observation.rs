//! A command line of unspin that a report shows, and what it printed. No verdict judges it.

use serde::Serialize;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use unspin_launch::command::lab;
use unspin_launch::error::Error;
use unspin_launch::output::captured::CapturedOutput;
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
            None if interrupt.has_come() => return Ok(None),
            None => format!("did not end within {} s", self.limit.as_secs()),
            Some(End::Exited(code)) => format!("ended with exit code {code}"),
            Some(End::Killed(signal)) => format!("was killed by signal {signal}"),
        };
        let last = output.tail().lines().last().map_or(String::new(), |line| format!(", {line}"));
        Err(Error::Environment(format!("{} {how}{last}", shell_line(&self.command))))
    }
}

/// How the process ended; none if it was ended, at its limit or by ^C.
fn wait(pid: u32, limit: Duration, interrupt: &Interrupt) -> Result<Option<End>, Error> {
    let failed =
        |errno: unspin_sys::Errno| Error::Environment(format!("cannot wait for process {pid}: {errno}"));
    let until = Instant::now() + limit;
    let mut is_ended = false;
    loop {
        if let Some(ended) = child::wait_for(pid, SLICE).map_err(failed)? {
            return Ok((!is_ended).then_some(ended.end));
        }
        if !is_ended && (interrupt.has_come() || Instant::now() >= until) {
            is_ended = true;
            // It may have ended.
            let _ = child::signal(pid, Signal::Terminate);
        }
    }
}
