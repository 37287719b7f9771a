//! The forms in which a report is asked for.

use crate::error::Error;
use crate::options::{Format, View};
use crate::outfile;
use std::path::Path;
use unspin_meter::Report;

/// Finds out beforehand whether the files that are asked for can be written.
pub fn try_files(view: &View) -> Result<(), Error> {
    for (option, file) in [("--json", &view.json), ("--pprof", &view.pprof)] {
        file.as_deref().map_or(Ok(()), |file| outfile::try_file(option, file))?;
    }
    Ok(())
}

/// The printed form.
pub fn text(report: &Report, view: &View) -> String {
    match view.format {
        Format::Table => report.to_string(),
        Format::Lockmeter => report.lockmeter(),
    }
}

/// Writes the files.
pub fn write_files(report: &Report, view: &View) -> Vec<Error> {
    let mut failed = Vec::new();
    if let Some(file) = &view.json {
        failed.extend(json(report, file).err());
    }
    failed
}

fn json(report: &Report, file: &Path) -> Result<(), Error> {
    let mut text = serde_json::to_string_pretty(report)
        .map_err(|e| Error::at(file, "the result cannot be written as JSON", e))?;
    text.push('\n');
    outfile::write(file, text.as_bytes())
}
