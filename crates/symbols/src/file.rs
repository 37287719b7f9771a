//! Queries about a file, whether or not a process has it mapped: from names to addresses.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use object::read::elf::{ProgramHeader, Sym};
use object::{LittleEndian, elf};
use unspin_sys::printable;

use crate::binary::{Binary, hex};
use crate::calls;
use crate::elf::{Elf, Headers};
use crate::frame::Location;
use crate::functions;
use crate::name::demangle;
use crate::statics::Declaration;
use crate::symbols::DEBUG_ROOT;
use crate::table::Named;

/// A program or library. All addresses are those of the file itself (`p_vaddr`).
pub struct File {
    path: PathBuf,
    /// The last part of the path that it was opened by, which may be that of a symbolic link.
    opened_as: String,
    debug_root: PathBuf,
    binary: Binary,
}

/// A static variable, or some parts of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticVariable {
    /// The name, as in [`Variable`](crate::Variable), without parts.
    pub name: String,
    /// Where the variable is declared.
    pub location: Option<Location>,
    /// The exported symbol, if any. Of several loaded files that export the same symbol, the first one's variable is
    /// used by all.
    pub exported: Option<String>,
    /// The address range of the variable, or of each part. Never empty.
    pub ranges: Vec<Range<u64>>,
}

/// The code of a function with all its copies: clones, split-off parts, and inlined copies. Functions with the same
/// name and source file are treated as one: constructors have two, overloads any number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The source file.
    pub file: Option<String>,
    /// The address ranges of the code. Never empty.
    pub ranges: Vec<Range<u64>>,
}

impl File {
    /// Opens a file, with debug files from `/usr/lib/debug`. `None` if it is not a readable ELF file for x86-64.
    pub fn open(path: &Path) -> Option<File> {
        File::with_debug_root(path, DEBUG_ROOT)
    }

    /// Opens the file, with debug files from another folder.
    pub fn with_debug_root(path: &Path, folder: impl Into<PathBuf>) -> Option<File> {
        let opened_as = name_of(path);
        let path = path.canonicalize().ok()?;
        let binary = Binary::of(Elf::open(&path)?);
        Some(File { path, opened_as, debug_root: folder.into(), binary })
    }

    /// The path without symbolic links: the name under which the kernel shows it in maps.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The last part of the path.
    pub fn name(&self) -> String {
        name_of(&self.path)
    }

    /// Whether that is its name, or the name of the symbolic link that it was opened by.
    pub fn is_called(&self, name: &str) -> bool {
        self.name() == name || self.opened_as == name
    }

    /// Distinguishes the file from other builds: its build id, or without one a checksum of the whole file.
    pub fn identity(&self) -> Option<String> {
        match self.binary.elf().build_id() {
            Some(id) => Some(hex(&id)),
            None => self.binary.elf().checksum().map(|checksum| format!("crc32:{checksum:08x}")),
        }
    }

    /// The dynamic linker that the file requests; `None` for a library and for a statically linked program.
    pub fn interpreter(&self) -> Option<PathBuf> {
        self.binary.elf().read(|headers| {
            let segments = headers.elf_program_headers();
            let segment = segments.iter().find(|segment| segment.p_type(LittleEndian) == elf::PT_INTERP)?;
            let path = segment.data(LittleEndian, headers.data()).ok()?;
            let path = path.strip_suffix(b"\0").unwrap_or(path);
            Some(PathBuf::from(String::from_utf8_lossy(path).into_owned()))
        })
    }

    /// The range of all its addresses.
    pub fn extent(&self) -> Range<u64> {
        self.binary.extent()
    }

    /// Whether it has debug information, which lines require.
    pub fn has_lines(&self) -> bool {
        self.binary.dwarf(&self.debug_root).is_some()
    }

    /// The symbols that it imports from other files.
    pub fn imports(&self) -> HashSet<String> {
        self.dynamic(|_, symbol| symbol.st_shndx(LittleEndian) == elf::SHN_UNDEF)
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    }

    /// The static variables with a name, and their parts: `pool`; `pool.lock` in each element of the pool;
    /// `pool[3].lock`; `pool+0x78`, which is one byte.
    pub fn variables(&self, name: &str) -> Vec<StaticVariable> {
        let table = self.binary.table(&self.debug_root);
        let mut found = Vec::new();
        for symbol in table.variables() {
            let own = demangle(symbol.name).short;
            // The full name of a variable within a function is known only after the debug information has been read.
            let may_be = !own.is_empty() && (name.starts_with(&own) || name.contains(&format!("::{own}")));
            if !may_be {
                continue;
            }
            let declaration = self.declaration(symbol.address);
            let full = declaration.name_of(symbol.name);
            if let Some(part) = name.strip_prefix(&full) {
                self.add(&mut found, symbol, full, declaration.location, self.parts(symbol, part));
            }
        }
        found
    }

