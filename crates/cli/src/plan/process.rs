//! A process that may run under a deployed plan, as `/proc` shows it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use unspin_launch::error::Error;
use unspin_launch::library;
use unspin_wire::OWN_TALLY;
use unspin_wire::environment::PLAN;

/// What is mapped into a process.
pub struct Process {
    pid: u32,
    /// The paths of the mapped files, in its root.
    files: Vec<PathBuf>,
}

impl Process {
    /// The process of this number.
    pub fn of(pid: u32) -> Result<Process, Error> {
        let maps = fs::read(format!("/proc/{pid}/maps")).map_err(|error| match error.kind() {
            ErrorKind::NotFound => none(pid),
            // ESRCH of a process that is a zombie or ends at this moment.
            _ if error.raw_os_error() == Some(3) => none(pid),
            _ => Error::Environment(format!(
                "process {pid}: it may not be read: {error}; run this as its owner or as root"
            )),
        })?;
        let mut files: Vec<PathBuf> = maps.split(|&byte| byte == b'\n').filter_map(mapped_file).collect();
        files.dedup();
        Ok(Process { pid, files })
    }

    /// Whether the preload library is loaded.
    pub fn has_library(&self) -> bool {
        self.files.iter().any(|file| starts_with(file, library::NAME))
    }

    /// Its own tally, as a path of this process. A file that was removed is none.
    pub fn tally(&self) -> Option<PathBuf> {
        let file = self.files.iter().find(|file| starts_with(file, OWN_TALLY))?;
        Some(self.seen_from_here(file))
    }

    /// The plan that its first environment names, as a path of this process.
    pub fn plan(&self) -> Option<PathBuf> {
        let environment = fs::read(format!("/proc/{}/environ", self.pid)).ok()?;
        let name = [PLAN.as_bytes(), b"="].concat();
        let value = environment.split(|&byte| byte == 0).find_map(|entry| entry.strip_prefix(&name[..]))?;
        Some(self.seen_from_here(Path::new(OsStr::from_bytes(value))))
    }

    /// The name of its program.
    pub fn name(&self) -> String {
        let program = fs::read_link(format!("/proc/{}/exe", self.pid)).unwrap_or_default();
        program.file_name().map_or_else(|| "?".into(), |name| name.to_string_lossy().into_owned())
    }

    /// A path of its root, which may be that of a container.
    fn seen_from_here(&self, path: &Path) -> PathBuf {
        let root = format!("/proc/{}/root", self.pid);
        Path::new(&root).join(path.strip_prefix("/").unwrap_or(path))
    }
}

fn none(pid: u32) -> Error {
    Error::Usage(format!("there is no process {pid}"))
}

fn mapped_file(line: &[u8]) -> Option<PathBuf> {
    let at = line.iter().position(|&byte| byte == b'/')?;
    Some(OsString::from_vec(line[at..].to_vec()).into())
}

fn starts_with(file: &Path, name: &str) -> bool {
    file.file_name().is_some_and(|file| file.as_bytes().starts_with(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_files_are_found() {
        let this = Process::of(std::process::id()).unwrap();
        assert!(!this.has_library() && this.tally().is_none());
        let file = mapped_file(b"7f10-7f20 rw-s 00000000 00:01 9   /dev/shm/unspin-status-0-7-ab").unwrap();
        assert!(starts_with(&file, OWN_TALLY));
        assert_eq!(mapped_file(b"7f10-7f20 rw-p 00000000 00:00 0 [heap]"), None);
        assert!(matches!(Process::of(u32::MAX), Err(Error::Usage(_))));
    }
}
