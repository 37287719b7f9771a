//! The output of the program, kept in a file so that it does not disturb the screen.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::NamedTempFile;
use unspin_launch::error::Error;
use unspin_launch::output::scratch;
use unspin_launch::output::trimmer::Trimmer;
use unspin_sys::printable;

/// Number of lines that are shown at the end.
const LINES: usize = 20;
/// Number of bytes that are searched for these lines.
const BYTES: u64 = 16 << 10;

/// The file.
pub enum ProgramOutput {
    /// The file that the user named.
    Named(File),
    /// A temporary file, which is removed at the end.
    Temporary(NamedTempFile, Trimmer),
}

impl ProgramOutput {
    /// Creates the file, or empties the file that the user named.
    pub fn new(named: Option<&Path>) -> Result<ProgramOutput, Error> {
        match named {
            Some(path) => {
                let file = File::options().append(true).create(true).open(path);
                let emptied = file.and_then(|file| file.set_len(0).map(|()| file));
                emptied
                    .map(ProgramOutput::Named)
                    .map_err(|e| Error::Usage(format!("--output {}: {e}", path.display())))
            }
            None => {
                let folder = scratch::disk();
                let made = tempfile::Builder::new()
                    .prefix("unspin-top-")
                    .suffix(".out")
                    .append(true)
                    .tempfile_in(&folder);
                made.map(|file| ProgramOutput::Temporary(file, Trimmer::default())).map_err(|e| {
                    Error::at(
                        &folder,
                        "no file can be created here for the program's output: name one with --output",
                        e,
                    )
                })
            }
        }
    }

    /// For the program's standard output, or its standard error.
    pub fn stdio(&self) -> Result<Stdio, Error> {
        let file = match self {
            ProgramOutput::Named(file) => file,
            ProgramOutput::Temporary(file, _) => file.as_file(),
        };
        file.try_clone().map(Stdio::from).map_err(|e| Error::failed("the output's file", &e))
    }

    /// Gives back the space of output that will not be shown. To be called while the program runs. The file that the user named stays
    /// whole.
    pub fn trim(&self) {
        if let ProgramOutput::Temporary(file, trimmer) = self {
            trimmer.trim(file.as_file());
        }
    }

    /// The last lines, unless the user named a file.
    pub fn tail(&self) -> Option<String> {
        let ProgramOutput::Temporary(file, _) = self else { return None };
        // An unreadable file has no last lines.
        let bytes = last_bytes(file.path()).unwrap_or_default();
        (!bytes.is_empty()).then(|| tail(&bytes))
    }

    /// Keeps the temporary file, for a program that goes on. Returns its name; none if the user named the file.
    pub fn keep(self) -> Option<PathBuf> {
        match self {
            ProgramOutput::Named(_) => None,
            ProgramOutput::Temporary(file, _) => file.keep().ok().map(|(_, path)| path),
        }
    }
}

fn last_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let from = file.metadata()?.len().saturating_sub(BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The last lines, with control characters as escape sequences, which no terminal obeys.
fn tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().collect();
    let harmless = |line: &&str| printable::text(line).into_owned() + "\n";
    lines[lines.len().saturating_sub(LINES)..].iter().map(harmless).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn tail_shows_the_last_lines_with_control_characters_escaped() {
        let output = ProgramOutput::new(None).unwrap();
        let ProgramOutput::Temporary(file, _) = &output else { panic!("nobody asked for a file") };
        assert_eq!(output.tail(), None);
        for line in 0..10_000 {
            writeln!(file.as_file(), "\x1b[2Jline {line}").unwrap();
        }
        let tail = output.tail().unwrap();
        assert!(tail.starts_with("\\x1b[2Jline 9980\n") && tail.ends_with("line 9999\n"), "{tail}");
        let path = output.keep().unwrap();
        assert!(path.exists());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn uncreatable_output_file_is_named() {
        let error = ProgramOutput::new(Some(Path::new("/no/such/folder/x"))).err().unwrap();
        assert_eq!(error.to_string(), "--output /no/such/folder/x: No such file or directory (os error 2)");
    }
}
