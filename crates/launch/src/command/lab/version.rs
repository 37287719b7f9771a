//! Whether `unspin` and `unspin-lab` are of the same build: both are built from one commit. The other program is asked by
//! `--version`, which every version answers. That a file is of this build is kept in the cache, under a name that identifies the
//! file, so that a program is asked once after it has been installed.

use super::failure::error_of;
use super::file_identity::FileIdentity;
use super::this_program::own;
use crate::error::Error;
use crate::library::{cache, environment};
use crate::machine::Build;
use crate::program::workload::WorkloadProgram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use unspin_sys::child::{self, Signal};
use unspin_sys::inherited;

/// Prefix of the names in the cache.
const KEPT: &str = "unspin-lab-version-";

/// Fails if the file is not this program of this build. A process checks a file once.
pub(super) fn check(file: &Path, program: WorkloadProgram, needed_by: &str) -> Result<(), Error> {
    static CHECKED: OnceLock<PathBuf> = OnceLock::new();
    if CHECKED.get().is_some_and(|checked| checked == file) {
        return Ok(());
    }
    let name = FileIdentity::of(file).map(|identity| format!("{KEPT}{identity}"));
    let kept = name.as_deref().and_then(cache::recall);
    if kept.is_none_or(|kept| identity(&kept) != identity(Build::VERSION)) {
        // Of another build, or not known: a wrapper's file stays the same when what it executes changes.
        let found = ask(file, program, needed_by)?;
        if identity(&found) != identity(Build::VERSION) {
            return Err(Error::CannotRun(format!(
                "{needed_by}: {} is of version {}, {} is of version {found}: build both from one checkout: cargo install --path crates/cli && \
                 cargo install --path crates/lab",
                own().name(),
                Build::VERSION,
                file.display()
            )));
        }
        if let Some(name) = name {
            cache::remember(&name, KEPT, &found);
        }
    }
    CHECKED.get_or_init(|| file.to_owned());
    Ok(())
}

/// The version that the program tells.
fn ask(file: &Path, program: WorkloadProgram, needed_by: &str) -> Result<String, Error> {
    let mut asked = Command::new(file);
    asked.arg("--version").stdin(Stdio::null());
    // A command of unspin that measures this one does not count it.
    environment::clear(&mut asked);
    inherited::hand_on_signals(&mut asked);
    // ^C is for this process.
    child::signal_on_parent_death(&mut asked, Signal::Terminate);
    let answer = asked.output().map_err(|error| Error::not_started(file, &error))?;
    if !answer.status.success() {
        return Err(error_of(program, needed_by, answer.status, &String::from_utf8_lossy(&answer.stderr)));
    }
    Ok(parse(program.name(), &String::from_utf8_lossy(&answer.stdout)).to_owned())
}

/// The version in `unspin-lab 0.1.0 (COMMIT)`; of versions before this check there is no commit.
fn parse<'a>(name: &str, answer: &'a str) -> &'a str {
    let line = answer.lines().next().unwrap_or_default();
    let version = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(' ')).map(str::trim);
    version.filter(|version| !version.is_empty()).unwrap_or("unknown")
}

/// The version and the commit. Cargo does not build again for each change that makes a commit `dirty`, so two programs of one
/// build may differ in that word.
fn identity(version: &str) -> &str {
    version.trim_end_matches(')').trim_end_matches("-dirty")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_what_follows_the_name() {
        assert_eq!(parse("unspin-lab", "unspin-lab 0.1.0 (0123456789ab)\n"), "0.1.0 (0123456789ab)");
        assert_eq!(parse("unspin-lab", "unspin-lab 0.1.0\n"), "0.1.0");
        for other in ["", "unspin-lab\n", "lab 0.1.0\n", "unspin 0.1.0\n"] {
            assert_eq!(parse("unspin-lab", other), "unknown");
        }
    }

    #[test]
    fn other_program_is_not_taken_for_unspin() {
        assert_eq!(parse("unspin", "unspin-lab 0.1.0 (0123456789ab)\n"), "unknown");
    }

    #[test]
    fn builds_differ_by_version_and_commit() {
        let own = identity("0.1.0 (0123456789ab)");
        assert_eq!(identity("0.1.0 (0123456789ab-dirty)"), own);
        for other in ["0.1.0", "0.2.0 (0123456789ab)", "0.1.0 (ba9876543210)", "unknown"] {
            assert_ne!(identity(other), own);
        }
    }
}
