//! Files that are made once and kept below the target folder. The name of each contains the hash of everything that
//! determines its contents.

use crate::target::target_directory;
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The path of the file in `target/FOLDER` whose contents these parts determine.
pub fn place<P: AsRef<[u8]>>(folder: &str, parts: &[P]) -> PathBuf {
    let mut hash = Sha256::new();
    for part in parts.iter().map(AsRef::as_ref) {
        // With its length, so that no two lists of parts are the same bytes.
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    let name: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    target_directory().join(folder).join(name)
}

/// Creates the file. `write` gets a temporary name, so that the file exists whole or not at all. Tests that create the
/// same one at the same time each write their own, and the last stays.
pub fn keep(file: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let folder = file.parent().expect("it lies in the folder of all that is kept");
    fs::create_dir_all(folder)?;
    let scratch = tempfile::tempdir_in(folder)?;
    let unfinished = scratch.path().join("output");
    write(&unfinished)?;
    fs::rename(unfinished, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_follows_the_parts_and_their_limits() {
        let all = [
            place("x", &["ab", "c"]),
            place("x", &["a", "bc"]),
            place("x", &["ab"]),
            place("x", &["ab", "d"]),
        ];
        assert!((1..all.len()).all(|n| !all[..n].contains(&all[n])), "{all:?}");
        assert_eq!(all[0], place("x", &["ab", "c"]));
    }
}
