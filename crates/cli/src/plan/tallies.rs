//! Tallies that killed processes have left.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use unspin_launch::output::scratch;
use unspin_sys::creds::Creds;
use unspin_sys::process::Liveness;
use unspin_wire::{OWN_TALLY, Tally};

/// Removes the tallies of ended processes, in the folders where the library puts them unless the user names another: those of the
/// user, or of all users for root.
pub fn remove_abandoned() {
    for folder in scratch::folders() {
        remove_abandoned_in(&folder, Creds::current().uid);
    }
}

fn remove_abandoned_in(folder: &Path, uid: u32) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named =
        entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(OWN_TALLY.as_bytes()));
    let own = named.filter(|entry| entry.metadata().is_ok_and(|about| uid == 0 || about.uid() == uid));
    for path in own.map(|entry| entry.path()).filter(|path| is_abandoned(path)) {
        // Another `unspin plan status` may remove it, too.
        let _ = fs::remove_file(path);
    }
}

fn is_abandoned(path: &Path) -> bool {
    let owner = Tally::read(path).ok().and_then(|tally| tally.owner());
    owner.is_some_and(|owner| owner.liveness() == Liveness::Dead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn only_tallies_of_ended_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let own = |name: &str| {
            let path = CString::new(path(name).into_os_string().into_encoded_bytes()).unwrap();
            Tally::own(Some(&path)).unwrap();
        };
        own("unspin-status-0-1-living");
        own("unspin-status-0-1-dead");
        // The word of the start time: the process of that number is another one.
        let mut bytes = fs::read(path("unspin-status-0-1-dead")).unwrap();
        let me = std::process::id();
        let at = bytes.chunks(8).position(|word| word == u64::from(me).to_ne_bytes()).unwrap() * 8 + 8;
        bytes[at] ^= 1;
        fs::write(path("unspin-status-0-1-dead"), bytes).unwrap();
        fs::write(path("unspin-status-0-1-other"), "no tally").unwrap();
        fs::write(path("something"), "else").unwrap();
        let uid = fs::metadata(folder.path()).unwrap().uid();
        remove_abandoned_in(folder.path(), uid + 1);
        assert!(path("unspin-status-0-1-dead").exists(), "another user's is left alone");
        remove_abandoned_in(folder.path(), uid);
        let mut left: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["something", "unspin-status-0-1-living", "unspin-status-0-1-other"]);
    }
}
