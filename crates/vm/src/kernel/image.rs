//! The file of a kernel, as boot loaders read it (Documentation/arch/x86/boot.rst).

use std::fs::File;
use std::io::Read;
use std::path::Path;
use unspin_launch::error::Error;
use unspin_sys::regular::{self, Links};

/// Bytes in which the header and the version lie.
const HEAD: u64 = 64 << 10;
/// Offset of the magic number `HdrS`.
const MAGIC_AT: usize = 0x202;
/// Offset of the version's offset, which counts from the second sector.
const VERSION_AT: usize = 0x20e;
const SECTOR: usize = 0x200;

/// The release of the kernel in a file, from its header. An error if the file is no kernel, or cannot be read.
pub fn release(path: &Path) -> Result<String, Error> {
    let refuse = |why: &str| Error::Usage(format!("--kernel {}: {why}", path.display()));
    let file = regular::open(path, Links::Followed).map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            refuse("you may not read it: run unspin as root, or name a copy that you may read")
        }
        _ => refuse(&format!("{error}; name a kernel's file, such as /boot/vmlinuz-VERSION")),
    })?;
    let head = read_head(file).map_err(|error| refuse(&error.to_string()))?;
    release_of(&head).ok_or_else(|| {
        refuse("is no kernel that a boot loader could start: name a file such as /boot/vmlinuz-VERSION")
    })
}

fn read_head(file: File) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

fn release_of(head: &[u8]) -> Option<String> {
    let magic = head.get(MAGIC_AT..MAGIC_AT + 4)?;
    let offset = head.get(VERSION_AT..VERSION_AT + 2)?;
    let start = usize::from(u16::from_le_bytes([offset[0], offset[1]])) + SECTOR;
    let version = head.get(start..)?.split(|&byte| byte == 0).next()?;
    let release = version.split(|&byte| byte == b' ').next()?;
    let is_text = !release.is_empty() && release.iter().all(u8::is_ascii_graphic);
    (magic == b"HdrS" && is_text).then(|| String::from_utf8_lossy(release).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(magic: &[u8], version: &[u8]) -> Vec<u8> {
        let mut head = vec![0; 0x400];
        head[MAGIC_AT..MAGIC_AT + magic.len()].copy_from_slice(magic);
        head[VERSION_AT..VERSION_AT + 2].copy_from_slice(&0x100u16.to_le_bytes());
        head[0x300..0x300 + version.len()].copy_from_slice(version);
        head
    }

    #[test]
    fn release_is_the_first_word_of_the_version() {
        let read = |magic: &[u8], version: &[u8]| release_of(&image(magic, version));
        assert_eq!(read(b"HdrS", b"7.3.4-amd64 (builder) #1"), Some("7.3.4-amd64".into()));
        assert_eq!(read(b"HdrX", b"7.3.4"), None);
        assert_eq!(read(b"HdrS", b""), None);
        assert_eq!(release_of(b"#!/bin/sh\n"), None);
    }

    #[test]
    fn file_that_is_no_kernel_is_refused_with_a_remedy() {
        let said = |path: &str| release(Path::new(path)).unwrap_err().to_string();
        assert!(said("/proc/self/exe").contains("is no kernel that a boot loader could start: name a file"));
        assert!(said("/nothing/vmlinuz").starts_with("--kernel /nothing/vmlinuz: "));
        assert!(said("/etc").contains("name a kernel's file"), "{}", said("/etc"));
    }
}
