//! `unspin combine`: results of one comparison from many hosts, as one verdict.
//!
//! 1. `host` reads the files of `unspin prove --json`, and names their hosts.
//! 2. `sameness` refuses results that do not belong together, and a session that is named twice. `compiled` compares the plans
//!    of the candidates.
//! 3. `fleet` has what was measured where: hosts that failed, candidates that are missing or failed on some host, and the
//!    analysis of `unspin_stats::fleet`. `cpu_limit` is the strictest of the hosts. `group` looks for the property of hosts on which
//!    the effect depends.
//! 4. `sentence` says it; `text`, `markdown` and `json` are the outputs.
#![forbid(unsafe_code)]

mod compiled;
mod cpu_limit;
mod fleet;
mod format;
mod group;
mod host;
mod json;
mod markdown;
mod next;
mod sameness;
mod sentence;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;

use fleet::Fleet;
use std::path::PathBuf;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::output::outfile;
use unspin_stats::Conclusion;

/// What to combine.
#[derive(Clone, Debug, Default)]
pub struct CombineSettings {
    /// Results of `unspin prove --json`, one for each host.
    pub files: Vec<PathBuf>,
    /// Number of hosts that were to measure.
    pub hosts: Option<u32>,
    /// File for all results as JSON.
    pub json: Option<PathBuf>,
    /// File for the report as Markdown.
    pub markdown: Option<PathBuf>,
}

/// Combines the results, and prints the report.
pub fn run(settings: &CombineSettings) -> Result<ExitCode, Error> {
    let CombineSettings { json, markdown, .. } = settings;
    let (json, markdown) = (json.as_deref(), markdown.as_deref());
    let results = host::read(&settings.files)?;
    sameness::check(&results)?;
    let expected = settings.hosts.unwrap_or(results.len() as u32);
    if results.len() > expected as usize {
        return Err(Error::Usage(format!(
            "--hosts {expected}: {} results are named: give the number of hosts that were to measure",
            results.len()
        )));
    }
    outfile::try_files(&[("--json", json), ("--markdown", markdown)])?;
    let fleet = Fleet::of(results, expected);
    outfile::print_report(&text::report(&fleet), &[json, markdown])?;
    if let Some(file) = markdown {
        outfile::write(file, markdown::report(&fleet).as_bytes())?;
    }
    if let Some(file) = json {
        json::write(&fleet, file)?;
    }
    Ok(exit_code(fleet.conclusion()))
}

/// That of `unspin prove`.
fn exit_code(conclusion: Conclusion) -> ExitCode {
    ExitCode::from(match conclusion {
        Conclusion::Faster => 0,
        Conclusion::Slower => 1,
        Conclusion::NothingProven => 3,
        Conclusion::Failed => 4,
        Conclusion::OverCpuLimit => 5,
    })
}
