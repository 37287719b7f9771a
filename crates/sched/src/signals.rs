//! Signals that ask this process to end.

use crate::error::Error;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::{Origin, WithOrigin};
use std::fs;

/// The signals that are caught.
const CAUGHT: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Collects the signals that come to this process.
pub struct Signals(SignalsInfo<WithOrigin>);

impl Signals {
    /// Installs the handlers. A signal that is ignored stays ignored, here and in the command: nohup(1) asks for that.
    pub fn install() -> Result<Signals, Error> {
        let ignored = ignored();
        let caught = CAUGHT.iter().filter(|&&signal| !is_in(ignored, signal));
        let installed = SignalsInfo::new(caught);
        installed.map(Signals).map_err(|error| Error::Failed(format!("signals cannot be handled: {error}")))
    }

    /// Whether a signal has come.
    pub fn have_come(&mut self) -> bool {
        self.0.pending().count() > 0
    }

    /// The signals that have come to this process, and that the command did not get.
    pub fn take_for(&mut self, command: u32) -> Vec<i32> {
        let come = self.0.pending();
        come.filter(|origin| is_for_command(origin, command)).map(|origin| origin.signal).collect()
    }
}

/// The kernel sends the signals of the keyboard to the whole process group, and SIGHUP to the session's leader. The command sends
/// its own signals to its process group, if they arrive here.
fn is_for_command(origin: &Origin, command: u32) -> bool {
    match &origin.process {
        Some(sender) => sender.pid as u32 != command,
        None => origin.signal == SIGHUP,
    }
}

/// The signals that this process ignores, bit n - 1 for signal n: proc_pid_status(5).
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.split_once("SigIgn:").and_then(|(_, rest)| rest.split_whitespace().next());
    mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or_default()
}

fn is_in(set: u64, signal: i32) -> bool {
    set >> (signal - 1) & 1 == 1
}
