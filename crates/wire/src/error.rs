//! Errors of recording files.

use core::fmt;
use std::io;
use std::path::{Path, PathBuf};
use unspin_sys::{Errno, exhausted, limits};

/// Error when a recording is created or opened. Its text is one line with the file and the remedy.
#[derive(Debug)]
pub struct RecordingError {
    /// The file.
    pub path: PathBuf,
    /// The cause.
    pub reason: Reason,
}

/// Cause of a [`RecordingError`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Reason {
    /// It cannot be created.
    Create(io::Error),
    /// It cannot be opened or read.
    Open(io::Error),
    /// It cannot be mapped, or there is no room for it.
    Map(Errno),
    /// It is not a recording.
    NotARecording,
    /// It is a recording of another version of the format.
    Version {
        /// The version in the file.
        found: u64,
    },
    /// It is shorter than its header says.
    Truncated {
        /// Bytes that there should be.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// The file's header holds values that no writer of this version makes.
    Damaged(&'static str),
    /// A size was asked for that no recording can have.
    Size {
        /// How many bytes were asked for.
        asked: u64,
    },
}

impl RecordingError {
    pub(crate) fn new(path: &Path, reason: Reason) -> RecordingError {
        RecordingError { path: path.to_owned(), reason }
    }

    /// Whether a limit stands against the recording's size, and permits a smaller one.
    pub fn permits_smaller(&self) -> bool {
        match &self.reason {
            Reason::Create(e) if e.raw_os_error().map(Errno) == Some(Errno::EFBIG) => {
                limits::file_size() >= crate::format::MIN_PAGES * crate::pages::BYTES as u64
            }
            Reason::Map(Errno::ENOMEM) => true,
            _ => false,
        }
    }
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.reason {
            Reason::Create(e) => {
                let known = e.raw_os_error().map(Errno).filter(|&e| e != Errno::ENOSPC);
                let remedy = known.and_then(exhausted::remedy);
                let remedy = remedy.unwrap_or_else(|| "free space there or choose another place".into());
                write!(f, "cannot create recording {path}: {e}; {remedy}")
            }
            Reason::Open(e) if e.kind() == io::ErrorKind::NotFound => {
                write!(f, "there is no recording {path}: name one that `unspin meter --record` has written")
            }
            Reason::Open(e) => write!(f, "cannot open recording {path}: {e}"),
            Reason::Map(Errno::ENOMEM) => write!(
                f,
                "no room for recording {path} in the address space: {}; raise the limit (ulimit -v)",
                Errno::ENOMEM
            ),
            Reason::Map(e) => {
                write!(f, "no room for recording {path}: {e}; free memory there or choose another place")
            }
            Reason::NotARecording => {
                write!(
                    f,
                    "{path} is not an unspin recording: name a file that `unspin meter --record` has written"
                )
            }
            Reason::Version { found } => write!(
                f,
                "recording {path} has format version {found}, this unspin reads {} to {}; read it with the unspin \
                 that made it or record again",
                crate::format::OLDEST,
                crate::format::VERSION
            ),
            Reason::Truncated { expected, found } => write!(
                f,
                "recording {path} is cut short: {found} of {expected} bytes; copy it again or record again"
            ),
            Reason::Damaged(what) => write!(f, "recording {path} is damaged ({what}); record again"),
            Reason::Size { asked } => write!(
                f,
                "recording {path}: {asked} bytes asked for, at least 32768 and at most {} are possible",
                crate::format::MAX_PAGES * crate::pages::BYTES as u64
            ),
        }
    }
}

impl std::error::Error for RecordingError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            Reason::Create(e) | Reason::Open(e) => Some(e),
            Reason::Map(e) => Some(e),
            _ => None,
        }
    }
}
