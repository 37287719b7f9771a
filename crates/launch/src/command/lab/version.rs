//! Whether `unspin-lab` is of the same build as `unspin`: both are built from one commit. The program is asked by
//! `unspin-lab --version`, which every version answers. The answer is kept in the cache, under a name that identifies the file, so
//! that the program is asked once after it has been installed.

use crate::error::Error;
use crate::library::cache;
use crate::machine::Build;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::{env, fs};
use unspin_sys::inherited;

/// Prefix of the names in the cache.
const KEPT: &str = "unspin-lab-version-";

/// Fails if the file is not `unspin-lab` of this build. A process checks a file once; its own file it need not check.
pub(super) fn check(file: &Path, command: &str) -> Result<(), Error> {
    static CHECKED: OnceLock<PathBuf> = OnceLock::new();
    if CHECKED.get().is_some_and(|checked| checked == file) || env::current_exe().is_ok_and(|own| own == file)
    {
        return Ok(());
    }
    let found = find(file)?;
    if identity(&found) == identity(Build::VERSION) {
        CHECKED.get_or_init(|| file.to_owned());
        return Ok(());
    }
    Err(Error::CannotRun(format!(
        "{command}: unspin is of version {}, {} is of version {found}; where unspin was built: cargo install --path crates/lab",
        Build::VERSION,
        file.display()
    )))
}

/// The version that the file tells, from the cache or from the program itself.
fn find(file: &Path) -> Result<String, Error> {
    let name = name_in_cache(file);
    if let Some(kept) = name.as_deref().and_then(cache::recall) {
        return Ok(kept);
    }
    let found = ask(file)?;
    if let Some(name) = name {
        cache::remember(&name, KEPT, &found);
    }
    Ok(found)
}

/// What identifies the contents of a file: any change of them changes its `ctime`.
fn name_in_cache(file: &Path) -> Option<String> {
    let about = fs::metadata(file).ok()?;
    let (device, inode, changed, ns) = (about.dev(), about.ino(), about.ctime(), about.ctime_nsec());
    Some(format!("{KEPT}{device:x}-{inode:x}-{changed:x}-{ns:x}"))
}

fn ask(file: &Path) -> Result<String, Error> {
    let mut asked = Command::new(file);
    asked.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
    inherited::hand_on_signals(&mut asked);
    let answer = asked.output().map_err(|error| Error::not_started(file, &error))?;
    Ok(parse(&String::from_utf8_lossy(&answer.stdout)).to_owned())
}

/// The version in `unspin-lab 0.1.0 (COMMIT)`; of versions before this check there is no commit.
fn parse(answer: &str) -> &str {
    let line = answer.lines().next().unwrap_or_default();
    line.strip_prefix(super::FILE).map(str::trim).filter(|version| !version.is_empty()).unwrap_or("unknown")
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
        assert_eq!(parse("unspin-lab 0.1.0 (0123456789ab)\n"), "0.1.0 (0123456789ab)");
        assert_eq!(parse("unspin-lab 0.1.0\n"), "0.1.0");
        for other in ["", "unspin-lab\n", "lab 0.1.0\n"] {
            assert_eq!(parse(other), "unknown");
        }
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
