use core::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why an arena cannot be used: each says what it is about and what to do.
#[derive(Debug)]
pub enum ArenaError {
    /// The operating system refused to open, create or map the file.
    Io(PathBuf, std::io::Error),
    /// It belongs to another user, who did not open it to others.
    NotOurs(PathBuf),
    /// It is no arena, or its first page was overwritten.
    Corrupt(PathBuf),
    /// It was made by another version of unspin.
    Version(PathBuf),
    /// It is shorter than its own header says.
    CutShort(PathBuf),
    /// It was made for another engine.
    Engine(PathBuf, &'static str),
    /// The size asked for leaves no room for semaphores.
    TooSmall(u64),
}

impl ArenaError {
    pub(super) fn io(path: &Path, error: std::io::Error) -> ArenaError {
        match error.kind() {
            ErrorKind::PermissionDenied => ArenaError::NotOurs(path.into()),
            _ => ArenaError::Io(path.into(), error),
        }
    }
}

impl fmt::Display for ArenaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArenaError::Io(path, error) => {
                let remedy = match error.kind() {
                    ErrorKind::StorageFull | ErrorKind::OutOfMemory => "free space there, or ",
                    _ => "",
                };
                write!(f, "arena {}: {error}; {remedy}choose another file with --arena", path.display())
            }
            ArenaError::NotOurs(path) => write!(
                f,
                "arena {}: belongs to another user; ask its owner to open it, or choose another file with --arena",
                path.display()
            ),
            ArenaError::Corrupt(path) => write!(
                f,
                "arena {}: is no arena of unspin, or is damaged; remove it when no program uses it",
                path.display()
            ),
            ArenaError::Version(path) => write!(
                f,
                "arena {}: made by another version of unspin; remove it when no program uses it",
                path.display()
            ),
            ArenaError::CutShort(path) => {
                write!(f, "arena {}: cut short; remove it when no program uses it", path.display())
            }
            ArenaError::Engine(path, kind) => write!(
                f,
                "arena {}: made for the engine '{kind}'; use that engine or choose another file with --arena",
                path.display()
            ),
            ArenaError::TooSmall(bytes) => write!(
                f,
                "an arena of {bytes} bytes has no room for semaphores; ask for at least {}",
                super::file::SMALLEST
            ),
        }
    }
}

impl std::error::Error for ArenaError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ArenaError::Io(_, error) => Some(error),
            _ => None,
        }
    }
}
