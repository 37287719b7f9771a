//! What a run prints. Files without a name rather than pipes: nobody has to read them while it runs.

use crate::error::Error;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::process::Stdio;

/// The most output that a figure is looked for in: its end.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;
/// Lines of a failed run's output that are shown.
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

    /// All of it. Standard error first, so that of two figures the one on standard output is the last.
    pub fn text(&mut self) -> String {
        let mut text = end_of(&mut self.stderr, OUTPUT_BYTES_MAX);
        text.push('\n');
        text.push_str(&end_of(&mut self.stdout, OUTPUT_BYTES_MAX));
        text
    }

    /// The last lines of standard error, or of standard output if it said nothing there.
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
    // CapturedOutput that cannot be read back is output without a figure, and is reported as such.
    if read.is_err() { String::new() } else { String::from_utf8_lossy(&bytes).into_owned() }
}
