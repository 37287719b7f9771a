//! Another user, for programs that refuse to be run by root.

use crate::inner::Cluster;
use crate::tools;
use std::cell::OnceCell;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use unspin_sys::child::{self, Signal};

/// Debian's user `nobody`, and its group `nogroup`.
const UID_NOBODY: u32 = 65_534;

/// A user with folders of its own: the user that runs this program, or `nobody` if that is root. The folders are
/// removed with their contents.
#[derive(Debug)]
pub struct TestUser {
    folder: tempfile::TempDir,
    arenas: tempfile::TempDir,
    id: Option<u32>,
    cluster: OnceCell<Result<(), String>>,
}

impl TestUser {
    /// A test user with an empty folder.
    pub fn new() -> std::io::Result<TestUser> {
        // Programs are executed there, which file systems in memory may forbid; and arenas belong in memory.
        let folder = tempfile::Builder::new().prefix("unspin-bench-guest-").tempdir()?;
        let arenas = tools::scratch()?;
        // The owner of the process's own folder is the effective user.
        let is_root =
            std::fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)?;
        if is_root {
            chown(folder.path(), Some(UID_NOBODY), Some(UID_NOBODY))?;
            chown(arenas.path(), Some(UID_NOBODY), Some(UID_NOBODY))?;
        }
        Ok(TestUser { folder, arenas, id: is_root.then_some(UID_NOBODY), cluster: OnceCell::new() })
    }

    /// The user's folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The user's folder for arenas.
    pub fn arenas(&self) -> &Path {
        self.arenas.path()
    }

    /// A copy of a program that the user can execute, wherever the program was built. It is copied once.
    pub fn copy(&self, program: &Path) -> Result<PathBuf, String> {
        let name = program.file_name().ok_or_else(|| format!("{}: has no name", program.display()))?;
        let copy = self.folder().join(name);
        if !copy.exists() {
            let copied = std::fs::copy(program, &copy)
                .and_then(|_| std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)));
            copied.map_err(|e| format!("{}: {e}", copy.display()))?;
        }
        Ok(copy)
    }

    /// Makes a command run as the user, in the user's folder.
    pub fn run_as<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.current_dir(self.folder()).env("HOME", self.folder()).env_remove("XDG_CACHE_HOME");
        if let Some(id) = self.id {
            command.gid(id).uid(id);
        }
        command
    }

    /// Makes a PostgreSQL cluster in the user's folder, once.
    pub fn ensure_cluster(&self) -> Result<(), String> {
        self.cluster.get_or_init(|| Cluster::at(self.folder()).make(|command| self.run_as(command))).clone()
    }
}

impl Drop for TestUser {
    fn drop(&mut self) {
        // A server outlives a measurement that was cut off.
        let pid = std::fs::read_to_string(Cluster::at(self.folder()).pid_file()).ok();
        if let Some(pid) = pid.and_then(|text| text.lines().next()?.trim().parse().ok()) {
            let _ = child::signal(pid, Signal::Kill);
        }
    }
}