    /// The static variables that are declared in a line of a file; `file` is its path or the end of the path.
    pub fn declared_at(&self, file: &str, line: u32) -> Vec<StaticVariable> {
        let Some(dwarf) = self.binary.dwarf(&self.debug_root) else { return Vec::new() };
        let statics = self.binary.statics(&self.debug_root);
        let mut found = Vec::new();
        for address in statics.declared(dwarf, line, &|path| is_end_of(file, path)) {
            let Some(symbol) = self.binary.table(&self.debug_root).variable(address) else { continue };
            let declaration = self.declaration(address);
            let name = declaration.name_of(symbol.name);
            self.add(&mut found, symbol, name, declaration.location, Vec::from([whole(symbol)]));
        }
        found
    }

    /// The names of all variables with at least this many bytes, without the functions that contain them.
    pub fn variable_names(&self, size_min: u64) -> HashSet<String> {
        let large = self.binary.table(&self.debug_root).variables().filter(|symbol| symbol.size >= size_min);
        large.map(|symbol| demangle(symbol.name).short).collect()
    }

    /// The names of the parts of those variables that are meant: `pool.lock`, without the indices of arrays. Of a large
    /// variable the first parts are named.
    pub fn part_names(&self, is_meant: impl Fn(&str) -> bool) -> HashSet<String> {
        const BYTES_MAX: u64 = 4096;
        const ALIGNMENT: usize = 8;
        let Some(dwarf) = self.binary.dwarf(&self.debug_root) else { return HashSet::new() };
        let statics = self.binary.statics(&self.debug_root);
        let mut names = HashSet::new();
        for symbol in self.binary.table(&self.debug_root).variables() {
            if !is_meant(&demangle(symbol.name).short) {
                continue;
            }
            for offset in (0..symbol.size.min(BYTES_MAX)).step_by(ALIGNMENT) {
                let part = statics.declaration(dwarf, symbol.address, offset);
                let Some(part) = part.filter(|part| !part.member.is_empty()) else { continue };
                names.insert(part.name_of(symbol.name) + &without_indices(&part.member));
            }
        }
        names
    }

    /// Whether the bytes before an address look like a call, which returns there.
    pub fn is_return_address(&self, address: u64) -> bool {
        calls::ends_at(self.binary.elf(), &self.binary.code(), address)
    }

    /// Whether code in this range seems to call through a pointer, so that the file does not tell what it calls.
    pub fn calls_through_pointer(&self, range: &Range<u64>) -> bool {
        calls::has_call_through_pointer(self.binary.elf(), &self.binary.code(), range)
    }

    /// The functions with a name, as in [`Frame::short`](crate::Frame), by source file.
    pub fn functions(&self, name: &str) -> Vec<Code> {
        let mut found: Vec<Code> = Vec::new();
        let mut add = |file: Option<String>, ranges: Vec<Range<u64>>| {
            let known = match found.iter_mut().find(|code| code.file == file) {
                Some(known) => known,
                None => {
                    found.push(Code { file, ranges: Vec::new() });
                    found.last_mut().expect("it was just put there")
                }
            };
            known.ranges.extend(ranges);
        };
        let dwarf = self.binary.dwarf(&self.debug_root);
        for symbol in self.binary.table(&self.debug_root).functions() {
            if demangle(symbol.name).short == name {
                let frames = dwarf.map(|dwarf| dwarf.frames(symbol.address)).unwrap_or_default();
                let file = frames.into_iter().next_back().and_then(|known| Some(known.location?.file));
                add(file, Vec::from([whole(symbol)]));
            }
        }
        for piece in dwarf.map(|dwarf| functions::find(dwarf, name)).unwrap_or_default() {
            add(piece.file, piece.code);
        }
        for code in &mut found {
            merge(&mut code.ranges);
        }
        found
    }

    /// The code of all functions with a symbol and a name for which `is_meant` is true.
    pub fn functions_where(&self, is_meant: impl Fn(&str) -> bool) -> Vec<Range<u64>> {
        let all = self.binary.table(&self.debug_root).functions();
        let meant = all.filter(|symbol| is_meant(&demangle(symbol.name).short));
        let mut ranges: Vec<Range<u64>> = meant.map(whole).collect();
        merge(&mut ranges);
        ranges
    }

    /// The calls of other files' functions for whose names `is_meant` is true: the last byte of each call. A call of a
    /// function that jumps to such a function is one too. Calls through pointers are not found.
    pub fn calls(&self, is_meant: impl Fn(&str) -> bool) -> Vec<u64> {
        calls::find(self.binary.elf(), &self.binary.code(), self.binary.rules(), &is_meant)
    }

    /// The names of all functions that have a symbol.
    pub fn function_names(&self) -> HashSet<String> {
        self.binary.table(&self.debug_root).functions().map(|symbol| demangle(symbol.name).short).collect()
    }

    /// The code of a line, including code that was inlined there from other lines. One result per source file whose
    /// path is `file` or ends in it.
    pub fn code_of_line(&self, file: &str, line: u32) -> Vec<Code> {
        let Some(dwarf) = self.binary.dwarf(&self.debug_root) else { return Vec::new() };
        let mut found = dwarf.code_of_line(line, &|path| is_end_of(file, path));
        for (path, ranges) in functions::called_at(dwarf, line, &|path| is_end_of(file, path)) {
            found.entry(path).or_default().extend(ranges);
        }
        let code = |(path, mut ranges): (String, Vec<Range<u64>>)| {
            merge(&mut ranges);
            (!ranges.is_empty()).then_some(Code { file: Some(path), ranges })
        };
        found.into_iter().filter_map(code).collect()
    }

