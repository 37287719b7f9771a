//! The temporary folder for arenas and recordings: in memory, removed at the end.
//!
//! An unspin that is killed cannot remove its folder, which would use memory until the next boot. So the next unspin of
//! the same command removes it. The owner of a folder holds a lock on a file in it as long as it lives.

use crate::error::Error;
use crate::output::{shell, stderr};
use std::cmp::Reverse;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use unspin_sys::file::may_create_in;
use unspin_sys::file_lock;
use unspin_sys::file_system::FileSystem;
use unspin_sys::regular::{self, Links};

const LOCK: &str = "lock";

/// The name of an arena in such a folder.
pub const ARENA: &str = "arena";

/// A folder in it that belongs to the user of a server, and holds its arena.
const GIVEN: &str = "given";

/// The command that owns a folder.
#[derive(Clone, Copy, Debug)]
pub struct FolderOwner {
    /// Prefix of the folder's name.
    pub prefix: &'static str,
    /// Minimum age for removal after the owner's death.
    pub kept: Duration,
    /// Bytes that its files may need.
    pub room: u64,
}

/// A recording grows with the threads, locks and callers that it sees. Some of large programs have 20 MiB. An arena takes 2 MiB and
/// more. Half of what `/dev/shm` has in a container by default.
const RECORDING: u64 = 32 << 20;
/// Tallies and plans.
const SMALL: u64 = 256 << 10;

/// The leftovers of a killed `prove` are useless.
pub const PROVE: FolderOwner = FolderOwner { prefix: "unspin-prove-", kept: Duration::ZERO, room: RECORDING };
/// The program may still record, and `unspin report` can read the recording of a killed `unspin meter`.
pub const METER: FolderOwner =
    FolderOwner { prefix: "unspin-meter-", kept: Duration::from_secs(24 * 3600), room: RECORDING };

/// The tally of a killed `run` is useless.
pub const RUN: FolderOwner = FolderOwner { prefix: "unspin-run-", kept: Duration::ZERO, room: SMALL };

/// So is what a killed `profile` has left.
pub const PROFILE: FolderOwner = FolderOwner { prefix: "unspin-profile-", kept: Duration::ZERO, room: SMALL };

/// The database of a killed `dbt1` is useless.
pub const DBT1: FolderOwner = FolderOwner { prefix: "unspin-dbt1-", kept: Duration::ZERO, room: SMALL };

/// A folder of this process.
#[derive(Debug)]
pub struct Scratch {
    /// Locked as long as this process lives. The field stands before the folder, so that it is dropped first: removing
    /// the folder needs a descriptor, and the lock may have the last one (`ulimit -n`).
    _lock: File,
    folder: TempDir,
}

impl Scratch {
    /// Creates a folder, in `/dev/shm` if that has room, else in one for temporary files that has, and removes those of dead
    /// processes. A line says where a recording lies instead.
    pub fn new(owner: FolderOwner, uid: u32) -> Result<Scratch, Error> {
        let folders = folders();
        folders.iter().for_each(|folder| remove_abandoned(folder, owner, uid));
        let ranked = by_room(&folders, owner.room, |folder| {
            FileSystem::of(folder).map_or(0, |system| if system.is_read_only { 0 } else { system.free })
        });
        let mut refused = None;
        for folder in ranked {
            match Scratch::in_folder(folder, owner) {
                Ok(scratch) => {
                    if owner.room > SMALL && *folder != folders[0] {
                        stderr::say(format_args!("{}", moved(&folders[0], folder, owner.room)));
                    }
                    return Ok(scratch);
                }
                Err(error) => _ = refused.get_or_insert((folder, error)),
            }
        }
        let (folder, error) = refused.expect("there is a first folder");
        let failed =
            "no folder can be created here, nor in another one for temporary files: set TMPDIR to a folder";
        Err(Error::at(folder, failed, error))
    }

    /// Creates a folder below the folder of temporary files, for files that may need more space than memory has.
    pub fn on_disk(owner: FolderOwner, uid: u32) -> Result<Scratch, Error> {
        let disks: Vec<PathBuf> = folders().split_off(1);
        disks.iter().for_each(|disk| remove_abandoned(disk, owner, uid));
        let created = disks.iter().find_map(|disk| Scratch::in_folder(disk, owner).ok());
        let failed = "no folder can be created here: set TMPDIR to another folder";
        created.map_or_else(
            || Scratch::in_folder(&disks[0], owner).map_err(|e| Error::at(&disks[0], failed, e)),
            Ok,
        )
    }

