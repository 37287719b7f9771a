//! Results that are stored in files.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use unspin_launch::error::Error;
use unspin_launch::machine::Build;
use unspin_launch::output::shell;
use unspin_launch::plan::PlanFile;
use unspin_results::{ParseError, StoredBuild, StoredProof, StoredResult};

/// Results of any command, in messages.
pub const ANY: &str = "--json or --html";
/// Those of `unspin prove`.
const OF_PROVE: &str = "`unspin prove` (--json, --html)";

/// The text of a file. `writer` is what should have written it, for messages.
pub fn text(file: &Path, writer: &str) -> Result<String, Error> {
    let hint = |why: &dyn Display| wrong(file, &format!("{why}; name a file that {writer} has written"));
    let bytes = fs::read(file).map_err(|e| hint(&e))?;
    String::from_utf8(bytes)
        .map_err(|error| other_kind(file, error.as_bytes(), writer).unwrap_or_else(|| hint(&"is not text")))
}

/// Why a text is no result, and what to do.
pub fn refused(file: &Path, text: &str, error: &ParseError, writer: &str) -> Error {
    let remedy = match error {
        ParseError::NotJson(_) => {
            if let Some(other) = other_kind(file, text.as_bytes(), writer) {
                return other;
            }
            format!("; name a file that {writer} has written")
        }
        ParseError::Damaged(_) => "; measure again, or name another file".into(),
        ParseError::OtherVersion { .. } => "; read it with the unspin that wrote it, or measure again".into(),
        // They say it themselves.
        ParseError::NoDocument | ParseError::NotOurs => String::new(),
    };
    wrong(file, &format!("{error}{remedy}"))
}

/// The message about a file of unspin that is no result; none if it is not one either. `writer` is what should have written it.
fn other_kind(file: &Path, bytes: &[u8], writer: &str) -> Option<Error> {
    let name = shell::quote(file);
    if bytes.starts_with(RECORDING) {
        let why = match writer {
            ANY => format!("is a recording, of which `unspin report {name} --html FILE` makes the page"),
            _ => format!("is a recording, and no result; name a file that {writer} has written"),
        };
        return Some(wrong(file, &why));
    }
    // Of a pipe nothing is left to read.
    let has_tables = file.is_file() && bytes.windows(2).any(|two| two == b"[[");
    let is_source = has_tables && PlanFile::read(file).is_ok();
    let is_compiled = COMPILED.iter().any(|begin| bytes.starts_with(begin));
    let why = match () {
        () if is_source => format!(
            "is a plan, which `unspin plan show {name}` prints; name a file that {writer} has written"
        ),
        () if is_compiled => {
            format!("is a compiled plan, and no result; name a file that {writer} has written")
        }
        () => return None,
    };
    Some(wrong(file, &why))
}

/// How a recording begins.
const RECORDING: &[u8] = b"UNSPINLK";
/// How a compiled plan begins, of any version.
const COMPILED: [&[u8]; 2] = [b"unspin plan ", b"unspin deployed plan "];

/// The result of `unspin prove` in a file, with the file's name for messages. `command` is the command of unspin that reads it.
pub fn proof(file: &Path, command: &str) -> Result<(String, StoredProof), Error> {
    let text = text(file, OF_PROVE)?;
    match StoredResult::parse(&text).map_err(|e| refused(file, &text, &e, OF_PROVE))? {
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

/// The build that reads the results.
pub fn build() -> StoredBuild {
    StoredBuild { version: Build::THIS.version.into(), commit: Build::THIS.commit.into() }
}

/// A mistake of the command line, about this file.
pub fn wrong(file: &Path, why: &dyn Display) -> Error {
    Error::Usage(format!("{}: {why}", shell::on_one_line(file)))
}
