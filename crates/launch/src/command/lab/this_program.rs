//! Which of the two programs this process is, and its file.

use crate::program::workload::WorkloadProgram;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The file of this process's program. A file that has been replaced or removed has no path of its own any more.
pub(super) fn own_file() -> PathBuf {
    env::current_exe().ok().filter(|own| own.exists()).unwrap_or_else(|| "/proc/self/exe".into())
}

/// Which of the two this process is. The name that it was started by decides as well as its file's: that may be the target of a
/// link, or a wrapper's.
pub(super) fn own() -> WorkloadProgram {
    let lab = WorkloadProgram::Lab;
    let is_lab = |file: &Path| {
        // The kernel appends this once the file has been replaced or removed.
        let name = file.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        name.trim_end_matches(" (deleted)") == lab.name()
    };
    let started_by = env::args_os().next().map(PathBuf::from);
    let files = [started_by, env::current_exe().ok()];
    if files.iter().flatten().any(|file| is_lab(file)) { lab } else { WorkloadProgram::Unspin }
}
