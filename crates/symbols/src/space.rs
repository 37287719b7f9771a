//! The address space of a process: which files are mapped where.

use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use unspin_sys::printable;

/// One address space, from the text of `/proc/PID/maps`.
///
/// Lines without a path may be missing. They hold zeroed variables (`.bss`), which are found through their file.
/// Malformed lines are skipped.
#[derive(Clone, Debug, Default)]
pub struct AddressSpace {
    /// Sorted by address.
    modules: Vec<Module>,
}

/// A loaded file, or a kernel area such as `[vdso]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The path as the kernel shows it, without the suffix of a deleted file.
    pub path: PathBuf,
    /// From the first mapped byte to the last, without the zeroed variables after it.
    pub range: Range<u64>,
    /// Whether the file had been deleted when the text was read.
    pub deleted: bool,
    /// The name of the file that replaces the last part of its path.
    pub(crate) called: Option<String>,
    pub(crate) identity: Identity,
    /// Which build of the file was mapped, if that was recorded.
    pub(crate) build: Option<Build>,
    /// Sorted by address, never empty.
    pub(crate) mappings: Vec<Mapping>,
}

/// Distinguishes builds of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Build {
    /// The file's build id, in hexadecimal digits.
    Id(String),
    /// For a file without a build id: its length, and the time when it was last written.
    Stamp {
        /// In bytes.
        length: u64,
        /// Since the epoch.
        seconds: u64,
        /// Since that second.
        nanoseconds: u64,
    },
}

/// Identifies the file, independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub major: u64,
    pub minor: u64,
    pub inode: u64,
}

/// One line: a mapped part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub range: Range<u64>,
    /// Offset of the first byte in the file.
    pub offset: u64,
    pub executable: bool,
}

impl AddressSpace {
    /// Parses the text of `/proc/PID/maps`. Among its lines may be those of a recording that tell which build of a file was
    /// mapped: `id START HEX`, and `stamp START LENGTH SECONDS NANOSECONDS`.
    pub fn parse(maps: &[u8]) -> AddressSpace {
        let mut lines: Vec<MapsLine> =
            maps.split(|&byte| byte == b'\n').filter_map(MapsLine::parse).collect();
        lines.sort_by_key(|line| line.mapping.range.start);
        let mut modules: Vec<Module> = Vec::new();
        for line in lines {
            match modules.last_mut() {
                Some(module) if line.continues(module) => module.add(line.mapping),
                _ => modules.push(line.into_module()),
            }
        }
        for (start, build) in maps.split(|&byte| byte == b'\n').filter_map(Build::parse) {
            // Several files may have been mapped there, one after another: the last matching line belongs to the last
            // of them.
            if let Some(module) = modules.iter_mut().find(|module| module.range.start == start) {
                module.build = Some(build);
            }
        }
        AddressSpace { modules }
    }

    /// This space, in which the file of a path is called by another name: that of a symbolic link to it.
    pub fn with_name(mut self, path: &Path, name: &str) -> AddressSpace {
        for module in self.modules.iter_mut().filter(|module| module.path == path) {
            module.called = Some(name.to_owned());
        }
        self
    }

    /// The module whose mapping contains this address.
    pub fn module_of(&self, address: u64) -> Option<&Module> {
        self.module_below(address).filter(|module| module.mapping_of(address).is_some())
    }

    /// The last module that begins at or below the address; a file's zeroed variables lie after its last line.
    pub(crate) fn module_below(&self, address: u64) -> Option<&Module> {
        let above = self.modules.partition_point(|module| module.range.start <= address);
        self.modules[..above].last()
    }

    /// Whether code of a file or of the kernel is mapped at this address.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        let mapping = self.module_of(address).and_then(|module| module.mapping_of(address));
        mapping.is_some_and(|mapping| mapping.executable)
    }
}

impl Build {
    /// The address at which the file is mapped, and its build.
    fn parse(line: &[u8]) -> Option<(u64, Build)> {
        let mut words = std::str::from_utf8(line).ok()?.split(' ');
        let (kind, start) = (words.next()?, words.next().and_then(hexadecimal)?);
        let mut number = || words.next()?.parse().ok();
        let build = match kind {
            "id" => Build::Id(words.next()?.to_owned()),
            "stamp" => Build::Stamp { length: number()?, seconds: number()?, nanoseconds: number()? },
            _ => return None,
        };
        Some((start, build))
    }
}

