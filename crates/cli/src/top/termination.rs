//! Ends a program at the user's request.

use std::time::{Duration, Instant};
use unspin_sys::child::{self, Signal};

/// Time between SIGTERM and SIGKILL. Service managers and container engines allow from 5 seconds to a minute; here a
/// user is waiting.
pub const GRACE: Duration = Duration::from_secs(5);

/// A program that has got SIGTERM.
pub struct Termination {
    /// The pid, and the number of the process group.
    pid: u32,
    /// When SIGKILL is due, unless it was sent.
    kill_at: Option<Instant>,
}

impl Termination {
    /// Sends SIGTERM to the program's process group.
    pub fn begin(pid: u32) -> Termination {
        send(pid, Signal::Terminate);
        Termination { pid, kill_at: Some(Instant::now() + GRACE) }
    }

    /// Sends SIGKILL if it is due.
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
    // Fails if the program has just ended.
    let _ = child::signal_group(pid, signal);
}
