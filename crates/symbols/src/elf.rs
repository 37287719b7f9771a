//! Reads an ELF file in parts, because usually only a few parts are needed and some are large.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use object::read::ReadCache;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSection, ReadRef, elf};
use unspin_sys::regular::{self, Links};

/// The headers of a file, as `object` presents them, during one reading.
pub(crate) type Headers<'data> = ElfFile64<'data, LittleEndian, &'data ReadCache<SourceReader<'data>>>;

/// An ELF file for x86-64.
pub(crate) struct Elf {
    source: ElfSource,
    path: PathBuf,
}

enum ElfSource {
    File(File),
    /// The contents of a file that was packed into another file.
    Memory(Vec<u8>),
}

/// One reading of a source.
pub(crate) enum SourceReader<'data> {
    File(&'data File),
    Memory(Cursor<&'data [u8]>),
}

/// A part of the file that is loaded into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The address at which the file asks to be loaded.
    pub address: u64,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Number of bytes in the file.
    pub file_size: u64,
    /// Number of bytes in memory, including the zeroed variables at the end.
    pub memory_size: u64,
    pub executable: bool,
}

/// Identifies a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FileId {
    pub device: u64,
    pub inode: u64,
    /// When the file was last written, or its inode changed: the inode of a deleted file is reused for the next new
    /// file.
    pub changed: SystemTime,
    /// The file's length in bytes.
    pub length: u64,
    /// When its contents were last written, in seconds and nanoseconds since the epoch.
    pub written: (u64, u64),
}

impl FileId {
    fn of(about: &std::fs::Metadata) -> FileId {
        let seconds = Duration::from_secs(about.ctime().max(0) as u64);
        let changed =
            SystemTime::UNIX_EPOCH + seconds + Duration::from_nanos(about.ctime_nsec().max(0) as u64);
        let written = (about.mtime() as u64, about.mtime_nsec() as u64);
        FileId { device: about.dev(), inode: about.ino(), changed, length: about.len(), written }
    }
}

/// The file at a path; `None` if it is not a regular file, because opening a device may have side effects.
pub(crate) fn identity_of(path: &Path) -> Option<FileId> {
    let about = std::fs::metadata(path).ok()?;
    about.is_file().then(|| FileId::of(&about))
}

impl Elf {
    /// `None` if the path is not a readable ELF file for this machine.
    pub fn open(path: &Path) -> Option<Elf> {
        Elf::from_source(ElfSource::File(regular::open(path, Links::Followed).ok()?), path)
    }

    /// An ELF file that was packed into the file at `path`.
    pub fn unpacked(bytes: Vec<u8>, path: &Path) -> Option<Elf> {
        Elf::from_source(ElfSource::Memory(bytes), path)
    }

    fn from_source(source: ElfSource, path: &Path) -> Option<Elf> {
        let elf = Elf { source, path: path.to_path_buf() };
        let machine = elf.read(|headers| Some(headers.elf_header().e_machine(LittleEndian)))?;
        (machine == elf::EM_X86_64).then_some(elf)
    }

    /// The path with which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Identifies the opened file.
    pub fn identity(&self) -> Option<FileId> {
        let ElfSource::File(file) = &self.source else { return None };
        Some(FileId::of(&file.metadata().ok()?))
    }

    /// Calls `look` with the headers, through which it can read the rest.
    pub fn read<T>(&self, look: impl FnOnce(&Headers<'_>) -> Option<T>) -> Option<T> {
        let cache = ReadCache::new(match &self.source {
            ElfSource::File(file) => SourceReader::File(file),
            ElfSource::Memory(bytes) => SourceReader::Memory(Cursor::new(bytes)),
        });
        look(&Headers::parse(&cache).ok()?)
    }

    /// The loaded segments, by address.
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

    /// The unpacked contents of a section, and its address. `None` if the file does not have the section.
    pub fn section(&self, name: &str) -> Option<(u64, Arc<[u8]>)> {
        self.read(|headers| {
            let section = headers.section_by_name(name)?;
            contents(&section).map(|bytes| (section.address(), bytes))
        })
    }

    /// The address of a section, without reading its contents.
    pub fn section_address(&self, name: &str) -> Option<u64> {
        self.read(|headers| Some(headers.section_by_name(name)?.address()))
    }

    /// The bytes of a segment that are in the file.
    pub fn bytes(&self, segment: &Segment) -> Option<Vec<u8>> {
        self.read(|headers| {
            let bytes = headers.data().read_bytes_at(segment.offset, segment.file_size).ok()?;
            Some(bytes.to_vec())
        })
    }

    /// The checksum of the whole file.
    pub fn checksum(&self) -> Option<u32> {
        let mut file = regular::open(&self.path, Links::Followed).ok()?;
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

impl Read for SourceReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            SourceReader::File(file) => file.read(into),
            SourceReader::Memory(bytes) => bytes.read(into),
        }
    }
}

impl Seek for SourceReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            SourceReader::File(file) => file.seek(to),
            SourceReader::Memory(bytes) => bytes.seek(to),
        }
    }
}

/// The largest plausible compression ratio of zlib, with a margin. A header that claims more is damaged and would make
/// us allocate any amount of memory. (Deflate codes at most 258 bytes in two bits: RFC 1951.)
const MOST_UNPACKED: u64 = 1100;

/// A section's bytes. In a separate debug file, sections that stayed in the program have none.
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
