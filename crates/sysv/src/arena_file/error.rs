use super::default_path::is_usual;
use super::layout::SMALLEST;
use core::fmt;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use unspin_sys::creds::Creds;

/// Why an arena cannot be used. The message names the file and the problem.
#[derive(Debug)]
pub enum ArenaError {
    /// The operating system refused to open, create or map the file.
    Io(PathBuf, std::io::Error),
    /// It belongs to another user, who did not give others access.
    NotOurs(PathBuf),
    /// It is at the path of one of this user's default arenas, but belongs to another user.
    DefaultPathTaken(PathBuf),
    /// It is not an arena, or its first page was overwritten.
    Corrupt(PathBuf),
    /// It was made by another version of unspin.
    Version(PathBuf),
    /// It is shorter than its own header says: it was truncated.
    Truncated(PathBuf),
    /// A process that used it has found that it was overwritten, and has marked it as unusable.
    Overwritten(PathBuf),
    /// It was made for another engine.
    Engine(PathBuf, &'static str),
    /// The requested size (in bytes) leaves no room for semaphores.
    TooSmall(u64),
}

impl ArenaError {
    pub(crate) fn io(path: &Path, error: std::io::Error) -> ArenaError {
        match error.kind() {
            ErrorKind::PermissionDenied if is_anothers(path) => match is_usual(path) {
                true => ArenaError::DefaultPathTaken(path.into()),
                false => ArenaError::NotOurs(path.into()),
            },
            _ => ArenaError::Io(path.into(), error),
        }
    }
}

/// Whether the path is a file of another user. (Access may also be denied by a folder.)
fn is_anothers(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|about| about.uid() != Creds::current().uid)
}

/// States the facts without advice: users of the command, of the preload library and of the API have different means to
/// fix them.
impl fmt::Display for ArenaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut say = |path: &Path, what: &dyn fmt::Display| write!(f, "arena {}: {what}", path.display());
        match self {
            ArenaError::Io(path, error) => say(path, error),
            ArenaError::NotOurs(path) => {
                say(path, &"belongs to another user, who has not opened it to others")
            }
            ArenaError::DefaultPathTaken(path) => {
                say(path, &"lies where your own would, but belongs to another user, and is not used")
            }
            ArenaError::Corrupt(path) => say(path, &"is no arena of unspin, or is damaged"),
            ArenaError::Version(path) => say(path, &"was made by another version of unspin"),
            ArenaError::Truncated(path) => say(path, &"was cut short"),
            ArenaError::Overwritten(path) => {
                say(path, &"was overwritten while it was in use, as one of its programs found out")
            }
            ArenaError::Engine(path, kind) => say(path, &format_args!("was made for the engine '{kind}'")),
            ArenaError::TooSmall(bytes) => write!(
                f,
                "an arena of {bytes} bytes has no room for semaphores; ask for at least {}",
                SMALLEST
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
