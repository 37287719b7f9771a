//! `unspin page`.

use crate::options::PageOptions;
use crate::stored;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::output::outfile;

/// Reads a stored result, and writes it as a page, as JSON, or both.
pub fn run(options: &PageOptions) -> Result<ExitCode, Error> {
    let PageOptions { result, output, json } = options;
    let outputs = [("--output", output.as_deref()), ("--json", json.as_deref())];
    outfile::refuse_replacing("a result", std::slice::from_ref(result), &outputs)?;
    outfile::try_files(&outputs)?;
    let text = stored::text(result, stored::ANY)?;
    let page = unspin_page::page(&text).map_err(|e| stored::refused(result, &text, &e, stored::ANY))?;
    if let Some(file) = output {
        outfile::write(file, page.as_bytes())?;
    }
    if let Some(file) = json {
        let document = unspin_page::document(&text);
        outfile::write(file, format!("{}\n", document.trim_end()).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}
