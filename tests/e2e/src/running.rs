//! A program that runs.

use crate::Outcome;
use crate::eventually::{HANGS_AFTER, eventually, within};
use std::process::{Child, ExitStatus};

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

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to standard error so far.
    pub fn stderr(&self) -> String {
        self.read("stderr")
    }

    /// Waits until it has written `text` to standard error. Returns false if it ended without that.
    pub fn await_stderr(&mut self, text: &str) -> bool {
        let what = format!("{}: {text}", self.name);
        eventually(what, || {
            let runs = self.runs();
            let written = self.stderr().contains(text);
            (written || !runs).then_some(written)
        })
    }

    /// Whether it has not ended yet.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    fn outcome(&self, status: ExitStatus) -> Outcome {
        Outcome { stdout: self.read("stdout"), stderr: self.read("stderr"), status }
    }

    fn read(&self, name: &str) -> String {
        let path = self.directory.path().join(name);
        String::from_utf8_lossy(&std::fs::read(path).expect("it was made at the start")).into_owned()
    }

    /// The status; none after too long a time.
    fn wait(&mut self) -> Option<ExitStatus> {
        within(HANGS_AFTER, || self.child.try_wait().expect("the child is ours"))
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
