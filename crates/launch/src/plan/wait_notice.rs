//! A line on standard error while something may wait for another program.

use crate::output::stderr;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A wait that takes longer is mentioned.
const QUIET: Duration = Duration::from_secs(1);

/// Prints its line once if it lives for long. After it is dropped nothing is printed, and its thread has ended.
pub struct WaitNotice {
    /// None once it is dropped; and where no thread could be started, nothing is said.
    waiting: Option<(Sender<()>, JoinHandle<()>)>,
}

impl WaitNotice {
    /// A wait begins.
    pub fn start(line: String) -> WaitNotice {
        let (over, is_over) = channel();
        let thread = thread::Builder::new().spawn(move || {
            if is_over.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
                stderr::say(format_args!("{line}"));
            }
        });
        WaitNotice { waiting: thread.ok().map(|thread| (over, thread)) }
    }
}

impl Drop for WaitNotice {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.waiting.take() {
            drop(over);
            // It does not panic.
            let _ = thread.join();
        }
    }
}