impl Module {
    /// The module's other name if it has one, else the last part of its path: `libfoo.so`, or `[vdso]`.
    pub fn file_name(&self) -> String {
        if let Some(called) = &self.called {
            return called.clone();
        }
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        printable::line(&name.to_string_lossy()).into_owned()
    }

    /// Whether the module is a file that may be opened.
    pub(crate) fn is_file(&self) -> bool {
        self.path.is_absolute() && !self.deleted && self.identity.inode != 0
    }

    /// The distance from where the file's first byte is or would be mapped.
    pub(crate) fn offset(&self, address: u64) -> u64 {
        let first = &self.mappings[0];
        address.wrapping_sub(first.range.start.wrapping_sub(first.offset))
    }

    fn mapping_of(&self, address: u64) -> Option<&Mapping> {
        self.mappings.iter().find(|mapping| mapping.range.contains(&address))
    }

    fn add(&mut self, mapping: Mapping) {
        self.range.end = self.range.end.max(mapping.range.end);
        self.mappings.push(mapping);
    }
}

/// A line of the text that has a name.
struct MapsLine {
    mapping: Mapping,
    identity: Identity,
    path: PathBuf,
    deleted: bool,
}

impl MapsLine {
    /// `start-end perms offset major:minor inode   path`
    fn parse(line: &[u8]) -> Option<MapsLine> {
        let (range, rest) = word(line)?;
        let (permissions, rest) = word(rest)?;
        let (offset, rest) = word(rest)?;
        let (device, rest) = word(rest)?;
        let (inode, rest) = word(rest)?;
        let path = rest.trim_ascii_start();
        if !matches!(path.first(), Some(b'/' | b'[')) {
            return None;
        }
        let (start, end) = range.split_once('-')?;
        let (start, end) = (hexadecimal(start)?, hexadecimal(end)?);
        let (major, minor) = device.split_once(':')?;
        let identity =
            Identity { major: hexadecimal(major)?, minor: hexadecimal(minor)?, inode: inode.parse().ok()? };
        let (path, deleted) = match path.strip_suffix(b" (deleted)") {
            Some(path) => (path, true),
            None => (path, false),
        };
        let mapping = Mapping {
            range: start..end,
            offset: hexadecimal(offset)?,
            executable: permissions.as_bytes().get(2) == Some(&b'x'),
        };
        (start < end).then(|| MapsLine { mapping, identity, path: unescape(path), deleted })
    }

    /// Whether the line is another part of the same loaded file: the loader maps the parts of a file in order. A second
    /// mapping of the file, such as a debugger's, starts again at the beginning of the file.
    fn continues(&self, module: &Module) -> bool {
        let previous = &module.mappings[module.mappings.len() - 1];
        self.identity == module.identity
            && self.path == module.path
            && self.deleted == module.deleted
            && self.path.as_os_str().as_bytes().starts_with(b"/")
            && self.mapping.offset >= previous.offset
    }

    fn into_module(self) -> Module {
        Module {
            path: self.path,
            range: self.mapping.range.clone(),
            deleted: self.deleted,
            called: None,
            identity: self.identity,
            build: None,
            mappings: vec![self.mapping],
        }
    }
}

/// The first word, and the text after it.
fn word(line: &[u8]) -> Option<(&str, &[u8])> {
    let line = line.trim_ascii_start();
    let end = line.iter().position(|&byte| byte == b' ')?;
    let (word, rest) = line.split_at(end);
    Some((std::str::from_utf8(word).ok()?, rest))
}

fn hexadecimal(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok()
}

