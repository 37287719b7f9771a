//! Separate debug files: debug information that distributions strip from programs and install separately.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::Object;

use crate::elf::Elf;

/// The debug file of a program or library, if one is installed that matches. `root` is the folder where the
/// distribution installs them, `/usr/lib/debug`.
pub(crate) fn find(elf: &Elf, root: &Path) -> Option<Elf> {
    let build_id = elf.build_id();
    by_build_id(build_id.as_deref(), root).or_else(|| by_link(elf, build_id.as_deref(), root))
}

/// The file to which `dwz` has moved the parts that several debug files have in common.
pub(crate) fn find_common(elf: &Elf, root: &Path) -> Option<Elf> {
    let (name, build_id) = elf.read(|headers| {
        let (name, build_id) = headers.gnu_debugaltlink().ok()??;
        Some((PathBuf::from(OsStr::from_bytes(name)), build_id.to_vec()))
    })?;
    let beside = elf.path().parent()?.join(name);
    let opened = Elf::open(&beside).filter(|common| common.build_id().as_deref() == Some(&build_id));
    opened.or_else(|| by_build_id(Some(&build_id), root))
}

/// The function names that Fedora packs into stripped programs (`.gnu_debugdata`, "MiniDebugInfo").
pub(crate) fn unpack(elf: &Elf) -> Option<Elf> {
    let (_, packed) = elf.section(".gnu_debugdata")?;
    let mut unpacked = Limited { bytes: Vec::new(), room: packed.len().saturating_mul(MOST_UNPACKED) };
    lzma_rs::xz_decompress(&mut &packed[..], &mut unpacked).ok()?;
    Elf::unpacked(unpacked.bytes, elf.path())
}

/// The largest plausible ratio of unpacked to packed size. Symbol tables shrink to about a tenth; a larger claim is
/// damage.
const MOST_UNPACKED: usize = 100;

/// A buffer with a maximum length.
struct Limited {
    bytes: Vec<u8>,
    room: usize,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.room = self.room.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `ROOT/.build-id/ab/cdef….debug`
fn by_build_id(build_id: Option<&[u8]>, root: &Path) -> Option<Elf> {
    let (first, rest) = build_id?.split_first()?;
    let digits: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = root.join(format!(".build-id/{first:02x}/{digits}.debug"));
    Elf::open(&path).filter(|debug| debug.build_id().as_deref() == build_id)
}

/// The file named in `.gnu_debuglink`, in the places where gdb looks for it. It must have the program's build id, or,
/// without one, the checksum that is stored beside the name.
fn by_link(elf: &Elf, build_id: Option<&[u8]>, root: &Path) -> Option<Elf> {
    let (name, checksum) = elf.read(|headers| {
        let (name, checksum) = headers.gnu_debuglink().ok()??;
        Some((PathBuf::from(OsStr::from_bytes(name)), checksum))
    })?;
    // Only the file name, so that a damaged path cannot lead elsewhere.
    let name = Path::new(name.file_name()?);
    let folder = elf.path().parent()?;
    let below_root = root.join(folder.strip_prefix("/").unwrap_or(folder));
    let places = [folder.join(name), folder.join(".debug").join(name), below_root.join(name)];
    places.iter().filter(|place| *place != elf.path()).filter_map(|place| Elf::open(place)).find(|debug| {
        match (build_id, debug.build_id()) {
            (Some(own), Some(its)) => own == its,
            _ => debug.checksum() == Some(checksum),
        }
    })
}
