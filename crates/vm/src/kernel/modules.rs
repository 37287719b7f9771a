//! The modules that a kernel needs before it can talk to the host.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules in the order in which they can be loaded. A kernel has each built in or as a file; some kernels have no module of
/// some of these names.
const NEEDED: [&str; 6] = [
    "virtio",
    "virtio_ring",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "virtio_console",
];

/// The folder below a kernel's that has them.
const FOLDERS: [&str; 2] = ["kernel/drivers/virtio", "kernel/drivers/char"];

/// The files of the modules that the kernel of this folder does not have built in, in the order in which the guest loads them.
pub fn needed(folder: &Path) -> Vec<PathBuf> {
    let files: Vec<PathBuf> = FOLDERS
        .iter()
        .filter_map(|sub| fs::read_dir(folder.join(sub)).ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
        .collect();
    NEEDED.iter().filter_map(|name| files.iter().find(|file| is_module(file, name)).cloned()).collect()
}

/// Whether a file is the module of this name, compressed or not: `virtio.ko`, `virtio.ko.xz`.
fn is_module(file: &Path, name: &str) -> bool {
    let file_name = file.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    file_name.split_once(".ko").is_some_and(|(stem, _)| stem.replace('-', "_") == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_in_the_order_of_their_dependencies() {
        let folder = tempfile::tempdir().unwrap();
        for file in
            ["virtio/virtio_pci.ko.xz", "virtio/virtio.ko", "virtio/virtio_mem.ko", "char/virtio_console.ko"]
        {
            let path = folder.path().join("kernel/drivers").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let names: Vec<String> = needed(folder.path())
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["virtio.ko", "virtio_pci.ko.xz", "virtio_console.ko"]);
        assert!(needed(Path::new("/nothing")).is_empty());
    }
}
