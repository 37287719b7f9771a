//! Reading an ELF file, a part at a time: of most files only a few parts are ever needed, and some are large.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use object::read::ReadCache;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSection, ReadRef, elf};

/// The headers of a file, as `object` shows them, for the time of one reading.
pub(crate) type Headers<'data> = ElfFile64<'data, LittleEndian, &'data ReadCache<Reading<'data>>>;

/// An ELF file for x86-64.
pub(crate) struct Elf {
    source: Source,
    path: PathBuf,
}

enum Source {
    File(File),
    /// What was packed into another file.
    Memory(Vec<u8>),
}

/// One look at a source.
pub(crate) enum Reading<'data> {
    File(&'data File),
    Memory(Cursor<&'data [u8]>),
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

/// Which file it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FileId {
    pub device: u64,
    pub inode: u64,
    /// When it was last written to, or took its inode: an inode that was freed is given to the next new file.
    pub changed: SystemTime,
}

impl FileId {
    fn of(about: &std::fs::Metadata) -> FileId {
        let seconds = Duration::from_secs(about.ctime().max(0) as u64);
        let changed =
            SystemTime::UNIX_EPOCH + seconds + Duration::from_nanos(about.ctime_nsec().max(0) as u64);
        FileId { device: about.dev(), inode: about.ino(), changed }
    }
}

/// What a path leads to, or `None` for anything but a regular file: opening a device could do something.
pub(crate) fn regular(path: &Path) -> Option<FileId> {
    let about = std::fs::metadata(path).ok()?;
    about.is_file().then(|| FileId::of(&about))
}

impl Elf {
    /// `None` for what is not a readable ELF file for this machine.
    pub fn open(path: &Path) -> Option<Elf> {
        regular(path)?;
        Elf::checked(Source::File(File::open(path).ok()?), path)
    }

    /// An ELF file that was packed into the one at `path`.
    pub fn unpacked(bytes: Vec<u8>, path: &Path) -> Option<Elf> {
        Elf::checked(Source::Memory(bytes), path)
    }

    fn checked(source: Source, path: &Path) -> Option<Elf> {
        let elf = Elf { source, path: path.to_path_buf() };
        let machine = elf.read(|headers| Some(headers.elf_header().e_machine(LittleEndian)))?;
        (machine == elf::EM_X86_64).then_some(elf)
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was opened.
    pub fn identity(&self) -> Option<FileId> {
        let Source::File(file) = &self.source else { return None };
        Some(FileId::of(&file.metadata().ok()?))
    }

    /// Looks at the headers, and through them at the rest.
    pub fn read<T>(&self, look: impl FnOnce(&Headers<'_>) -> Option<T>) -> Option<T> {
        let cache = ReadCache::new(match &self.source {
            Source::File(file) => Reading::File(file),
            Source::Memory(bytes) => Reading::Memory(Cursor::new(bytes)),
        });
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

    /// What the file holds of a segment.
    pub fn bytes(&self, segment: &Segment) -> Option<Vec<u8>> {
        self.read(|headers| {
            let bytes = headers.data().read_bytes_at(segment.offset, segment.file_size).ok()?;
            Some(bytes.to_vec())
        })
    }

    /// All of the file: for a checksum over it.
    pub fn checksum(&self) -> Option<u32> {
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

impl Read for Reading<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Reading::File(file) => file.read(into),
            Reading::Memory(bytes) => bytes.read(into),
        }
    }
}

impl Seek for Reading<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Reading::File(file) => file.seek(to),
            Reading::Memory(bytes) => bytes.seek(to),
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
