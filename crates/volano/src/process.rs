//! A process of the benchmark: server or client. It dies with the master.

use crate::Error;
use std::fmt;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::panic;
use std::time::Duration;
use unspin_sys::child::{self, End, Signal};
use unspin_sys::process;

/// The exit code after a panic, as Rust programs have it.
const PANICKED: i32 = 101;

/// A process, which is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    name: &'static str,
    pid: u32,
    /// What it tells the master before it ends, in one line.
    told: PipeReader,
    /// Once it has been waited for.
    ended: Option<Ended>,
}

/// How a process ended.
#[derive(Debug)]
pub struct Ended {
    name: &'static str,
    /// It did its work.
    pub is_success: bool,
    end: End,
    /// What it told the master.
    pub told: String,
}

impl Process {
    /// Forks a process, which does the work and tells its result or failure. The calling process must have only one
    /// thread.
    pub fn fork(name: &'static str, work: impl FnOnce() -> Result<String, String>) -> Result<Process, Error> {
        let cannot = |e| Error::System(format!("cannot start the {name}"), e);
        let (told, tell) = std::io::pipe().map_err(cannot)?;
        let master = process::pid();
        let pid = child::fork(|| {
            if child::die_with_parent(master).is_err() {
                return 1;
            }
            end_with_panics(name, &tell);
            let outcome = work();
            let is_success = outcome.is_ok();
            let (Ok(text) | Err(text)) = outcome;
            // The master is gone if nothing reads it.
            let _ = (&tell).write_all(text.as_bytes());
            i32::from(!is_success)
        });
        let pid = pid.map_err(|e| cannot(e.into()))?;
        Ok(Process { name, pid, told, ended: None })
    }

    /// Waits at most this long for its end.
    pub fn ended_within(&mut self, time: Duration) -> Result<Option<&Ended>, Error> {
        if self.ended.is_none() {
            self.ended = self.wait(time)?;
        }
        Ok(self.ended.as_ref())
    }

    fn wait(&mut self, time: Duration) -> Result<Option<Ended>, Error> {
        let cannot = |e: std::io::Error| Error::System("cannot wait for a process".into(), e);
        let Some(ended) = child::wait_for(self.pid, time).map_err(|e| cannot(e.into()))? else {
            return Ok(None);
        };
        let mut told = String::new();
        // Its end is closed by now, so this does not wait. What is not a text is left out.
        let _ = self.told.read_to_string(&mut told);
        let is_success = ended.end == End::Exited(0);
        Ok(Some(Ended { name: self.name, is_success, end: ended.end, told }))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended.is_some() {
            return;
        }
        // It has not been waited for, so the pid is still its own.
        let _ = child::signal(self.pid, Signal::Kill);
        while let Ok(None) = child::wait_for(self.pid, Duration::from_secs(1)) {}
    }
}

/// Why a process failed.
impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        match self.end {
            _ if !self.told.is_empty() => f.write_str(self.told.lines().next().unwrap_or_default()),
            End::Exited(code) => write!(f, "the {name} ended with code {code}"),
            End::Killed(signal) => write!(f, "the {name} was killed by signal {signal}"),
        }
    }
}

/// From now on a panic of any thread ends the process, after its message has been told to the master in one line. To
/// unwind is not enough: a runtime of tasks that cannot start its threads panics, and then waits for them.
fn end_with_panics(name: &'static str, tell: &PipeWriter) {
    let Ok(tell) = tell.try_clone() else { return };
    panic::set_hook(Box::new(move |panic| {
        let text = panic.to_string().replace('\n', " ");
        let _ = writeln!(&tell, "the {name} {text}");
        std::process::exit(PANICKED);
    }));
}