    fn in_folder(parent: &Path, owner: FolderOwner) -> std::io::Result<Scratch> {
        // Private from the beginning, whatever the umask: other users must not learn the names in it.
        let private = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix(owner.prefix).permissions(private).tempdir_in(parent)?;
        // Lock it before it gets the name by which other processes find it.
        let unnamed = folder.path().join("lock.new");
        let lock = regular::create(&unnamed, 0o600)?;
        file_lock::lock(&lock).map_err(|error| std::io::Error::from_raw_os_error(error.0))?;
        fs::rename(unnamed, folder.path().join(LOCK))?;
        Ok(Scratch { _lock: lock, folder })
    }

    /// The folder's path.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a folder in it that belongs to another user, and returns its path. All other files stay outside that
    /// folder, because its owner could replace them.
    pub fn give(&self, uid: u32, gid: u32) -> std::io::Result<PathBuf> {
        // The user has to pass through it.
        fs::set_permissions(self.folder(), Permissions::from_mode(0o711))?;
        let given = self.file(GIVEN);
        fs::DirBuilder::new().mode(0o700).create(&given)?;
        chown(&given, Some(uid), Some(gid))?;
        Ok(given)
    }

    /// Keeps the folder.
    pub fn keep(self) {
        let _ = self.folder.keep();
    }
}

fn remove_abandoned(parent: &Path, owner: FolderOwner, uid: u32) {
    for folder in abandoned_in(parent, owner, uid) {
        // Another unspin may be removing the same folder.
        let _ = remove(&folder);
    }
}

/// Whether it is a folder of unspin that is old enough. Its age is that of its creation, because files are created in
/// it only at the start.
fn is_outdated(about: &fs::Metadata, owner: FolderOwner, uid: u32) -> bool {
    about.is_dir() && about.uid() == uid && age(about) >= owner.kept
}

/// Whether the owner of a folder has ended. A new folder without a lock file is still being created; the creator of an
/// old one was killed.
fn is_dead(folder: &Path) -> bool {
    match regular::open(&folder.join(LOCK), Links::Refused) {
        Ok(lock) => file_lock::try_lock(&lock).is_ok(),
        Err(_) => fs::metadata(folder).is_ok_and(|about| age(&about) > CREATION),
    }
}

/// Maximum time between the creation of a folder and of its lock file.
const CREATION: Duration = Duration::from_secs(60);

fn age(about: &fs::Metadata) -> Duration {
    about.modified().ok().and_then(|made| made.elapsed().ok()).unwrap_or_default()
}

/// The folders that have this many bytes left, then the others, those with the most room first.
fn by_room(folders: &[PathBuf], room: u64, left: impl Fn(&Path) -> u64) -> Vec<&PathBuf> {
    let known: Vec<(&PathBuf, u64)> = folders.iter().map(|folder| (folder, left(folder))).collect();
    let (roomy, mut others): (Vec<_>, Vec<_>) = known.into_iter().partition(|&(_, left)| left >= room);
    others.sort_by_key(|&(_, left)| Reverse(left));
    roomy.into_iter().chain(others).map(|(folder, _)| folder).collect()
}

/// Why the files lie elsewhere.
fn moved(memory: &Path, folder: &Path, room: u64) -> String {
    let why = match FileSystem::of(memory) {
        Ok(system) if system.free < room => {
            format!("has {} KiB left, and a recording may need {} MiB", system.free >> 10, room >> 20)
        }
        _ => "cannot be used".into(),
    };
    format!(
        "the recording lies in {}: {} {why} (a container: give it more, --shm-size or an emptyDir of medium Memory)",
        shell::quote(folder),
        memory.display()
    )
}

/// The folders in which temporary files are created, in the order in which they are tried.
pub fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = vec!["/dev/shm".into(), std::env::temp_dir()];
    for folder in ["/tmp", "/var/tmp"].map(PathBuf::from) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// The folder for output of unknown length: the first one for temporary files in which files can be created. A container with a
