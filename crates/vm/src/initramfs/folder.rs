//! What a folder of the host has, for the guest.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a path of a folder is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    Folder,
    File,
    /// A symbolic link, with its text: its target need not be there.
    Link(PathBuf),
}

/// What is below a folder, by path, in the order of the paths. FIFOs, sockets and devices are left out: there is nothing in them
/// to be copied.
pub(super) fn entries_below(folder: &Path) -> io::Result<Vec<(PathBuf, Entry)>> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                left.push(path.clone());
                found.push((path, Entry::Folder));
            } else if kind.is_symlink() {
                let target = fs::read_link(&path)?;
                found.push((path, Entry::Link(target)));
            } else if kind.is_file() {
                found.push((path, Entry::File));
            }
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}
