//! What the environment says about executors: variables that the operator of a program sets, or `unspin` for it.
//!
//! | variable | means |
//! |---|---|
//! | `UNSPIN_RUNQUEUE` | the run queue of every executor of the process, whatever its [`Builder`](crate::Builder) says |
//! | `UNSPIN_RECORD` | the meter's recording, for executors without a recording of their own |
//! | `UNSPIN_TALLY` | the file in which every executor is counted, by its run queue |
//!
//! An empty variable counts as unset. A program with more privileges than its caller (set-uid) reads none of them.

use crate::lock::Recorder;
use crate::queue::{Policy, UnknownPolicy};
use core::fmt;
use std::env;
use std::ffi::{CString, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use unspin_sys::{fault, process};
use unspin_wire::environment::{RECORD, RUN_QUEUE, TALLY};
use unspin_wire::{Recording, Tally, TallyCount};

/// Error: `UNSPIN_RUNQUEUE` names no run queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownRunQueue {
    /// The variable's value.
    pub value: OsString,
}

impl fmt::Display for UnknownRunQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{RUN_QUEUE}={}: {UnknownPolicy}", self.value.to_string_lossy())
    }
}

impl std::error::Error for UnknownRunQueue {}

/// The run queue that the environment names; none if it leaves the choice to the program.
///
/// `UNSPIN_RUNQUEUE=global` or `UNSPIN_RUNQUEUE=percpu` overrides [`Builder::policy`](crate::Builder::policy). An empty
/// variable counts as unset.
///
/// # Errors
/// If the variable has another value.
pub fn environment_policy() -> Result<Option<Policy>, UnknownRunQueue> {
    let Some(value) = value(RUN_QUEUE) else { return Ok(None) };
    let policy = value.to_str().and_then(|name| name.parse().ok());
    policy.map(Some).ok_or(UnknownRunQueue { value })
}

/// A recorder for the recording that the environment names, if it names one that can be opened.
///
/// The process opens the recording once, and keeps it until its end: it is memory that other processes read, so what was
/// recorded stays however the process ends.
pub(crate) fn recorder() -> Option<Recorder> {
    static RECORDING: OnceLock<Option<Recording>> = OnceLock::new();
    let opened = RECORDING.get_or_init(|| open(&PathBuf::from(value(RECORD)?)));
    opened.as_ref().map(Recorder::second)
}

fn open(path: &Path) -> Option<Recording> {
    let is_gone = || path.parent().is_some_and(is_missing);
    match Recording::open(path) {
        Ok(recording) => {
            // If the handler cannot be installed, a recording that shrinks ends the process.
            let _ = fault::survive_shrinking();
            Some(recording)
        }
        // Its creator has removed it: this process outlives `unspin meter`.
        Err(_) if is_gone() => None,
        // The program works without it, but the operator has asked for it.
        Err(error) => {
            eprintln!("unspin-runqueue: nothing is recorded in {}: {error}", path.display());
            None
        }
    }
}

fn is_missing(folder: &Path) -> bool {
    folder.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Counts an executor with this run queue, if the environment names a tally.
pub(crate) fn count(policy: Policy) {
    let path = value(TALLY).and_then(|path| CString::new(path.into_vec()).ok());
    // Without it `unspin` reports that no run queue was used.
    if let Some(tally) = path.and_then(|path| Tally::open(&path).ok()) {
        tally.add(match policy {
            Policy::Global => TallyCount::GlobalRunQueues,
            Policy::PerCpu => TallyCount::PerCpuRunQueues,
        });
    }
}

fn value(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty() && !process::is_secure_execution())
}
