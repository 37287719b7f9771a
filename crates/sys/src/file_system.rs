//! The file system in which a folder lies: the room in it, and whether programs may be mapped from it.

use crate::{Errno, file, raw};
use std::path::Path;

/// A file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileSystem {
    /// Bytes that the caller may still write there. A file system without a limit of its own, such as a tmpfs that is mounted with
    /// size=0, has `u64::MAX`.
    pub free: u64,
    /// Whether no file of it may be mapped as code: mount(8), "noexec".
    pub is_noexec: bool,
    /// Whether nothing can be written to it: mount(8), "ro".
    pub is_read_only: bool,
}

/// The words of the kernel's `struct statfs` on x86-64 (asm-generic/statfs.h); libc's has no name for the flags.
const WORDS: usize = 15;
const BLOCK_BYTES: usize = 1;
const BLOCKS: usize = 2;
const AVAILABLE: usize = 4;
const FLAGS: usize = 10;
// statfs(2), "f_flags".
const ST_RDONLY: u64 = 1;
const ST_NOEXEC: u64 = 8;

impl FileSystem {
    /// That of a folder.
    ///
    /// # Errors
    /// Those of statfs(2).
    pub fn of(folder: &Path) -> Result<FileSystem, Errno> {
        let about = file::with_c_string(folder, |path| {
            let mut about = [0u64; WORDS];
            // SAFETY: the path is a C string; the kernel fills the structure, which has this size.
            unsafe { raw::call(libc::SYS_statfs, [path.as_ptr() as usize, about.as_mut_ptr() as usize]) }?;
            Ok(about)
        })?;
        let free = match about[BLOCKS] {
            0 => u64::MAX,
            _ => about[AVAILABLE].saturating_mul(about[BLOCK_BYTES]),
        };
        let has = |flag| about[FLAGS] & flag != 0;
        Ok(FileSystem { free, is_noexec: has(ST_NOEXEC), is_read_only: has(ST_RDONLY) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_system_of_a_folder_is_described() {
        let here = FileSystem::of(&std::env::temp_dir()).unwrap();
        assert!(!here.is_read_only && here.free > 0, "{here:?}");
        let proc = FileSystem::of(Path::new("/proc")).unwrap();
        assert_eq!(proc.free, u64::MAX, "it has no blocks");
        assert_eq!(FileSystem::of(Path::new("/no/such/folder")), Err(Errno::ENOENT));
    }
}
