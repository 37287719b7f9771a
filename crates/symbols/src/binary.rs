//! One file that processes have mapped, with everything that has been read from it so far.

use std::cell::OnceCell;
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

use crate::debug;
use crate::dwarf::Dwarf;
use crate::elf::{self, Elf, FileId, Segment};
use crate::space::{Build, Identity, Module};
use crate::statics::Statics;
use crate::table::NameTable;
use crate::unwind::Rules;

/// A program or library. *Addresses of the file* are those in the file itself; a process has them shifted by the file's
/// bias.
pub(crate) struct Binary {
    elf: Elf,
    segments: Vec<Segment>,
    debug: OnceCell<Option<Elf>>,
    table: OnceCell<NameTable>,
    dwarf: OnceCell<Option<Dwarf>>,
    statics: OnceCell<Statics>,
    rules: OnceCell<Option<Rules>>,
}

/// The page size of x86-64, the unit of mappings.
const PAGE: u64 = 4096;

impl Binary {
    /// Opens the file that was mapped at a time. `None` if the name now belongs to another file, or if the file has
    /// changed since.
    pub fn open(module: &Module, mapped: Option<SystemTime>) -> Option<Binary> {
        let is_in_time = |file: FileId| mapped.is_none_or(|at| file.changed <= at);
        let same = |file: FileId| {
            is_the_same((file.device, file.inode), module.identity)
                && (is_in_time(file) || matches!(module.build, Some(Build::Id(_))))
        };
        if !module.is_file() || !same(elf::identity_of(&module.path)?) {
            return None;
        }
        let elf = Elf::open(&module.path)?;
        let file = elf.identity()?;
        (same(file) && is_build(&elf, file, module.build.as_ref())).then(|| Binary::of(elf))
    }

    /// The contents of an open file.
    pub fn of(elf: Elf) -> Binary {
        let segments = elf.segments();
        Binary {
            elf,
            segments,
            debug: OnceCell::new(),
            table: OnceCell::new(),
            dwarf: OnceCell::new(),
            statics: OnceCell::new(),
            rules: OnceCell::new(),
        }
    }

    /// The open file.
    pub fn elf(&self) -> &Elf {
        &self.elf
    }

    /// The segments that hold code.
    pub fn code(&self) -> Vec<Segment> {
        self.segments.iter().copied().filter(|segment| segment.executable).collect()
    }

    /// The range from the first loaded address to the last.
    pub fn extent(&self) -> Range<u64> {
        let start = self.segments.iter().map(|segment| segment.address).min().unwrap_or(0);
        let end =
            self.segments.iter().map(|segment| segment.address.saturating_add(segment.memory_size)).max();
        start..end.unwrap_or(start)
    }

    /// Converts an address of a process to an address of the file. `None` if the file has nothing there.
    ///
    /// A file counts as loaded only if its code is mapped in this process. Programs also map files, their own or
    /// others, to read them; the memory after such a mapping does not hold the file's variables.
    pub fn translate(&self, module: &Module, address: u64) -> Option<u64> {
        if !module.mappings.iter().any(|mapping| mapping.executable) {
            return None;
        }
        let own = address.wrapping_sub(self.bias(module)?);
        self.segments
            .iter()
            .any(|segment| own.wrapping_sub(segment.address) < segment.memory_size)
            .then_some(own)
    }

    /// The symbol table, merged with that of the separate debug file.
    pub fn table(&self, root: &Path) -> &NameTable {
        self.table.get_or_init(|| {
            let packed = debug::unpack(&self.elf);
            NameTable::read([Some(&self.elf), self.debug(root), packed.as_ref()].into_iter().flatten())
        })
    }

    /// The debug information, from the program or from its debug file.
    pub fn dwarf(&self, root: &Path) -> Option<&Dwarf> {
        let load = || {
            [Some(&self.elf), self.debug(root)].into_iter().flatten().find_map(|elf| {
                let common = debug::find_common(elf, root);
                Dwarf::load(elf, common.as_ref())
            })
        };
        self.dwarf.get_or_init(load).as_ref()
    }

    /// The declarations of static variables.
    pub fn statics(&self, root: &Path) -> &Statics {
        self.statics.get_or_init(|| self.dwarf(root).map(Statics::read).unwrap_or_default())
    }

    /// The unwind rules, which lead from a function to its caller.
    pub fn rules(&self) -> Option<&Rules> {
        self.rules.get_or_init(|| Rules::read(&self.elf)).as_ref()
    }

    fn debug(&self, root: &Path) -> Option<&Elf> {
        self.debug.get_or_init(|| debug::find(&self.elf, root)).as_ref()
    }

    /// The file's bias in this process. Each mapping that fits a segment votes for one, because two segments may share
    /// a page of the file, and a process may map the file once more to read it.
    fn bias(&self, module: &Module) -> Option<u64> {
        let mut votes: Vec<(u64, usize)> = Vec::new();
        for mapping in &module.mappings {
            let fitting = self.segments.iter().filter(|segment| {
                segment.executable == mapping.executable
                    && mapping.offset >= segment.offset / PAGE * PAGE
                    && mapping.offset < segment.offset.saturating_add(segment.file_size)
            });
            for segment in fitting {
                let shift = segment.address.wrapping_sub(segment.offset);
                let bias = mapping.range.start.wrapping_sub(mapping.offset).wrapping_sub(shift);
                match votes.iter_mut().find(|(known, _)| *known == bias) {
                    Some((_, count)) => *count += 1,
                    None => votes.push((bias, 1)),
                }
            }
        }
        // The first of equals; rev(), because max_by_key takes the last.
        votes.into_iter().rev().max_by_key(|&(_, count)| count).map(|(bias, _)| bias)
    }
}

/// Whether an open file is the build that was mapped. A number of an inode is used again, and a file may be overwritten.
fn is_build(elf: &Elf, file: FileId, build: Option<&Build>) -> bool {
    match build {
        None => true,
        Some(Build::Id(id)) => elf.build_id().is_some_and(|own| hex(&own) == *id),
        Some(&Build::Stamp { length, seconds, nanoseconds }) => {
            (file.length, file.written) == (length, (seconds, nanoseconds))
        }
    }
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether an open file is the one that was mapped. Some file systems (btrfs, overlayfs) show programs another device
/// than the kernel shows in maps; those devices are anonymous, with major number zero.
fn is_the_same((device, inode): (u64, u64), mapped: Identity) -> bool {
    // Split as in glibc's gnu_dev_major and gnu_dev_minor.
    let major = (device >> 8 & 0xfff) | (device >> 32 & !0xfff);
    let minor = (device & 0xff) | (device >> 12 & 0xffff_ff00);
    inode == mapped.inode && ((major, minor) == (mapped.major, mapped.minor) || major == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_compared_as_the_kernel_prints_them() {
        let mapped = Identity { major: 0xfe, minor: 0x1, inode: 7 };
        assert!(is_the_same((0xfe01, 7), mapped));
        assert!(!is_the_same((0xfe02, 7), mapped));
        assert!(!is_the_same((0xfe01, 8), mapped));
        assert!(is_the_same((0x2b, 7), mapped), "an anonymous device says nothing");
        let large = Identity { major: 0x1234, minor: 0x56789, inode: 7 };
        let device = 0x89 | 0x234 << 8 | 0x567 << 20 | 0x1 << 44;
        assert!(is_the_same((device, 7), large));
        assert!(!is_the_same((device ^ 1 << 44, 7), large));
    }
}
