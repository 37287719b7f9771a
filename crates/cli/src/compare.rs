//! `unspin compare`: reads the results, writes the comparison.

use crate::options::{self, CompareOptions};
use crate::stored;
use std::path::PathBuf;
use std::process::ExitCode;
use unspin_comparison::{Markdown, Session, Text, compare};
use unspin_launch::error::Error;
use unspin_launch::output::{document, outfile};
use unspin_report::shell_line;
use unspin_results::{ComparisonConclusion, GateOutcome, ResultComparison};

const WORSE: u8 = 1;
const NOT_PROVEN: u8 = 3;
const FAILED: u8 = 4;

/// Compares the results that the command line names.
pub fn run(options: &CompareOptions) -> Result<ExitCode, Error> {
    let [json, html, markdown] = [&options.json, &options.html, &options.markdown].map(Option::as_deref);
    let outputs = [("--json", json), ("--html", html), ("--markdown", markdown)];
    let [before, after] = options.sides();
    outfile::try_files(&outputs)?;
    outfile::refuse_replacing("a result", &[before, after].concat(), &outputs)?;
    let (before, after) = (read_all(before)?, read_all(after)?);
    let mut result = compare(&before, &after, &options.into(), stored::build())
        .map_err(|incomparable| Error::Usage(incomparable.to_string()))?;
    result.repeat = Some(shell_line(&options::repeat::words()));
    let written = [
        json.map(|file| document::write_json(&result, file)),
        html.map(|file| document::write_page(&result, file, unspin_page::page)),
        markdown.map(|file| outfile::write(file, Markdown(&result).to_string().as_bytes())),
    ];
    if !options.quiet {
        outfile::print_report(&Text(&result).to_string(), &[json, html, markdown])?;
    }
    written.into_iter().flatten().collect::<Result<(), Error>>()?;
    Ok(ExitCode::from(exit_code(&result)))
}

/// The exit code, as docs/exit-codes.md has it.
fn exit_code(result: &ResultComparison) -> u8 {
    match (result.conclusion, &result.gate) {
        (ComparisonConclusion::Failed, _) => FAILED,
        (_, Some(gate)) => match gate.outcome {
            GateOutcome::Exceeded => WORSE,
            GateOutcome::Unsure if gate.fails_if_unsure => NOT_PROVEN,
            GateOutcome::Unsure | GateOutcome::Kept => 0,
        },
        (ComparisonConclusion::Better, None) => 0,
        (ComparisonConclusion::Worse, None) => WORSE,
        (ComparisonConclusion::NothingProven, None) => NOT_PROVEN,
    }
}

fn read_all(files: &[PathBuf]) -> Result<Vec<Session>, Error> {
    let read = |file: &PathBuf| stored::proof(file, "compare").map(|(file, proof)| Session { file, proof });
    files.iter().map(read).collect()
}
