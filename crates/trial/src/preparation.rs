//! What must be done once before a program can run many times.

use crate::service::Service;
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;
use unspin_launch::error::Error;
use unspin_launch::output::scratch::Scratch;
use unspin_launch::program::Program;

/// Prepares a program. The result is none if the flag was set meanwhile.
pub type Prepare = dyn Fn(&AtomicBool) -> Result<Option<PreparedProgram>, Error>;

/// Prepares a program once for all runs, for example by populating its database.
pub struct Preparation {
    /// What the lines of progress say meanwhile.
    pub phase: &'static str,
    /// Prepares the program.
    pub prepare: Box<Prepare>,
}

/// A program that was prepared, or the server that it loads.
pub struct PreparedProgram {
    /// What is judged.
    pub program: Program,
    /// The commands around the program, if it is a server.
    pub service: Option<Service>,
    /// The workload whose figure is compared.
    pub workload: &'static str,
    /// A command to which a plan can be applied when the prepared files are gone. None for the command of the settings.
    pub applied_to: Option<Vec<OsString>>,
    /// Has the prepared files, until this is dropped.
    pub scratch: Scratch,
}
