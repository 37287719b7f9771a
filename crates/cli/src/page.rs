//! `unspin page`.

use crate::options::PageOptions;
use std::path::Path;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::output::{outfile, shell};

/// Reads a stored result, and writes it as a page, as JSON, or both.
pub fn run(options: &PageOptions) -> Result<ExitCode, Error> {
    let PageOptions { result, output, json } = options;
    outfile::try_files(&[("--output", output.as_deref()), ("--json", json.as_deref())])?;
    let text = std::fs::read(result).map_err(|e| unreadable(result, &e.to_string()))?;
    let text = String::from_utf8(text).map_err(|_| unreadable(result, "is not text"))?;
    let page =
        unspin_page::page(&text).map_err(|e| Error::Usage(format!("{} {e}", shell::on_one_line(result))))?;
    if let Some(file) = output {
        outfile::write(file, page.as_bytes())?;
    }
    if let Some(file) = json {
        let document = unspin_page::document(&text).trim_end();
        outfile::write(file, format!("{document}\n").as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn unreadable(result: &Path, why: &str) -> Error {
    Error::Usage(format!(
        "{}: {why}; name a file that --json or --html has written",
        shell::on_one_line(result)
    ))
}
