//! What the main thread of each program of unspin does around its command.

use crate::error::Error;
use crate::output::stderr;
use std::process::ExitCode;
use unspin_sys::{fault, stack};

/// Bytes of the stack that every command may use: the parser of the command line alone uses hundreds of KiB.
const STACK_BYTES: usize = 4 << 20;

/// Performs the command on a stack that is large enough. If it fails, prints the reason on standard error. Returns the exit
/// code of the program.
pub fn perform(command: impl FnOnce() -> Result<ExitCode, Error>) -> ExitCode {
    stack::with_at_least(STACK_BYTES, || {
        // Without this handler, a recording or a tally that shrinks ends the program. Everything else works.
        let _ = fault::survive_shrinking();
        command().unwrap_or_else(|error| {
            stderr::say(format_args!("{error}"));
            error.exit_code()
        })
    })
}
