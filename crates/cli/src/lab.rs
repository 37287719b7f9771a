//! `unspin volano`, `unspin dbt1`: unspin becomes the program `unspin-lab`.

use std::ffi::OsString;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::program::Program;

/// Becomes the program, with the words of a command line behind `unspin`. Returns only if that fails.
pub fn run(command: &str, arguments: &[OsString]) -> Result<ExitCode, Error> {
    let words: Vec<OsString> = [command.into()].into_iter().chain(arguments.iter().cloned()).collect();
    Err(Program::find_any(&words)?.execute())
}
