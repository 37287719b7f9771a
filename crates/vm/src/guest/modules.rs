//! Loads the modules that the host has put into the initramfs.

use crate::initramfs::MODULES;
use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Flag of finit_module(2), since Linux 5.17: the kernel unpacks the file.
const COMPRESSED: u32 = 4;

/// Loads them in the order of their names.
pub(super) fn load() -> Result<(), String> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(MODULES).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.iter().try_for_each(|file| load_one(file))
}

fn load_one(path: &Path) -> Result<(), String> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let is_compressed = path.extension().is_some_and(|extension| extension != "ko");
    let flags = if is_compressed { COMPRESSED } else { 0 };
    match finit_module(&file, c"", ModuleInitFlags::from_bits_retain(flags)) {
        Ok(()) | Err(Errno::EEXIST) => Ok(()),
        Err(errno) => Err(format!("the module {} cannot be loaded: {errno}", path.display())),
    }
}