/// Restores newlines in a path, which the kernel writes as `\012`.
fn unescape(path: &[u8]) -> PathBuf {
    let escape = b"\\012";
    if !path.windows(escape.len()).any(|window| window == escape) {
        return Path::new(OsStr::from_bytes(path)).to_path_buf();
    }
    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, tail)) = rest.split_first() {
        let (byte, tail) = rest.strip_prefix(escape).map_or((byte, tail), |tail| (b'\n', tail));
        plain.push(byte);
        rest = tail;
    }
    PathBuf::from(std::ffi::OsString::from_vec(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
5582747a6000-5582747a8000 r--p 00000000 fe:00 247026                     /usr/bin/a b
5582747a8000-5582747ad000 r-xp 00002000 fe:00 247026                     /usr/bin/a b
5582b18fd000-5582b191e000 rw-p 00000000 00:00 0                          [heap]
7f58bfd27000-7f58bfd49000 rw-p 00000000 00:00 0 
this line is damaged
7f58bfd49000-7f58bfd50000 r--p 00000000 fe:00 7                          /lib/gone.so (deleted)
7f58bfd50000-7f58bfda0000 r-xp 00007000 fe:00 7                          /lib/gone.so (deleted)
7ffe1e5f4000-7ffe1e5f6000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
";

    #[test]
    fn modules_are_groups_of_lines() {
        let space = AddressSpace::parse(MAPS.as_bytes());
        let names: Vec<String> = space.modules.iter().map(Module::file_name).collect();
        assert_eq!(names, ["a b", "[heap]", "gone.so", "[vdso]", "[vsyscall]"]);
        assert_eq!(space.modules[0].range, 0x5582747a6000..0x5582747ad000);
        assert!(space.modules[2].deleted && !space.modules[2].is_file());
        assert!(space.modules[0].is_file() && !space.modules[3].is_file());
    }

    #[test]
    fn addresses_belong_to_modules() {
        let space = AddressSpace::parse(MAPS.as_bytes());
        let name = |address| space.module_of(address).map(Module::file_name);
        assert_eq!(name(0x5582747a6000).as_deref(), Some("a b"));
        assert_eq!(name(0x5582747acfff).as_deref(), Some("a b"));
        assert_eq!(name(0x5582747ad000), None);
        assert_eq!(name(0x7f58bfd27000), None, "no path");
        assert_eq!(name(0), None);
        assert!(space.is_code(0x5582747a8000) && !space.is_code(0x5582747a7fff));
        assert_eq!(space.module_of(0x7f58bfd50010).unwrap().offset(0x7f58bfd50010), 0x7010);
    }

    #[test]
    fn file_is_called_by_the_name_of_a_link() {
        let space = AddressSpace::parse(MAPS.as_bytes()).with_name(Path::new("/usr/bin/a b"), "link");
        let names: Vec<String> = space.modules.iter().map(Module::file_name).collect();
        assert_eq!(names[..3], ["link", "[heap]", "gone.so"]);
        assert_eq!(space.modules[0].path, Path::new("/usr/bin/a b"));
    }

    #[test]
    fn second_mapping_of_a_file_is_a_separate_module() {
        let space = AddressSpace::parse(
            b"1000-2000 r--p 00000000 fe:00 7 /a\n2000-3000 r-xp 00001000 fe:00 7 /a\n5000-8000 r--p 00000000 fe:00 7 /a\n",
        );
        let starts: Vec<u64> = space.modules.iter().map(|module| module.range.start).collect();
        assert_eq!(starts, [0x1000, 0x5000]);
    }

    #[test]
    fn builds_belong_to_the_file_that_begins_there() {
        let maps = b"1000-2000 r--p 00000000 fe:00 7 /a\nid 1000 0aff\n2000-3000 r-xp 00001000 fe:00 7 /a\n\
            5000-8000 r-xp 00000000 fe:00 8 /b\nstamp 5000 12 3 4\nid 9000 00\nid x\nid\n";
        let builds: Vec<_> =
            AddressSpace::parse(maps).modules.into_iter().map(|module| module.build).collect();
        let stamp = Build::Stamp { length: 12, seconds: 3, nanoseconds: 4 };
        assert_eq!(builds, [Some(Build::Id("0aff".into())), Some(stamp)]);
    }

    #[test]
    fn newlines_in_paths_are_escaped() {
        let space = AddressSpace::parse(b"1000-2000 r--p 00000000 fe:00 7 /a\\012b\\01\n");
        assert_eq!(space.modules[0].path, Path::new("/a\nb\\01"));
    }
}
