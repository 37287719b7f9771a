//! A program that runs.

use crate::Outcome;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// After this long a program is taken to hang. No test asserts a time: the longest takes seconds, and minutes where
/// twenty programs share a CPU with it, since the spin lock of the engine `global` must wait for its turn each time.
const HANGS_AFTER: Duration = Duration::from_secs(300);

/// A program that was started. It and its children are killed if this is dropped before their end.
#[derive(Debug)]
pub struct Running {
    pub(crate) child: Child,
    /// The command, and the world that it runs in.
    pub(crate) name: String,
    pub(crate) directory: tempfile::TempDir,
}

impl Running {
    /// Waits for the end.
    ///
    /// # Panics
    /// If the program hangs; then it and its children are killed.
    pub fn output(mut self) -> Outcome {
        match self.wait() {
            Some(status) => self.outcome(status),
            None => {
                let status = self.kill();
                panic!("{} hangs: {}", self.name, self.outcome(status))
            }
        }
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: i32) {
        // SAFETY: the child is not reaped yet, since that takes this value, so the id is its own.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    /// Whether it has not ended yet.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    fn outcome(&self, status: ExitStatus) -> Outcome {
        let read = |name: &str| {
            let path = self.directory.path().join(name);
            String::from_utf8_lossy(&std::fs::read(path).expect("it was made at the start")).into_owned()
        };
        Outcome { stdout: read("stdout"), stderr: read("stderr"), status }
    }

    /// The status; none after too long a time.
    fn wait(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + HANGS_AFTER;
        let mut pause = Duration::from_micros(200);
        loop {
            let status = self.child.try_wait().expect("the child is ours");
            if status.is_some() || Instant::now() > deadline {
                return status;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    fn kill(&mut self) -> ExitStatus {
        // SAFETY: the group was made for this child, which is not reaped yet, so the id is still its own.
        unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
        self.child.wait().expect("the child is ours")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.runs() {
            self.kill();
        }
    }
}
