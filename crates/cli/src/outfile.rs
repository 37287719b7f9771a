//! Files that the user wants results in.

use crate::error::Error;
use std::fs::{self, OpenOptions};
use std::path::Path;

/// Finds out, before anything is measured, whether a file can be written. What it holds stays until then. `option` is
/// what asked for it.
pub fn try_file(option: &str, file: &Path) -> Result<(), Error> {
    let opened = OpenOptions::new().append(true).create(true).open(file);
    opened.map(drop).map_err(|e| Error::Usage(format!("{option} {}: {e}", file.display())))
}

/// Writes it.
pub fn write(file: &Path, contents: &[u8]) -> Result<(), Error> {
    fs::write(file, contents).map_err(|e| Error::at(file, "the result cannot be written here", e))
}
