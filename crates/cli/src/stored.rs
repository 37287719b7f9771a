//! Results that are stored in files.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use unspin_launch::error::Error;
use unspin_launch::machine::Build;
use unspin_launch::output::{outfile, shell};
use unspin_results::{StoredBuild, StoredProof, StoredResult};

/// The text of a file.
pub fn text(file: &Path) -> Result<String, Error> {
    let hint =
        |why: &dyn Display| wrong(file, &format!("{why}; name a file that --json or --html has written"));
    let bytes = fs::read(file).map_err(|e| hint(&e))?;
    String::from_utf8(bytes).map_err(|_| hint(&"is not text"))
}

/// The result of `unspin prove` in a file, with the file's name for messages. `command` is the command of unspin that reads it.
pub fn proof(file: &Path, command: &str) -> Result<(String, StoredProof), Error> {
    match StoredResult::parse(&text(file)?).map_err(|e| wrong(file, &e))? {
        StoredResult::Proof(proof) => Ok((shell::on_one_line(file), *proof)),
        other => {
            let other = other.command();
            let why = format!(
                "is a result of `unspin {other}`: `unspin {command}` reads those of `unspin prove` (--json, --html)"
            );
            Err(wrong(file, &why))
        }
    }
}

/// Refuses an output that is one of the results, which it would replace.
pub fn refuse_overwriting(results: &[PathBuf], outputs: &[(&str, Option<&Path>)]) -> Result<(), Error> {
    let pair = |result: &PathBuf, output: &(&str, Option<&Path>)| {
        outfile::refuse_same_file(&[("a result", Some(result)), *output])
    };
    outputs.iter().try_for_each(|output| results.iter().try_for_each(|result| pair(result, output)))
}

/// The build that reads the results.
pub fn build() -> StoredBuild {
    StoredBuild { version: Build::THIS.version.into(), commit: Build::THIS.commit.into() }
}

/// A mistake of the command line, about this file.
pub fn wrong(file: &Path, why: &dyn Display) -> Error {
    Error::Usage(format!("{}: {why}", shell::on_one_line(file)))
}