/// read-only root may have none but `/dev/shm`.
pub fn disk() -> PathBuf {
    let mut folders = folders();
    folders.rotate_left(1);
    let is_usable = |folder: &&PathBuf| {
        may_create_in(folder) && FileSystem::of(folder).is_ok_and(|system| !system.is_read_only)
    };
    folders.iter().find(is_usable).cloned().unwrap_or_else(std::env::temp_dir)
}

/// The folders of an owner's dead processes, of whatever age.
pub fn abandoned_folders(owner: FolderOwner, uid: u32) -> Vec<PathBuf> {
    let of_any_age = FolderOwner { kept: Duration::ZERO, ..owner };
    folders().iter().flat_map(|parent| abandoned_in(parent, of_any_age, uid)).collect()
}

fn abandoned_in(parent: &Path, owner: FolderOwner, uid: u32) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let abandoned = entries.filter(|entry| {
        let named = entry.file_name().as_encoded_bytes().starts_with(owner.prefix.as_bytes());
        named && entry.metadata().is_ok_and(|m| is_outdated(&m, owner, uid)) && is_dead(&entry.path())
    });
    abandoned.map(|entry| entry.path()).collect()
}

/// Removes an abandoned folder.
pub fn remove(folder: &Path) -> std::io::Result<()> {
    // Removes also the arena's memory in the kernel. Most folders have no arena.
    for arena in [folder.join(ARENA), folder.join(GIVEN).join(ARENA)] {
        let _ = unspin_sysv::remove_arena(&arena);
    }
    fs::remove_dir_all(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_and_lock_are_private() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::in_folder(parent.path(), PROVE).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(scratch.folder()), mode(&scratch.file(LOCK))), (0o700, 0o600));
        let Ok(given) = scratch.give(7, 7) else {
            let _ = std::io::Write::write_all(
                &mut std::io::stderr(),
                b"SKIPPED in part, because only root gives folders away\n",
            );
            return;
        };
        assert_eq!((mode(scratch.folder()), mode(&given)), (0o711, 0o700));
        let owner = |path: &Path| fs::metadata(path).unwrap().uid();
        assert_eq!((owner(&given), owner(scratch.folder())), (7, owner(parent.path())));
    }

    #[test]
    fn folder_with_room_comes_first_and_the_roomiest_of_the_others() {
        let folders = ["/memory", "/a", "/b", "/c"].map(PathBuf::from);
        let ranked = |left: [u64; 4]| {
            let left = |folder: &Path| left[folders.iter().position(|known| known == folder).unwrap()];
            by_room(&folders, 100, left).iter().map(|folder| folder.to_str().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(ranked([100, 0, 200, 50]), ["/memory", "/b", "/c", "/a"]);
        assert_eq!(ranked([99, 7, 0, 50]), ["/memory", "/c", "/a", "/b"], "none has room");
        assert_eq!(ranked([0, 7, 0, 500]), ["/c", "/a", "/memory", "/b"]);
    }

    #[test]
    fn only_folders_of_dead_owners_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let uid = fs::metadata(parent.path()).unwrap().uid();
        let living = Scratch::in_folder(parent.path(), PROVE).unwrap();
        let unborn = parent.path().join("unspin-prove-unborn");
        let dead = parent.path().join("unspin-prove-dead");
        let foreign = parent.path().join("something-else");
        let recent = parent.path().join("unspin-meter-recent");
        for folder in [&unborn, &dead, &foreign, &recent] {
            fs::create_dir(folder).unwrap();
        }
        for folder in [&dead, &foreign, &recent] {
            fs::write(folder.join(LOCK), "").unwrap();
        }
        remove_abandoned(parent.path(), PROVE, uid + 1);
        assert!(dead.exists(), "another user's is left alone");
        remove_abandoned(parent.path(), PROVE, uid);
        remove_abandoned(parent.path(), METER, uid);
        assert!(!dead.exists());
        assert!(unborn.exists() && foreign.exists() && living.file(LOCK).exists());
        assert!(recent.exists(), "a recording may still be wanted");
        remove_abandoned(parent.path(), FolderOwner { kept: Duration::ZERO, ..METER }, uid);
        assert!(!recent.exists());
    }
}
