//! The paths of the default arenas.
//!
//! All processes of a user have to find the same one. So the folders do not depend on the environment, and an arena that exists
//! counts before the room that a folder has.

use std::path::{Path, PathBuf};
use unspin_sys::creds::Creds;
use unspin_sys::file::may_create_in;
use unspin_sys::file_system::FileSystem;

/// The folders of the default arenas, the first that has room counts; and the prefix of their names.
pub const FOLDERS: [&str; 3] = ["/dev/shm", "/tmp", "/var/tmp"];
pub(crate) const PREFIX: &str = "unspin-sysv-";

/// Bytes that a folder must have left for a new arena: it takes 2.1 MiB, and the objects of a program some more. Containers often
/// have 64 MiB in `/dev/shm`.
const ROOM: u64 = 8 << 20;

/// The path of the caller's default arena whose name ends so.
pub(crate) fn of_caller(end: &str) -> PathBuf {
    let uid = Creds::current().uid;
    let path = |folder: &Path| folder.join(format!("{PREFIX}{uid}-{end}"));
    choose(&FOLDERS.map(Path::new), path, |folder| {
        FileSystem::of(folder).is_ok_and(|system| system.free >= ROOM && !system.is_read_only)
            && may_create_in(folder)
    })
}

/// The first path that exists; else the path in the first folder that is suitable; else that in the first folder.
fn choose(
    folders: &[&Path],
    path: impl Fn(&Path) -> PathBuf,
    is_suitable: impl Fn(&Path) -> bool,
) -> PathBuf {
    let existing = folders.iter().map(|folder| path(folder)).find(|path| path.symlink_metadata().is_ok());
    let suitable = || folders.iter().find(|folder| is_suitable(folder));
    existing.unwrap_or_else(|| path(suitable().unwrap_or(&folders[0])))
}

/// Whether the path is that of a default arena of the calling user, for any engine and namespace. Every user may write
/// to the folders, so another user may have put a file there.
pub(crate) fn is_usual(path: &Path) -> bool {
    let begin = format!("{PREFIX}{}-", Creds::current().uid);
    let is_default = |folder: &&str| path.parent() == Some(Path::new(folder));
    FOLDERS.iter().any(is_default)
        && path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(begin.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_arena_counts_before_room() {
        let folder = tempfile::tempdir().unwrap();
        let folders = ["full", "roomy", "last"].map(|name| folder.path().join(name));
        folders.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
        let chosen = |suitable: &[&str]| {
            let is_suitable = |path: &Path| suitable.iter().any(|name| path.ends_with(name));
            choose(&folders.each_ref().map(PathBuf::as_path), |folder| folder.join("arena"), is_suitable)
        };
        assert_eq!(chosen(&["full", "roomy"]), folders[0].join("arena"));
        assert_eq!(chosen(&["roomy", "last"]), folders[1].join("arena"));
        assert_eq!(chosen(&[]), folders[0].join("arena"), "its error names the first folder");
        std::fs::write(folders[2].join("arena"), "").unwrap();
        assert_eq!(chosen(&["full", "roomy"]), folders[2].join("arena"));
    }

    #[test]
    fn names_in_all_folders_are_usual() {
        let uid = Creds::current().uid;
        assert!(
            FOLDERS.iter().all(|folder| is_usual(Path::new(&format!("{folder}/unspin-sysv-{uid}-7-rcu"))))
        );
        for path in
            [format!("/dev/shm/unspin-sysv-{}-7-rcu", uid + 1), format!("/home/unspin-sysv-{uid}-7-rcu")]
        {
            assert!(!is_usual(Path::new(&path)), "{path}");
        }
    }
}
