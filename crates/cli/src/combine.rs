//! `unspin combine`: reads the results, writes the verdict.

use crate::options::{self, CombineOptions};
use crate::stored;
use std::process::ExitCode;
use unspin_combine::{HostResult, Markdown, Text, combine};
use unspin_launch::error::Error;
use unspin_launch::output::{document, outfile};
use unspin_report::shell_line;
use unspin_stats::Conclusion;

/// Combines the results that the command line names. Each is needed: a fleet without the hosts that cannot be read would be
/// another fleet.
pub fn run(options: &CombineOptions) -> Result<ExitCode, Error> {
    let [json, html, markdown] = [&options.json, &options.html, &options.markdown].map(Option::as_deref);
    let outputs = [("--json", json), ("--html", html), ("--markdown", markdown)];
    outfile::try_files(&outputs)?;
    outfile::refuse_replacing("a result", &options.files, &outputs)?;
    let read = |file| stored::proof(file, "combine").map(|(file, proof)| HostResult::new(file, proof));
    let results = options.files.iter().map(|file| read(file)).collect::<Result<Vec<HostResult>, Error>>()?;
    let mut combined = combine(results, options.hosts, stored::build())
        .map_err(|mismatch| Error::Usage(mismatch.to_string()))?;
    combined.repeat = Some(shell_line(&options::repeat::words()));
    let written = [
        json.map(|file| document::write_json(&combined, file)),
        html.map(|file| document::write_page(&combined, file, unspin_page::page)),
        markdown.map(|file| outfile::write(file, Markdown(&combined).to_string().as_bytes())),
    ];
    if !options.quiet {
        outfile::print_report(&Text(&combined).to_string(), &[json, html, markdown])?;
    }
    written.into_iter().flatten().collect::<Result<(), Error>>()?;
    Ok(exit_code(combined.conclusion))
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
