//! How readers and writers tell the main thread of their process that they have ended.

use std::io::Result;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

/// When a reader or writer ended, or why it failed.
pub type End = std::result::Result<Instant, String>;

/// Reports the end of one reader or writer. If it is dropped without a report, its holder has panicked.
#[derive(Debug)]
pub struct EndReport {
    to: SyncSender<End>,
    /// The name of the reader or writer, for messages.
    name: String,
    is_done: bool,
}

/// A channel for the ends of `count` readers and writers. No report waits.
pub fn ends(count: usize) -> (SyncSender<End>, Receiver<End>) {
    sync_channel(count)
}

impl EndReport {
    /// For the reader or writer with this name.
    pub fn new(to: &SyncSender<End>, name: String) -> EndReport {
        EndReport { to: to.clone(), name, is_done: false }
    }

    /// It has ended.
    pub fn send(mut self, outcome: Result<()>) {
        let end = outcome.map(|()| Instant::now()).map_err(|e| format!("{}: {e}", self.name));
        self.is_done = true;
        // The receiver is gone if the run has failed already.
        let _ = self.to.send(end);
    }
}

impl Drop for EndReport {
    fn drop(&mut self) {
        if !self.is_done {
            let _ = self.to.send(Err(format!("{}: its thread or task panicked", self.name)));
        }
    }
}

/// Waits for all ends, and returns the last; fails with the first failure.
pub fn last(ends: &Receiver<End>, count: usize) -> End {
    let mut last = ends.recv().expect("a report is sent when it is dropped")?;
    for _ in 1..count {
        last = last.max(ends.recv().expect("a report is sent when it is dropped")?);
    }
    Ok(last)
}
