//! Owners of files, as fakeroot-sysv has them: each call asks its daemon by a message, and waits for the answer.

use super::EffortOptions;
use super::timing::{Effort, per_call};
use std::os::unix::fs::{MetadataExt, chown};
use std::process::Command;

/// Runs this program again under fakeroot, and returns its output.
pub fn under_fakeroot(effort: &EffortOptions) -> Result<String, String> {
    let this = std::env::current_exe().map_err(|e| format!("the place of this program: {e}"))?;
    let mut command = Command::new("fakeroot-sysv");
    command.arg("--").arg(this).args(["inner", "owners", effort.option(), &effort.amount().to_string()]);
    crate::tools::output(&mut command)
}

/// Microseconds of chown and stat of a file. Each chown sets another owner, and stat must return that owner.
pub fn run(effort: &Effort) -> Result<f64, String> {
    let file = tempfile::NamedTempFile::new().map_err(|e| format!("no scratch file: {e}"))?;
    let path = file.path();
    let mut owner = 1000;
    let mut wrong = None;
    let ns = per_call(effort, || {
        owner = 1000 + (owner + 1) % 1000;
        let changed = chown(path, Some(owner), Some(owner)).and_then(|()| std::fs::metadata(path));
        match changed {
            Ok(metadata) if (metadata.uid(), metadata.gid()) == (owner, owner) => {}
            other => wrong = Some(format!("owner {owner}: {other:?}")),
        }
    });
    match wrong {
        None => Ok(ns / 1e3),
        Some(text) => Err(text),
    }
}
