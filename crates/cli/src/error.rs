//! What can go wrong that is not a defect of unspin, and the exit code for it.
//!
//! Each is one line on standard error that names the thing and says what to do.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;
use unspin_sysv::ArenaError;

/// What open(2) answers to a symbolic link that is not to be followed. asm-generic/errno.h: `ErrorKind` has no stable name for it.
const ELOOP: i32 = 40;

/// An error that ends a command.
#[derive(Debug)]
pub enum Error {
    /// The command line asks for something that does not exist or makes no sense.
    Usage(String),
    /// The benchmark gave no figures.
    Benchmark(String),
    /// What was given to be read is not what it should be.
    Input(String),
    /// The program does not do what was to be judged.
    Unjudged(String),
    /// Unspin could not do its own part: a cache folder, an arena, a system call.
    Environment(String),
    /// The program is there but cannot be executed, or cannot be reached by the preload library.
    CannotRun(String),
    /// There is no such program.
    NotFound(String),
}

impl Error {
    /// `what` failed for the file `path`.
    pub fn at(path: &Path, what: &str, error: impl fmt::Display) -> Error {
        Error::Environment(format!("{}: {what}: {error}", path.display()))
    }

    /// An arena cannot be used: why, and which of our options and commands help.
    pub fn arena(error: &ArenaError) -> Error {
        const ANOTHER: &str = "name another file with --arena";
        let remedy = match error {
            ArenaError::Io(_, io) => match io.kind() {
                ErrorKind::StorageFull => format!("free space there, or {ANOTHER}"),
                ErrorKind::OutOfMemory => {
                    "permit more address space (ulimit -v), as it is mapped whole, or free memory".into()
                }
                ErrorKind::NotFound => format!("make its folder, or {ANOTHER}"),
                _ if io.raw_os_error() == Some(ELOOP) => {
                    format!("a symbolic link is not followed: name the file that it leads to, or {ANOTHER}")
                }
                _ => ANOTHER.into(),
            },
            ArenaError::TooSmall(_) => ANOTHER.into(),
            ArenaError::NotOurs(_) => format!("ask its owner to open it to you, or {ANOTHER}"),
            ArenaError::Foisted(path) => {
                format!(
                    "`unspin ipcrm --arena {}` by that user, or by root, removes it; or {ANOTHER}",
                    path.display()
                )
            }
            ArenaError::Corrupt(path) => format!(
                "{ANOTHER}; `unspin ipcrm --arena {}` removes what can still be told to be an arena",
                path.display()
            ),
            ArenaError::Version(path) | ArenaError::CutShort(path) | ArenaError::Overwritten(path) => {
                format!("`unspin ipcrm --arena {}` removes it when no program uses it", path.display())
            }
            ArenaError::Engine(_, kind) => format!("use --sysv {kind}, or {ANOTHER}"),
        };
        Error::Environment(format!("{error}; {remedy}"))
    }

    /// Documented with each command's `--help` and in docs/exit-codes.md.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Error::Benchmark(_) | Error::Input(_) => 1,
            Error::Usage(_) => 2,
            Error::Unjudged(_) => 4,
            // The three of env(1), timeout(1) and their kin.
            Error::Environment(_) => 125,
            Error::CannotRun(_) => 126,
            Error::NotFound(_) => 127,
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage(text)
            | Error::Benchmark(text)
            | Error::Input(text)
            | Error::Unjudged(text)
            | Error::Environment(text)
            | Error::CannotRun(text)
            | Error::NotFound(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
