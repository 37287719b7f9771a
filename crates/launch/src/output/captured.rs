//! The output of a run. Unnamed files instead of pipes, so that nothing has to read them during the run.

use crate::error::Error;
use crate::output::scratch;
use crate::output::trimmer::{self, Trimmer};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::process::Stdio;
use unspin_sys::printable;

/// Number of output lines that are shown for a failed run.
const TAIL_LINES: usize = 8;
/// Number of characters of such a line that are shown.
const TAIL_COLUMNS: usize = 200;

const NO_FILE: &str = "no file for the output of a run can be created (TMPDIR names another folder)";

/// Standard output and standard error of one run.
pub struct CapturedOutput {
    stdout: File,
    stderr: File,
    trimmers: [Trimmer; 2],
}

impl CapturedOutput {
    /// Empty files.
    pub fn new() -> Result<CapturedOutput, Error> {
        let folder = scratch::disk();
        let file = || tempfile::tempfile_in(&folder).map_err(|e| Error::at(&folder, NO_FILE, e));
        Ok(CapturedOutput { stdout: file()?, stderr: file()?, trimmers: Default::default() })
    }

    /// For the program's standard output.
    pub fn stdout(&self) -> Result<Stdio, Error> {
        duplicate(&self.stdout)
    }

    /// For the program's standard error.
    pub fn stderr(&self) -> Result<Stdio, Error> {
        duplicate(&self.stderr)
    }

    /// Gives back the space of output that will not be read. To be called while the program runs.
    pub fn trim(&self) {
        let [stdout, stderr] = &self.trimmers;
        stdout.trim(&self.stdout);
        stderr.trim(&self.stderr);
    }

    /// Why the program could not write all its output, if a limit prevented it.
    pub fn obstacle(&self) -> Option<String> {
        [&self.stdout, &self.stderr].into_iter().find_map(trimmer::obstacle)
    }

    /// The last `bytes_max` bytes of each stream, to be searched for the figure. Standard error comes first: if both
    /// streams have a figure, the last one is from standard output.
    pub fn text(&mut self, bytes_max: u64) -> String {
        let mut text = end_of(&mut self.stderr, bytes_max);
        text.push('\n');
        text.push_str(&end_of(&mut self.stdout, bytes_max));
        text
    }

    /// The last `bytes_max` bytes of standard error.
    pub fn errors(&mut self, bytes_max: u64) -> String {
        end_of(&mut self.stderr, bytes_max)
    }

    /// The last lines of standard error, or of standard output if standard error is empty. What could change the state
    /// of a terminal is escaped.
    pub fn tail(&mut self) -> String {
        let mut bytes = bytes_at_end_of(&mut self.stderr, 1 << 16);
        if bytes.trim_ascii().is_empty() {
            bytes = bytes_at_end_of(&mut self.stdout, 1 << 16);
        }
        let lines: Vec<&[u8]> = bytes.trim_ascii_end().split(|&byte| byte == b'\n').collect();
        let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
        last.iter().map(|line| escape(line)).collect::<Vec<_>>().join("\n")
    }
}

/// A sentence, and the last lines of an output.
pub fn with_output(mut text: String, output: &str) -> String {
    if !output.trim().is_empty() {
        text.push_str("; the end of its output:");
        output.lines().for_each(|line| text.push_str(&format!("\n  | {line}")));
    }
    text
}

fn duplicate(file: &File) -> Result<Stdio, Error> {
    file.try_clone().map(Stdio::from).map_err(|e| Error::failed("dup", &e))
}

/// A line with its control characters and its bytes that are not UTF-8 as escape sequences. A long line is cut off.
fn escape(line: &[u8]) -> String {
    let text = printable::bytes(line.trim_ascii_end());
    match text.char_indices().nth(TAIL_COLUMNS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn end_of(file: &mut File, bytes_max: u64) -> String {
    String::from_utf8_lossy(&bytes_at_end_of(file, bytes_max)).into_owned()
}

fn bytes_at_end_of(file: &mut File, bytes_max: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let length = file.metadata().map_or(0, |m| m.len());
    let read = file
        .seek(SeekFrom::Start(length.saturating_sub(bytes_max)))
        .and_then(|_| file.take(bytes_max).read_to_end(&mut bytes));
    // Output that cannot be read back counts as output without a figure, and is reported as such.
    if read.is_err() { Vec::new() } else { bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_invalid_bytes_are_escaped() {
        assert_eq!(escape(b"a\tb\x1b[2J\x07 \xff\xfe \xc3\xa4\r"), "a\tb\\x1b[2J\\x07 \\xff\\xfe \u{e4}");
        let long = escape(&[b'x'; 5000]);
        assert_eq!(long.chars().count(), TAIL_COLUMNS + 1);
        assert!(long.ends_with('…'));
    }
}
