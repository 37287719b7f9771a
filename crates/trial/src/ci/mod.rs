//! What a CI system shows of a session: a summary in Markdown, and JUnit XML.

mod exit_code;
mod job_result;
mod junit;
mod markdown;
mod outcome;

use crate::report::Report;
use crate::settings::{CiSettings, ProveSettings};
use job_result::JobResult;
use std::path::Path;
use unspin_launch::error::Error;
use unspin_launch::output::outfile;

/// The variable with which GitHub Actions names a file for Markdown.
pub const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The files, each with the option or the variable that names it.
pub fn files(settings: &CiSettings) -> [(&'static str, Option<&Path>); 3] {
    [
        ("--markdown", settings.markdown.as_deref()),
        ("--junit", settings.junit.as_deref()),
        (STEP_SUMMARY, settings.step_summary.as_deref()),
    ]
}

/// Refuses `--markdown` with the file to which the summary is added anyway.
pub fn check(settings: &CiSettings) -> Result<(), Error> {
    match (settings.markdown.as_deref(), settings.step_summary.as_deref()) {
        (Some(file), Some(summary)) if outfile::are_same(file, summary) => Err(Error::Usage(format!(
            "--markdown {}: {STEP_SUMMARY} names this file, and --ci adds the summary to it: leave --markdown out",
            file.display()
        ))),
        _ => Ok(()),
    }
}

/// Writes the results of a session; `text` is the printed report. Returns the summary if it has to be printed, too.
pub fn write(report: &Report, text: &str, settings: &CiSettings) -> Result<Option<String>, Error> {
    write_result(&JobResult::of(report), text, settings)
}

/// Writes that a session could not be measured, so that a job does not end without a result.
pub fn write_without_report(why: &str, code: u8, options: &ProveSettings) -> Result<(), Error> {
    let summary = write_result(&JobResult::without_report(why, code, options), why, &options.ci)?;
    summary.map_or(Ok(()), |summary| unspin_launch::output::stdout::print(&summary))
}

fn write_result(result: &JobResult, text: &str, settings: &CiSettings) -> Result<Option<String>, Error> {
    let CiSettings { is_ci, markdown, step_summary, junit } = settings;
    let summary = markdown::summary(result);
    if let Some(file) = junit {
        outfile::write(file, junit::document(result, text).as_bytes())?;
    }
    if let Some(file) = markdown {
        outfile::write(file, summary.as_bytes())?;
    }
    if let Some(file) = step_summary {
        outfile::append(file, format!("{summary}\n").as_bytes())?;
    }
    Ok((*is_ci && markdown.is_none() && step_summary.is_none()).then_some(summary))
}
