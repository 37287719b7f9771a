//! Reading an ELF file, a part at a time: of most files only a few parts are ever needed, and some are large.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::read::ReadCache;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSection, elf};

/// The headers of a file, as `object` shows them, for the time of one reading.
pub(crate) type Headers<'data> = ElfFile64<'data, LittleEndian, &'data ReadCache<&'data File>>;

/// An open ELF file for x86-64.
pub(crate) struct Elf {
    file: File,
    path: PathBuf,
}

/// A part of the file that is loaded into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Where the file asks for it to be.
    pub address: u64,
    /// Of its first byte, in the file.
    pub offset: u64,
    /// Bytes of it that the file holds.
    pub file_size: u64,
    /// Bytes with the zeroed variables behind.
    pub memory_size: u64,
    pub executable: bool,
}

/// The device and inode of a file, or `None` for anything but a regular file: opening a device could do something.
pub(crate) fn regular(path: &Path) -> Option<(u64, u64)> {
    let about = std::fs::metadata(path).ok()?;
    about.is_file().then(|| (about.dev(), about.ino()))
}

impl Elf {
    /// `None` for what is not a readable ELF file for this machine.
    pub fn open(path: &Path) -> Option<Elf> {
        regular(path)?;
        let elf = Elf { file: File::open(path).ok()?, path: path.to_path_buf() };
        let machine = elf.read(|headers| Some(headers.elf_header().e_machine(LittleEndian)))?;
        (machine == elf::EM_X86_64).then_some(elf)
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The device and inode of what was opened.
    pub fn identity(&self) -> Option<(u64, u64)> {
        let about = self.file.metadata().ok()?;
        Some((about.dev(), about.ino()))
    }

    /// Looks at the headers, and through them at the rest.
    pub fn read<T>(&self, look: impl FnOnce(&Headers<'_>) -> Option<T>) -> Option<T> {
        let cache = ReadCache::new(&self.file);
        look(&Headers::parse(&cache).ok()?)
    }

    /// The parts that are loaded, by address.
    pub fn segments(&self) -> Vec<Segment> {
        let segments = self.read(|headers| {
            let loaded = headers
                .elf_program_headers()
                .iter()
                .filter(|header| header.p_type(LittleEndian) == elf::PT_LOAD);
            let mut segments: Vec<Segment> = loaded.map(segment).collect();
            segments.sort_by_key(|segment| segment.address);
            Some(segments)
        });
        segments.unwrap_or_default()
    }

    pub fn build_id(&self) -> Option<Vec<u8>> {
        self.read(|headers| headers.build_id().ok()?.map(<[u8]>::to_vec)).filter(|id| !id.is_empty())
    }

    /// The contents of a section, unpacked, and its address. `None` for one that the file does not hold.
    pub fn section(&self, name: &str) -> Option<(u64, Arc<[u8]>)> {
        self.read(|headers| {
            let section = headers.section_by_name(name)?;
            contents(&section).map(|bytes| (section.address(), bytes))
        })
    }

    /// The address of a section, without its contents.
    pub fn section_address(&self, name: &str) -> Option<u64> {
        self.read(|headers| Some(headers.section_by_name(name)?.address()))
    }

    /// All of the file: for a checksum over it.
    pub fn checksum(&self) -> Option<u32> {
        use std::io::Read;
        let mut file = File::open(&self.path).ok()?;
        let mut hasher = crc32fast::Hasher::new();
        let mut piece = vec![0; 1 << 16];
        loop {
            match file.read(&mut piece).ok()? {
                0 => return Some(hasher.finalize()),
                length => hasher.update(&piece[..length]),
            }
        }
    }
}

/// The best that zlib can do, with something to spare: a header that claims more is damaged, and would have us reserve
/// as much memory as it likes. (Deflate codes at most 258 bytes in two bits, see its RFC 1951.)
const MOST_UNPACKED: u64 = 1100;

/// A section's bytes. Sections of a separate debug file that stayed behind in the program have none.
pub(crate) fn contents<'data>(section: &impl ObjectSection<'data>) -> Option<Arc<[u8]>> {
    let range = section.compressed_file_range().ok()?;
    if range.uncompressed_size / MOST_UNPACKED > range.compressed_size {
        return None;
    }
    let bytes = section.uncompressed_data().ok()?;
    (!bytes.is_empty()).then(|| Arc::from(bytes))
}

fn segment(header: &elf::ProgramHeader64<LittleEndian>) -> Segment {
    Segment {
        address: header.p_vaddr(LittleEndian),
        offset: header.p_offset(LittleEndian),
        file_size: header.p_filesz(LittleEndian),
        memory_size: header.p_memsz(LittleEndian),
        executable: header.p_flags(LittleEndian).0 & elf::PF_X.0 != 0,
    }
}
