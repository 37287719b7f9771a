//! `unspin compare`: reads the results, writes the comparison.

use crate::options::CompareOptions;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unspin_comparison::{Conclusion, GateOutcome, Markdown, ResultComparison, Session, Text};
use unspin_launch::error::Error;
use unspin_launch::machine::Build;
use unspin_launch::output::{outfile, shell};
use unspin_results::{StoredBuild, StoredResult};

const WORSE: u8 = 1;
const NOT_PROVEN: u8 = 3;
const FAILED: u8 = 4;

/// Compares the results that the command line names.
pub fn run(options: &CompareOptions) -> Result<ExitCode, Error> {
    let (json, markdown) = (options.json.as_deref(), options.markdown.as_deref());
    outfile::try_files(&[("--json", json), ("--markdown", markdown)])?;
    refuse_overwriting(options)?;
    let [before, after] = options.sides();
    let (before, after) = (read_all(before)?, read_all(after)?);
    let build = StoredBuild { version: Build::THIS.version.into(), commit: Build::THIS.commit.into() };
    let result = ResultComparison::of(&before, &after, &options.into(), build)
        .map_err(|incomparable| Error::Usage(incomparable.to_string()))?;
    if let Some(file) = json {
        let mut text = serde_json::to_string_pretty(&result)
            .map_err(|e| Error::at(file, "the result cannot be written as JSON", e))?;
        text.push('\n');
        outfile::write(file, text.as_bytes())?;
    }
    if let Some(file) = markdown {
        outfile::write(file, Markdown(&result).to_string().as_bytes())?;
    }
    if !options.quiet {
        outfile::print_report(&Text(&result).to_string(), &[json, markdown])?;
    }
    Ok(ExitCode::from(exit_code(&result)))
}

/// The exit code, as docs/exit-codes.md has it.
fn exit_code(result: &ResultComparison) -> u8 {
    match (result.conclusion, &result.gate) {
        (Conclusion::Failed, _) => FAILED,
        (_, Some(gate)) => match gate.outcome {
            GateOutcome::Exceeded => WORSE,
            GateOutcome::Unsure if gate.fails_if_unsure => NOT_PROVEN,
            GateOutcome::Unsure | GateOutcome::Kept => 0,
        },
        (Conclusion::Better, None) => 0,
        (Conclusion::Worse, None) => WORSE,
        (Conclusion::NothingProven, None) => NOT_PROVEN,
    }
}

/// Refuses an output that is one of the results, which it would replace.
fn refuse_overwriting(options: &CompareOptions) -> Result<(), Error> {
    let outputs = [("--json", options.json.as_deref()), ("--markdown", options.markdown.as_deref())];
    let inputs = options.sides().concat();
    outputs.iter().try_for_each(|output| {
        inputs
            .iter()
            .try_for_each(|input| outfile::refuse_same_file(&[("a result", Some(input.as_path())), *output]))
    })
}

fn read_all(files: &[PathBuf]) -> Result<Vec<Session>, Error> {
    files.iter().map(|file| read(file)).collect()
}

fn read(file: &Path) -> Result<Session, Error> {
    let name = shell::on_one_line(file);
    let wrong = |why: &dyn std::fmt::Display| Error::Usage(format!("{name}: {why}"));
    let text = fs::read_to_string(file).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            wrong(&"there is no such file (`unspin prove --json FILE` writes one)")
        }
        std::io::ErrorKind::InvalidData => wrong(&"is not a result of unspin: write one with --json"),
        _ => wrong(&e),
    })?;
    match StoredResult::parse(&text).map_err(|error| wrong(&error))? {
        StoredResult::Proof(proof) => Ok(Session { file: name.clone(), proof: *proof }),
        StoredResult::Scale(_) => Err(wrong(&ONLY_PROOFS.replace("COMMAND", "scale"))),
        StoredResult::Meter(_) => Err(wrong(&ONLY_PROOFS.replace("COMMAND", "meter"))),
    }
}

const ONLY_PROOFS: &str =
    "is a result of `unspin COMMAND`, which has no verdicts: compare results of `unspin prove --json`";
