//! Results as JSON, and as pages that contain this JSON.

use crate::error::Error;
use crate::output::outfile;
use serde::Serialize;
use std::error;
use std::io;
use std::path::Path;

/// Writes a result as JSON.
pub fn write_json(document: &impl Serialize, file: &Path) -> Result<(), Error> {
    let mut text = serde_json::to_string_pretty(document)
        .map_err(|e| Error::at(file, "the result cannot be written as JSON", e))?;
    text.push('\n');
    outfile::write(file, text.as_bytes())
}

/// Writes a result as the page that `page` makes of its JSON.
pub fn write_page<E>(
    document: &impl Serialize,
    file: &Path,
    page: impl FnOnce(&str) -> Result<String, E>,
) -> Result<(), Error>
where
    E: Into<Box<dyn error::Error + Send + Sync>>,
{
    let shown = |e: io::Error| Error::at(file, "the result cannot be shown as a page", e);
    let json = serde_json::to_string(document).map_err(|e| shown(e.into()))?;
    let page = page(&json).map_err(|e| shown(io::Error::other(e)))?;
    outfile::write(file, page.as_bytes())
}
