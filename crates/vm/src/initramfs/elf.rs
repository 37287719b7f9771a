//! What a program or library asks of the dynamic linker, read from its file. Nothing of it is executed: a data file of a folder may
//! name any program as its dynamic linker.

use object::elf::{
    self, DT_NEEDED, DT_NULL, DT_RPATH, DT_RUNPATH, DT_STRSZ, DT_STRTAB, DynamicTag, FileHeader32,
    FileHeader64, Machine, PT_LOAD,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::read::{ReadCache, ReadRef};
use object::{Endianness, FileKind};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use unspin_sys::regular::{self, Links};

/// A file, as the dynamic linker sees it.
#[derive(Debug)]
pub(super) enum ElfFile {
    /// It is no ELF file, or cannot be read.
    None,
    /// It is for another processor, or damaged.
    Unusable,
    /// The guest can use it.
    Usable(Elf),
}

/// A program or library for the guest's processor.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Elf {
    /// The code of the processor (`e_machine`): a program and its libraries have the same one.
    pub machine: Machine,
    /// The dynamic linker; libraries and static programs have none.
    pub interpreter: Option<PathBuf>,
    /// The names of its libraries.
    pub needed: Vec<OsString>,
    /// The folders of `DT_RPATH`, which are those of its libraries, too. None if there are folders of `DT_RUNPATH`.
    pub rpath: Vec<OsString>,
    /// The folders of `DT_RUNPATH`.
    pub runpath: Vec<OsString>,
}

impl ElfFile {
    /// Reads a file.
    pub fn read(path: &Path) -> ElfFile {
        let Ok(file) = regular::open(path, Links::Followed) else { return ElfFile::None };
        let data: ReadCache<File> = ReadCache::new(file);
        let found = match FileKind::parse(&data) {
            Ok(FileKind::Elf64) => Elf::read::<FileHeader64<Endianness>, _>(&data),
            Ok(FileKind::Elf32) => Elf::read::<FileHeader32<Endianness>, _>(&data),
            _ if is_elf(&data) => None,
            _ => return ElfFile::None,
        };
        found.map_or(ElfFile::Unusable, ElfFile::Usable)
    }

    /// What it asks for, if the guest can use it.
    pub fn usable(self) -> Option<Elf> {
        match self {
            ElfFile::Usable(elf) => Some(elf),
            ElfFile::None | ElfFile::Unusable => None,
        }
    }
}

fn is_elf<'d>(data: impl ReadRef<'d>) -> bool {
    data.read_bytes_at(0, 4).is_ok_and(|magic| magic == elf::ELFMAG)
}

impl Elf {
    /// None for another processor than the guest's, and for a damaged file.
    fn read<'d, H: FileHeader<Endian = Endianness>, R: ReadRef<'d>>(data: R) -> Option<Elf> {
        let header = H::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let machine = header.e_machine(endian);
        if !matches!(machine, elf::EM_X86_64 | elf::EM_386) {
            return None;
        }
        let mut found = Elf { machine, ..Elf::default() };
        let segments = header.program_headers(endian, data).ok()?;
        for segment in segments {
            if let Some(path) = segment.interpreter(endian, data).ok()? {
                found.interpreter = Some(OsStr::from_bytes(path).into());
            }
            if let Some(entries) = segment.dynamic(endian, data).ok()? {
                found.read_dynamic::<H, R>(endian, data, segments, entries)?;
            }
        }
        Some(found)
    }

    /// Reads the entries of the dynamic segment. Their strings are offsets into a table, which an entry names by its address.
    fn read_dynamic<'d, H: FileHeader<Endian = Endianness>, R: ReadRef<'d>>(
        &mut self,
        endian: Endianness,
        data: R,
        segments: &[H::ProgramHeader],
        entries: &[H::Dyn],
    ) -> Option<()> {
        let entries: Vec<(DynamicTag, u64)> = entries
            .iter()
            .map(|entry| (entry.d_tag(endian), entry.d_val(endian).into()))
            .take_while(|(tag, _)| *tag != DT_NULL)
            .collect();
        let value =
            |wanted: DynamicTag| entries.iter().find(|(tag, _)| *tag == wanted).map(|(_, value)| *value);
        let Some(address) = value(DT_STRTAB) else { return Some(()) };
        let segment = segments.iter().find(|segment| {
            let start: u64 = segment.p_vaddr(endian).into();
            let size: u64 = segment.p_filesz(endian).into();
            segment.p_type(endian) == PT_LOAD && address.checked_sub(start).is_some_and(|below| below < size)
        })?;
        let offset =
            (address - segment.p_vaddr(endian).into()).checked_add(segment.p_offset(endian).into())?;
        let table = data.read_bytes_at(offset, value(DT_STRSZ)?).ok()?;
        let strings = |wanted: DynamicTag| {
            let offsets = entries.iter().filter(move |(tag, _)| *tag == wanted).map(|(_, value)| *value);
            offsets.filter_map(|offset| {
                table.get(usize::try_from(offset).ok()?..)?.split(|&byte| byte == 0).next()
            })
        };
        self.needed = strings(DT_NEEDED).map(|name| OsStr::from_bytes(name).to_owned()).collect();
        self.runpath = strings(DT_RUNPATH).flat_map(folders).collect();
        if self.runpath.is_empty() {
            self.rpath = strings(DT_RPATH).flat_map(folders).collect();
        }
        Some(())
    }
}

/// The folders of a list with colons.
fn folders(list: &[u8]) -> impl Iterator<Item = OsString> {
    list.split(|&byte| byte == b':').map(|folder| OsStr::from_bytes(folder).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn program_names_its_linker_and_its_libraries() {
        let own = ElfFile::read(Path::new("/proc/self/exe")).usable().unwrap();
        assert!(own.interpreter.unwrap().to_string_lossy().contains("ld-linux"));
        assert!(own.needed.contains(&"libc.so.6".into()), "{:?}", own.needed);
    }

    #[test]
    fn damaged_and_foreign_files_are_unusable() {
        let folder = tempfile::tempdir().unwrap();
        let read = |bytes: &[u8]| {
            let path = folder.path().join("file");
            fs::write(&path, bytes).unwrap();
            ElfFile::read(&path)
        };
        let own = fs::read("/proc/self/exe").unwrap();
        assert!(matches!(read(b"text"), ElfFile::None) && matches!(read(b""), ElfFile::None));
        assert!(matches!(read(&own[..64]), ElfFile::Unusable));
        let mut foreign = own[..4096].to_vec();
        // e_machine of AArch64.
        foreign[18..20].copy_from_slice(&183u16.to_le_bytes());
        assert!(matches!(read(&foreign), ElfFile::Unusable));
        // Any bytes: nothing but an answer is wanted.
        for at in 0..1024 {
            let mut damaged = own[..8192.min(own.len())].to_vec();
            damaged[at] ^= 0xff;
            let _ = read(&damaged);
        }
    }
}
