//! Errors that are not defects of unspin, with their exit codes.
//!
//! Each error is one line on standard error that names the object and the remedy.

use crate::output::shell;
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;
use unspin_sys::creds::Creds;
use unspin_sys::{Errno, exhausted};
use unspin_sysv::ArenaError;

/// The error of open(2) for a symbolic link with O_NOFOLLOW. From asm-generic/errno.h: `ErrorKind` has no stable name
/// for it.
const ELOOP: i32 = 40;

/// An error that ends a command.
#[derive(Debug)]
pub enum Error {
    /// The command line asks for something that does not exist or makes no sense.
    Usage(String),
    /// The benchmark printed no figures.
    Benchmark(String),
    /// An input file has the wrong contents.
    Input(String),
    /// The program does not do what the command should judge.
    Unjudged(String),
    /// Unspin failed at its own part: a cache folder, an arena, a system call.
    Environment(String),
    /// The program exists but cannot be executed, or the preload library cannot be loaded into it.
    CannotRun(String),
    /// The program was not found.
    NotFound(String),
}

impl Error {
    /// `what` failed for the file `path`. Where a limit is the cause, the text says which, and how it is raised.
    pub fn at(path: &Path, what: &str, error: impl Into<io::Error>) -> Error {
        Error::failed(&format!("{}: {what}", path.display()), &error.into())
    }

    /// `what` failed. Where a limit is the cause, the text says which, and how it is raised.
    pub fn failed(what: &str, error: &io::Error) -> Error {
        Error::Environment(explain(what, error, exhausted::remedy))
    }

    /// A program could not be started. If a limit of unspin prevents it, the error is not the program's.
    pub fn not_started(program: &Path, error: &io::Error) -> Error {
        let is_limit = error.raw_os_error().map(Errno).and_then(exhausted::process).is_some();
        let text = explain(&program.display().to_string(), error, exhausted::process);
        if is_limit { Error::Environment(text) } else { Error::CannotRun(text) }
    }

    /// A thread that unspin needs could not be started.
    pub fn no_thread(error: &io::Error) -> Error {
        Error::Environment(explain("no thread can be started", error, exhausted::process))
    }

    /// An arena cannot be used. The text says why, and which options and commands of ours help.
    pub fn arena(error: &ArenaError) -> Error {
        let remedy = match error {
            ArenaError::Io(path, io) => match io.kind() {
                ErrorKind::StorageFull => format!("free space there, or {ANOTHER}"),
                ErrorKind::OutOfMemory => {
                    "permit more address space (ulimit -v), as it is mapped whole, or free memory".into()
                }
                ErrorKind::NotFound => format!("make its folder, or {ANOTHER}"),
                _ if io.raw_os_error() == Some(ELOOP) => link_remedy(path),
                _ => ANOTHER.into(),
            },
            ArenaError::TooSmall(_) => ANOTHER.into(),
            ArenaError::NotOurs(_) => format!("ask its owner to open it to you, or {ANOTHER}"),
            ArenaError::DefaultPathTaken(path) => {
                format!(
                    "that user, or root, removes it by `unspin arenas remove {}`; or {ANOTHER}",
                    shell::quote(path)
                )
            }
            ArenaError::Corrupt(path) => {
                format!("{ANOTHER}; `unspin arenas remove {}` removes it if it was one", shell::quote(path))
            }
            ArenaError::Version(path) | ArenaError::Truncated(path) | ArenaError::Overwritten(path) => {
                format!("`unspin arenas remove {}` removes it when no program uses it", shell::quote(path))
            }
            ArenaError::Engine(_, kind) => format!("use --sysv {kind}, or {ANOTHER}"),
        };
        Error::Environment(format!("{error}; {remedy}"))
    }

    /// The exit code, as documented in each command's `--help` and in docs/exit-codes.md.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// The exit code as a number.
    pub fn code(&self) -> u8 {
        match self {
            Error::Benchmark(_) | Error::Input(_) => 1,
            Error::Usage(_) => 2,
            Error::Unjudged(_) => 4,
            // The three codes of env(1), timeout(1) and similar tools.
            Error::Environment(_) => 125,
            Error::CannotRun(_) => 126,
            Error::NotFound(_) => 127,
        }
    }
}

fn explain(what: &str, error: &io::Error, remedy: fn(Errno) -> Option<String>) -> String {
    match error.raw_os_error().map(Errno).and_then(remedy) {
        Some(remedy) => format!("{what}: {error}; {remedy}"),
        None => format!("{what}: {error}"),
    }
}

/// What to do about a symbolic link in place of an arena. If another user has made the link, that user has chosen the
/// file, so the message does not recommend it.
fn link_remedy(path: &Path) -> String {
    let own = Creds::current().uid;
    match fs::symlink_metadata(path).map(|link| link.uid()) {
        Ok(owner) if owner != own => format!(
            "it is a symbolic link of another user (uid {owner}), and is not followed: that user, or root, removes it by `rm {}`; \
             or {ANOTHER}",
            shell::quote(path)
        ),
        _ => format!("a symbolic link is not followed: name the file that it leads to, or {ANOTHER}"),
    }
}

const ANOTHER: &str = "name another file with --arena";

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{lchown, symlink};

    #[test]
    fn planted_link_is_called_another_users() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("arena");
        symlink("/home/other/file", &link).unwrap();
        let own = link_remedy(&link);
        assert!(own.starts_with("a symbolic link is not followed: name the file"), "{own}");
        let another = Creds::current().uid + 1;
        if lchown(&link, Some(another), None).is_err() {
            let _ = std::io::Write::write_all(
                &mut std::io::stderr(),
                b"SKIPPED in part, because only root gives links away\n",
            );
            return;
        }
        let planted = link_remedy(&link);
        assert!(
            planted.starts_with(&format!("it is a symbolic link of another user (uid {another})")),
            "{planted}"
        );
        assert!(!planted.contains("/home/other"), "{planted}");
    }
}
