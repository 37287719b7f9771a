//! What can fail, with the exit code.

use std::fmt::{self, Display, Formatter};
use std::process::ExitCode;

/// A failure of unspin-sched: what failed, and the remedy.
#[derive(Debug)]
pub enum Error {
    /// The kernel has ended the scheduler.
    Ejected(String),
    /// The scheduler was not loaded, or unspin-sched itself failed.
    Failed(String),
    /// The command cannot be executed.
    NotExecutable(String),
    /// The command does not exist.
    NotFound(String),
}

impl Error {
    /// The exit code: see docs/exit-codes.md.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Error::Ejected(_) => 124,
            Error::Failed(_) => 125,
            Error::NotExecutable(_) => 126,
            Error::NotFound(_) => 127,
        })
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (Error::Ejected(text) | Error::Failed(text) | Error::NotExecutable(text) | Error::NotFound(text)) =
            self;
        f.write_str(text)
    }
}
