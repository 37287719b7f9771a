//! The folder for arenas and recordings: in memory, removed at the end.
//!
//! A `prove` that is killed cannot remove its folder, which would hold memory until the next boot; so the next
//! `prove` does. Who is alive holds a lock on a file in its folder.

use crate::error::Error;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PREFIX: &str = "unspin-prove-";
const LOCK: &str = "lock";

/// A folder of our own.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    /// Locked for as long as this process lives.
    _lock: File,
}

impl Scratch {
    /// Makes a folder, in `/dev/shm` where there is one, and removes those that the dead have left.
    pub fn new(uid: u32) -> Result<Scratch, Error> {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory } else { Path::new("/tmp") };
        remove_abandoned(parent, uid);
        Scratch::in_folder(parent)
            .map_err(|e| Error::at(parent, "a folder for arenas cannot be made here", e))
    }

    fn in_folder(parent: &Path) -> std::io::Result<Scratch> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        // Locked before it has the name by which others look for it.
        let unnamed = folder.path().join("lock.new");
        let lock = File::create_new(&unnamed)?;
        lock.lock()?;
        fs::rename(unnamed, folder.path().join(LOCK))?;
        Ok(Scratch { folder, _lock: lock })
    }

    /// A file name in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn remove_abandoned(parent: &Path, uid: u32) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.metadata().is_ok_and(|m| m.is_dir() && m.uid() == uid);
        if ours && entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) && dead(&entry.path())
        {
            // Another `prove` may be at the same.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Without a lock file the folder is just being made.
fn dead(folder: &Path) -> bool {
    File::open(folder.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_dead_have_left_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let uid = fs::metadata(parent.path()).unwrap().uid();
        let living = Scratch::in_folder(parent.path()).unwrap();
        let unborn = parent.path().join("unspin-prove-unborn");
        let dead = parent.path().join("unspin-prove-dead");
        let foreign = parent.path().join("something-else");
        for folder in [&unborn, &dead, &foreign] {
            fs::create_dir(folder).unwrap();
        }
        for folder in [&dead, &foreign] {
            fs::write(folder.join(LOCK), "").unwrap();
        }
        remove_abandoned(parent.path(), uid + 1);
        assert!(dead.exists(), "another user's is left alone");
        remove_abandoned(parent.path(), uid);
        assert!(!dead.exists());
        assert!(unborn.exists() && foreign.exists() && living.file(LOCK).exists());
    }
}
