//! `unspin library`.

use crate::options::LibraryOptions;
use std::process::ExitCode;
use unspin_launch::error::Error;

/// Writes the preload library to a file.
pub fn run(options: &LibraryOptions) -> Result<ExitCode, Error> {
    unspin_launch::library::write(&options.output)?;
    Ok(ExitCode::SUCCESS)
}
