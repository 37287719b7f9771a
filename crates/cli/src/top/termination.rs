//! The end of a program that somebody asked for.

use std::time::{Duration, Instant};
use unspin_sys::child::{self, Signal};

/// Between SIGTERM and SIGKILL: what service managers and container engines think a program needs to tidy up lies between
/// this and a minute, and somebody is waiting.
pub const GRACE: Duration = Duration::from_secs(5);

/// A program that has been sent SIGTERM.
pub struct Termination {
    /// The program, and its process group.
    pid: u32,
    /// When it is killed, unless that has happened.
    kill_at: Option<Instant>,
}

impl Termination {
    /// Sends SIGTERM to the program and what it has started.
    pub fn begin(pid: u32) -> Termination {
        send(pid, Signal::Terminate);
        Termination { pid, kill_at: Some(Instant::now() + GRACE) }
    }

    /// Sends SIGKILL when the time has come.
    pub fn check(&mut self) {
        if self.kill_at.is_some_and(|at| Instant::now() >= at) {
            self.kill();
        }
    }

    /// Sends SIGKILL.
    pub fn kill(&mut self) {
        self.kill_at = None;
        send(self.pid, Signal::Kill);
    }
}

fn send(pid: u32, signal: Signal) {
    // It may have ended this moment, and then there is nobody to tell.
    let _ = child::signal_group(pid, signal);
}
