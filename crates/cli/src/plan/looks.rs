//! `unspin plan looks`.

use crate::options::PlanLooks;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::machine::looks;
use unspin_launch::output::{outfile, stderr, stdout};
use unspin_wire::environment::LOOKS;

/// Prints, or writes to a file, which system calls of a poll are permitted to this process and to those beside it in a container or a
/// unit. Starts no other program, and needs no folder for a library.
pub fn looks(options: &PlanLooks) -> Result<ExitCode, Error> {
    let found = looks::poll_support();
    let why = found.shortcomings();
    let Some(value) = found.variable() else {
        return Err(Error::Environment(format!("no wait polls here: {}", why.unwrap_or_default())));
    };
    if let Some(why) = why {
        stderr::say(format_args!("{why}"));
    }
    let line = format!("{LOOKS}={value}\n");
    match &options.output {
        Some(file) if file.as_os_str() != "-" => outfile::write_for_all(file, line.as_bytes(), 0o644)?,
        _ => stdout::print(&line)?,
    }
    Ok(ExitCode::SUCCESS)
}
