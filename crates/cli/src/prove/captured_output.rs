//! The output of a run. Unnamed files instead of pipes, so that nothing has to read them during the run.

use crate::error::Error;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::process::Stdio;

/// Maximum number of bytes, at the end of the output, that are searched for a figure.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;
/// Number of output lines that are shown for a failed run.
const TAIL_LINES: usize = 8;

/// Standard output and standard error of one run.
pub struct CapturedOutput {
    stdout: File,
    stderr: File,
}

impl CapturedOutput {
    /// Empty files.
    pub fn new() -> Result<CapturedOutput, Error> {
        let file =
            || tempfile::tempfile().map_err(|e| Error::at(&std::env::temp_dir(), "no file for output", e));
        Ok(CapturedOutput { stdout: file()?, stderr: file()? })
    }

    /// For the program's standard output.
    pub fn stdout(&self) -> Result<Stdio, Error> {
        duplicate(&self.stdout)
    }

    /// For the program's standard error.
    pub fn stderr(&self) -> Result<Stdio, Error> {
        duplicate(&self.stderr)
    }

    /// The whole output. Standard error comes first, so that the last figure is that of standard output.
    pub fn text(&mut self) -> String {
        let mut text = end_of(&mut self.stderr, OUTPUT_BYTES_MAX);
        text.push('\n');
        text.push_str(&end_of(&mut self.stdout, OUTPUT_BYTES_MAX));
        text
    }

    /// The last lines of standard error, or of standard output if standard error is empty.
    pub fn tail(&mut self) -> String {
        let mut text = end_of(&mut self.stderr, 1 << 16);
        if text.trim().is_empty() {
            text = end_of(&mut self.stdout, 1 << 16);
        }
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
    }
}

fn duplicate(file: &File) -> Result<Stdio, Error> {
    file.try_clone().map(Stdio::from).map_err(|e| Error::Environment(format!("dup: {e}")))
}

fn end_of(file: &mut File, bytes_max: u64) -> String {
    let mut bytes = Vec::new();
    let length = file.metadata().map_or(0, |m| m.len());
    let read = file
        .seek(SeekFrom::Start(length.saturating_sub(bytes_max)))
        .and_then(|_| file.take(bytes_max).read_to_end(&mut bytes));
    // Output that cannot be read back counts as output without a figure, and is reported as such.
    if read.is_err() { String::new() } else { String::from_utf8_lossy(&bytes).into_owned() }
}
