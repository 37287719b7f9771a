use crate::engine::is_usual;
use core::fmt;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use unspin_sys::creds::Creds;

/// Why an arena cannot be used. In words it names the file and what is the matter with it.
#[derive(Debug)]
pub enum ArenaError {
    /// The operating system refused to open, create or map the file.
    Io(PathBuf, std::io::Error),
    /// It belongs to another user, who did not open it to others.
    NotOurs(PathBuf),
    /// It lies where one of this user's own would lie, and belongs to another user.
    Foisted(PathBuf),
    /// It is no arena, or its first page was overwritten.
    Corrupt(PathBuf),
    /// It was made by another version of unspin.
    Version(PathBuf),
    /// It is shorter than its own header says.
    CutShort(PathBuf),
    /// Somebody who used it has found that others had written into it, and has given it up for all.
    Overwritten(PathBuf),
    /// It was made for another engine.
    Engine(PathBuf, &'static str),
    /// The size asked for leaves no room for semaphores.
    TooSmall(u64),
}

impl ArenaError {
    pub(crate) fn io(path: &Path, error: std::io::Error) -> ArenaError {
        match error.kind() {
            ErrorKind::PermissionDenied if is_anothers(path) => match is_usual(path) {
                true => ArenaError::Foisted(path.into()),
                false => ArenaError::NotOurs(path.into()),
            },
            _ => ArenaError::Io(path.into(), error),
        }
    }
}

/// Whether there is a file of another user. A folder may be closed to us as well.
fn is_anothers(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|about| about.uid() != Creds::current().uid)
}

/// The facts: who uses the engine by a command or a preload has other means to change them than who calls it.
impl fmt::Display for ArenaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut say = |path: &Path, what: &dyn fmt::Display| write!(f, "arena {}: {what}", path.display());
        match self {
            ArenaError::Io(path, error) => say(path, error),
            ArenaError::NotOurs(path) => {
                say(path, &"belongs to another user, who has not opened it to others")
            }
            ArenaError::Foisted(path) => {
                say(path, &"lies where your own would, but belongs to another user, and is not used")
            }
            ArenaError::Corrupt(path) => say(path, &"is no arena of unspin, or is damaged"),
            ArenaError::Version(path) => say(path, &"was made by another version of unspin"),
            ArenaError::CutShort(path) => say(path, &"was cut short"),
            ArenaError::Overwritten(path) => {
                say(path, &"was overwritten while it was in use, as one of its programs found out")
            }
            ArenaError::Engine(path, kind) => say(path, &format_args!("was made for the engine '{kind}'")),
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
