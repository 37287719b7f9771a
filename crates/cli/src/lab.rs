//! `unspin volano`, `unspin dbt1`, `unspin reproduce`, `unspin vm`: unspin becomes the program `unspin-lab`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;
use unspin_launch::command::lab;
use unspin_launch::error::Error;
use unspin_launch::program::{Program, inheriting};
use unspin_wire::environment::EXECUTABLE;

/// Becomes the program, with the words of a command line behind `unspin`. Returns only if that fails.
pub fn run(command: &str, arguments: &[OsString]) -> Result<ExitCode, Error> {
    let file = lab::find(command)?;
    let words = [command.into()].into_iter().chain(arguments.iter().cloned());
    let name = file.file_name().unwrap_or_default().to_owned();
    let program = Program { name, arguments: words.collect(), ..Program::at(&file) };
    let mut program = inheriting(program.command());
    program.env_remove(EXECUTABLE);
    // A file that has been removed since the start has no path that the program could use.
    if let Some(own) = std::env::current_exe().ok().filter(|own| own.exists()) {
        program.env(EXECUTABLE, own);
    }
    Err(Error::not_started(&file, &program.exec()))
}