    /// The addresses of each function with this name that has a symbol, sorted. A range is empty where the symbol states
    /// no size.
    pub fn functions_named(&self, name: &str) -> Vec<Range<u64>> {
        let all = self.binary.table(&self.debug_root).functions();
        let mut found: Vec<Range<u64>> =
            all.filter(|symbol| demangle(symbol.name).short == name).map(whole).collect();
        found.sort_unstable_by_key(|range| (range.start, range.end));
        found.dedup();
        found
    }

    fn declaration(&self, address: u64) -> Declaration {
        let dwarf = self.binary.dwarf(&self.debug_root);
        let statics = |dwarf| self.binary.statics(&self.debug_root).declaration(dwarf, address, 0);
        dwarf.and_then(statics).unwrap_or_default()
    }

    /// The ranges of the part of a variable that the text after its name denotes.
    fn parts(&self, symbol: Named<'_>, part: &str) -> Vec<Range<u64>> {
        let end = symbol.address.saturating_add(symbol.size);
        if part.is_empty() {
            return Vec::from([whole(symbol)]);
        }
        if let Some(digits) = part.strip_prefix("+0x") {
            let offset = u64::from_str_radix(digits, 16).ok().filter(|&offset| offset < symbol.size);
            return offset
                .map(|offset| symbol.address + offset..symbol.address + offset + 1)
                .into_iter()
                .collect();
        }
        let Some(dwarf) = self.binary.dwarf(&self.debug_root) else { return Vec::new() };
        let parts = self.binary.statics(&self.debug_root).parts(dwarf, symbol.address, part);
        let placed = |part: Range<u64>| {
            let at = |offset: u64| symbol.address.checked_add(offset).filter(|&address| address <= end);
            Some(at(part.start)?..at(part.end)?)
        };
        parts.into_iter().filter_map(placed).collect()
    }

    /// Adds a variable. Aliases of one variable are merged.
    fn add(
        &self,
        found: &mut Vec<StaticVariable>,
        symbol: Named<'_>,
        name: String,
        location: Option<Location>,
        ranges: Vec<Range<u64>>,
    ) {
        if ranges.is_empty() || found.iter().any(|known| known.ranges == ranges) {
            return;
        }
        let exported = self.dynamic(|name, it| {
            it.st_shndx(LittleEndian) != elf::SHN_UNDEF
                && it.st_value(LittleEndian) == symbol.address
                && name == symbol.name
        });
        let exported = exported.into_iter().next().map(|(name, _)| name);
        found.push(StaticVariable { name, location, exported, ranges });
    }

    /// The names and addresses of the dynamic symbols for which `wanted` is true.
    fn dynamic(&self, wanted: impl Fn(&str, &elf::Sym64<LittleEndian>) -> bool) -> Vec<(String, u64)> {
        let symbols = self.binary.elf().read(|headers: &Headers<'_>| {
            let table = headers.elf_dynamic_symbol_table();
            let symbols = table.iter().filter_map(|symbol| {
                let name = std::str::from_utf8(table.symbol_name(LittleEndian, symbol).ok()?).ok()?;
                let is_wanted = !name.is_empty() && wanted(name, symbol);
                is_wanted.then(|| (name.to_owned(), symbol.st_value(LittleEndian)))
            });
            Some(symbols.collect())
        });
        symbols.unwrap_or_default()
    }
}

/// The address range of a symbol.
fn whole(symbol: Named<'_>) -> Range<u64> {
    symbol.address..symbol.address.saturating_add(symbol.size)
}

/// Whether a path equals the written text or ends in it: `queue.c` and `src/queue.c` are ends of `/usr/src/queue.c`.
fn is_end_of(written: &str, path: &str) -> bool {
    path.strip_suffix(written).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// `[3].ends[1].lock` without the indices: `.ends.lock`.
fn without_indices(path: &str) -> String {
    path.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect()
}

/// Sorts ranges, and joins those that overlap or touch.
fn merge(ranges: &mut Vec<Range<u64>>) {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges.drain(..) {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    *ranges = merged;
}

/// The last part of a path, as it is printed and as the user names it.
fn name_of(path: &Path) -> String {
    printable::line(&path.file_name().unwrap_or_default().to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_the_ends_of_their_paths() {
        assert!(is_end_of("queue.c", "/src/app/queue.c") && is_end_of("app/queue.c", "/src/app/queue.c"));
        assert!(is_end_of("/src/app/queue.c", "/src/app/queue.c"));
        assert!(!is_end_of("ue.c", "/src/app/queue.c"), "half a name");
    }

    #[test]
    fn pieces_are_joined() {
        let mut ranges = vec![5..7, 1..3, 3..4, 9..9, 6..8];
        merge(&mut ranges);
        assert_eq!(ranges, [1..4, 5..8]);
    }
}
