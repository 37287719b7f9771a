//! Writes the guest's files as the kernel reads them: a cpio archive of the form `newc`
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

use super::tree::{Node, Tree};
use cpio::newc;
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use unspin_launch::error::Error;
use unspin_sys::regular::{self, Links};

/// An initramfs in memory, which is gone with its last descriptor.
pub(crate) struct Initramfs {
    /// The archive, open for reading and writing.
    pub file: File,
    /// Bytes of the archive.
    pub bytes: u64,
}

/// Bits of `st_mode` (inode(7)).
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const DEVICE: u32 = 0o020_000;

/// An error about a file that goes into the initramfs.
pub(super) fn unreadable(path: &Path, error: io::Error) -> Error {
    Error::at(path, "cannot be put into the virtual machine", error)
}

/// Writes the tree into memory.
pub(super) fn write(tree: &Tree) -> Result<Initramfs, Error> {
    let failed = |error: io::Error| Error::failed("the initramfs", &error);
    let memory =
        memfd_create(c"unspin-initramfs", MFdFlags::MFD_CLOEXEC).map_err(|errno| failed(errno.into()))?;
    let mut archive = BufWriter::with_capacity(1 << 20, File::from(memory));
    for (path, node) in tree.nodes() {
        write_node(&mut archive, path, node)?;
    }
    newc::trailer(&mut archive).map_err(failed)?;
    let mut file = archive.into_inner().map_err(|error| failed(error.into_error()))?;
    let bytes = file.stream_position().map_err(failed)?;
    Ok(Initramfs { file, bytes })
}

fn write_node(archive: &mut impl Write, path: &Path, node: &Node) -> Result<(), Error> {
    let name = path.strip_prefix("/").unwrap_or(path);
    let name = name.to_str().ok_or_else(|| {
        Error::Usage(format!("{}: a path in the virtual machine must be UTF-8: rename it", path.display()))
    })?;
    let entry = newc::Builder::new(name);
    let written = match node {
        Node::Folder => write_bytes(archive, entry.mode(FOLDER | 0o755), b""),
        Node::Bytes(bytes) => write_bytes(archive, entry.mode(FILE | 0o644), bytes),
        Node::Link(target) => write_bytes(archive, entry.mode(LINK | 0o777), target.as_os_str().as_bytes()),
        Node::Device(major, minor) => {
            write_bytes(archive, entry.mode(DEVICE | 0o600).rdev_major(*major).rdev_minor(*minor), b"")
        }
        Node::File(host) => write_file(archive, entry, host).map_err(|error| unreadable(host, error))?,
    };
    written.map_err(|error| Error::failed("the initramfs", &error))
}

fn write_bytes(archive: &mut impl Write, entry: newc::Builder, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| too_large())?;
    let mut writer = entry.write(archive, length);
    writer.write_all(bytes)?;
    writer.finish().map(drop)
}

/// Writes a file of the host. The outer error is about that file, the inner one about the archive.
fn write_file(archive: &mut impl Write, entry: newc::Builder, host: &Path) -> io::Result<io::Result<()>> {
    let file = regular::open(host, Links::Followed)?;
    let about = file.metadata()?;
    let length = u32::try_from(about.len()).map_err(|_| too_large())?;
    let mode = FILE | about.permissions().mode() & 0o777;
    let mut writer = entry.mode(mode).write(archive, length);
    // A file that grows meanwhile is cut, and one that shrinks is refused.
    if io::copy(&mut file.take(length.into()), &mut writer)? < length.into() {
        return Err(io::Error::other("it changes while it is read: run the command again"));
    }
    Ok(writer.finish().map(drop))
}

fn too_large() -> io::Error {
    io::Error::other("it has more than 4 GiB, which an initramfs cannot hold")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::SeekFrom;

    #[test]
    fn archive_has_each_node_with_its_mode_and_contents() {
        let mut tree = Tree::default();
        tree.add_bytes(Path::new("/etc/x"), b"text".to_vec());
        tree.add_link(Path::new("/l"), Path::new("etc/x"));
        tree.add_file(Path::new("/self"), Path::new("/proc/self/exe"));
        let Initramfs { mut file, bytes } = write(&tree).unwrap();
        assert_eq!(file.metadata().unwrap().len(), bytes);
        file.seek(SeekFrom::Start(0)).unwrap();
        let mut found = Vec::new();
        loop {
            let mut reader = newc::Reader::new(&mut file).unwrap();
            if reader.entry().is_trailer() {
                break;
            }
            let (name, mode, size) =
                (reader.entry().name().to_owned(), reader.entry().mode(), reader.entry().file_size());
            let mut contents = Vec::new();
            reader.read_to_end(&mut contents).unwrap();
            assert_eq!(contents.len(), size as usize);
            if name != "self" {
                found.push((name, mode, String::from_utf8(contents).unwrap()));
            } else {
                assert_eq!((mode, contents), (0o100_755, fs::read("/proc/self/exe").unwrap()));
            }
            reader.finish().unwrap();
        }
        let expected = [("etc", 0o040_755, ""), ("etc/x", 0o100_644, "text"), ("l", 0o120_777, "etc/x")];
        assert_eq!(found, expected.map(|(name, mode, text)| (name.to_owned(), mode, text.to_owned())));
    }

    #[test]
    fn unreadable_file_is_named() {
        let mut tree = Tree::default();
        tree.add_file(Path::new("/x"), Path::new("/no/such/file"));
        let Err(error) = write(&tree) else { panic!("it was written") };
        assert!(error.to_string().starts_with("/no/such/file: cannot be put into the virtual machine: "));
    }
}
