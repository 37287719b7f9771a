//! The symbol table: from addresses to names.

use object::read::ReadCache;
use object::read::elf::{SectionHeader, Sym, SymbolTable};
use object::{LittleEndian, elf};

use crate::elf::{Elf, Headers, SourceReader};
use crate::name::is_mangled;

/// The functions and the variables of a file.
#[derive(Default)]
pub(crate) struct NameTable {
    code: Symbols,
    data: Symbols,
    /// The string tables, concatenated.
    names: Vec<u8>,
}

/// A named range of the file's address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    pub address: u64,
    pub size: u64,
    /// As stored in the table.
    pub name: &'a str,
}

#[derive(Default)]
struct Symbols {
    /// Sorted by address.
    sorted: Vec<Symbol>,
    /// For each symbol, the maximum end of it and all symbols before it: a backward search may stop there.
    reach: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Symbol {
    address: u64,
    size: u64,
    /// Offset into `names`.
    name: u32,
    rank: Rank,
}

/// Preference if several symbols contain an address. Aliases are common: a weak name beside a strong one, a public name
/// beside an internal one of a library.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Hand-written code without a size; assumed to end where the next symbol begins.
    Unsized,
    Local,
    /// Global or weak.
    Exported,
}

/// How many symbols a backward search visits that begin nearer but end before the address. In undamaged files symbols
/// nest two or three deep.
const MOST_NESTED: usize = 1000;

impl NameTable {
    /// Reads the file itself, its separate debug file, and the file packed into it.
    pub fn read<'a>(files: impl IntoIterator<Item = &'a Elf>) -> NameTable {
        let mut table = NameTable::default();
        for file in files {
            file.read(|headers| {
                table.add(headers, headers.elf_symbol_table());
                table.add(headers, headers.elf_dynamic_symbol_table());
                Some(())
            });
        }
        table.code.finish();
        table.data.finish();
        table
    }

    /// The function at an address of the file.
    pub fn function(&self, address: u64) -> Option<Named<'_>> {
        self.best(&self.code, address)
    }

    /// The variable at an address of the file. Thread-local variables have no such address: each thread has its own
    /// block.
    pub fn variable(&self, address: u64) -> Option<Named<'_>> {
        self.best(&self.data, address)
    }

    /// Every function, including aliases.
    pub fn functions(&self) -> impl Iterator<Item = Named<'_>> {
        self.all(&self.code)
    }

    /// Every variable, including aliases.
    pub fn variables(&self) -> impl Iterator<Item = Named<'_>> {
        self.all(&self.data)
    }

    fn all<'t>(&'t self, symbols: &'t Symbols) -> impl Iterator<Item = Named<'t>> {
        let named = |symbol: &Symbol| (symbol.address, symbol.size, self.name(symbol));
        symbols.sorted.iter().map(named).map(|(address, size, name)| Named { address, size, name })
    }

    fn add<'data>(
        &mut self,
        headers: &Headers<'data>,
        symbols: &SymbolTable<'data, elf::FileHeader64<LittleEndian>, &'data ReadCache<SourceReader<'data>>>,
    ) {
        let section = headers.elf_section_table().section(symbols.string_section());
        let Some(names) = section.ok().and_then(|section| section.data(LittleEndian, headers.data()).ok())
        else {
            return;
        };
        let Ok(base) = u32::try_from(self.names.len()) else { return };
        if u32::try_from(self.names.len() + names.len() + 1).is_err() {
            return;
        }
        self.names.extend_from_slice(names);
        // Ends a truncated name, so that it does not run on into the next table.
        self.names.push(0);
        for symbol in symbols.iter().filter(|symbol| symbol.st_name(LittleEndian) < names.len() as u32) {
            let name = base + symbol.st_name(LittleEndian);
            let Some((kind, end)) = kind_of(headers, symbol) else { continue };
            let rank = match symbol.st_bind() {
                elf::STB_LOCAL => Rank::Local,
                _ => Rank::Exported,
            };
            let entry = Symbol {
                address: symbol.st_value(LittleEndian),
                size: symbol.st_size(LittleEndian),
                name,
                rank,
            };
            match kind {
                SymbolKind::Data if entry.size > 0 => self.data.sorted.push(entry),
                SymbolKind::Code if entry.size > 0 => self.code.sorted.push(entry),
                SymbolKind::Code if entry.address < end => {
                    let size = end - entry.address;
                    self.code.sorted.push(Symbol { size, rank: Rank::Unsized, ..entry });
                }
                SymbolKind::Code | SymbolKind::Data => {}
            }
        }
    }

    fn best(&self, symbols: &Symbols, address: u64) -> Option<Named<'_>> {
        let above = symbols.sorted.partition_point(|symbol| symbol.address <= address);
        let mut best: Option<&Symbol> = None;
        for (symbol, &reach) in
            symbols.sorted[..above].iter().zip(&symbols.reach[..above]).rev().take(MOST_NESTED)
        {
            // The symbol that begins nearest wins; among those that begin together, the order decides.
            if reach <= address || best.is_some_and(|best| best.address != symbol.address) {
                break;
            }
            let holds = address - symbol.address < symbol.size;
            if holds && best.is_none_or(|best| self.order(symbol) > self.order(best)) {
                best = Some(symbol);
            }
        }
        best.map(|symbol| Named { address: symbol.address, size: symbol.size, name: self.name(symbol) })
    }

    /// Greater is better: exported, larger, not internal to a library, shorter, and finally alphabetical, so that the
    /// choice is always the same.
    fn order(&self, symbol: &Symbol) -> impl Ord + use<'_> {
        use std::cmp::Reverse;
        let name = self.name(symbol);
        let underscores = name.len() - name.trim_start_matches('_').len();
        let underscores = if is_mangled(name) { 0 } else { underscores };
        (symbol.rank, symbol.size, Reverse(underscores), Reverse(name.len()), Reverse(name))
    }

    fn name(&self, symbol: &Symbol) -> &str {
        let rest = &self.names[symbol.name as usize..];
        let end = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
        std::str::from_utf8(&rest[..end]).unwrap_or("")
    }
}

impl Symbols {
    fn finish(&mut self) {
        self.sorted.sort_by_key(|symbol| symbol.address);
        let starts: Vec<u64> = self.sorted.iter().map(|symbol| symbol.address).collect();
        for symbol in self.sorted.iter_mut().filter(|symbol| symbol.rank == Rank::Unsized) {
            let next = starts.partition_point(|&start| start <= symbol.address);
            if let Some(next) = starts.get(next) {
                symbol.size = symbol.size.min(next - symbol.address);
            }
        }
        let furthest = self.sorted.iter().scan(0, |reach: &mut u64, symbol| {
            *reach = (*reach).max(symbol.address.saturating_add(symbol.size));
            Some(*reach)
        });
        self.reach = furthest.collect();
    }
}

enum SymbolKind {
    Code,
    Data,
}

/// The kind of a symbol, and the end of its section. `None` for symbols without an address in memory: imported symbols,
/// files, sections, thread-local variables.
fn kind_of(headers: &Headers<'_>, symbol: &elf::Sym64<LittleEndian>) -> Option<(SymbolKind, u64)> {
    let index = symbol.st_shndx.get(LittleEndian);
    if index == elf::SHN_UNDEF || index.0 >= elf::SHN_LORESERVE {
        return None;
    }
    let section = headers.elf_section_table().section(object::SectionIndex(index.0.into())).ok();
    let end = section
        .map_or(0, |section| section.sh_addr(LittleEndian).saturating_add(section.sh_size(LittleEndian)));
    let executable =
        section.is_some_and(|section| section.sh_flags(LittleEndian).0 & elf::SHF_EXECINSTR.0 != 0);
    match symbol.st_type() {
        elf::STT_FUNC | elf::STT_GNU_IFUNC => Some((SymbolKind::Code, end)),
        elf::STT_OBJECT | elf::STT_COMMON => Some((SymbolKind::Data, end)),
        // Assembly: labels within a function are local and have no size.
        elf::STT_NOTYPE
            if executable && (symbol.st_bind() != elf::STB_LOCAL || symbol.st_size(LittleEndian) > 0) =>
        {
            Some((SymbolKind::Code, end))
        }
        elf::STT_NOTYPE if !executable => Some((SymbolKind::Data, end)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of functions: address, size, rank, name.
    fn table(functions: &[(u64, u64, Rank, &str)]) -> NameTable {
        let mut table = NameTable::default();
        for &(address, size, rank, name) in functions {
            let start = u32::try_from(table.names.len()).unwrap();
            table.names.extend_from_slice(name.as_bytes());
            table.names.push(0);
            table.code.sorted.push(Symbol { address, size, name: start, rank });
        }
        table.code.finish();
        table
    }

    fn name(table: &NameTable, address: u64) -> Option<&str> {
        table.function(address).map(|found| found.name)
    }

    #[test]
    fn address_between_symbols_has_no_name() {
        let table = table(&[(0x10, 0x10, Rank::Local, "a"), (0x30, 0x10, Rank::Exported, "b")]);
        let found =
            [0xf, 0x10, 0x1f, 0x20, 0x2f, 0x30, 0x3f, 0x40, u64::MAX].map(|address| name(&table, address));
        assert_eq!(found, [None, Some("a"), Some("a"), None, None, Some("b"), Some("b"), None, None]);
    }

    #[test]
    fn best_of_several_names_is_shown_in_any_order() {
        let mut aliases = [
            (0x10, 0x10, Rank::Local, "local"),
            (0x10, 0x10, Rank::Exported, "__lock"),
            (0x10, 0x10, Rank::Exported, "lock_in_full"),
            (0x10, 0x10, Rank::Exported, "lock"),
            (0x10, 0x10, Rank::Exported, "luck"),
            (0x10, 0x08, Rank::Exported, "head"),
            (0x10, 0x90, Rank::Unsized, "label"),
        ];
        for _ in 0..aliases.len() {
            aliases.rotate_left(1);
            let table = table(&aliases);
            assert_eq!(name(&table, 0x10), Some("lock"));
            // The first in alphabetical order, if all else is equal.
            assert_eq!(name(&table, 0x1f), Some("lock"));
        }
    }

    #[test]
    fn nearest_start_wins_and_enclosing_symbols_are_found() {
        let table = table(&[
            (0x10, 0x100, Rank::Exported, "outer"),
            (0x20, 0x10, Rank::Local, "inner"),
            (0x40, 0x04, Rank::Local, "other"),
            (0x200, 0x10, Rank::Local, "behind"),
        ]);
        let found = [0x11, 0x25, 0x35, 0x43, 0x44, 0x10f, 0x110].map(|address| name(&table, address));
        let [outer, inner, other] = ["outer", "inner", "other"].map(Some);
        assert_eq!(found, [outer, inner, outer, other, outer, outer, None]);
    }

    #[test]
    fn label_without_size_ends_at_the_next_symbol() {
        let table = table(&[(0x10, 0x100, Rank::Unsized, "label"), (0x30, 0x10, Rank::Local, "next")]);
        assert_eq!(
            [0x2f, 0x30, 0x40].map(|address| name(&table, address)),
            [Some("label"), Some("next"), None]
        );
    }

    #[test]
    fn sizes_beyond_the_end_of_memory_are_harmless() {
        let table =
            table(&[(u64::MAX - 1, u64::MAX, Rank::Local, "last"), (0, u64::MAX, Rank::Local, "first")]);
        assert_eq!(name(&table, u64::MAX - 1), Some("last"));
        assert_eq!(name(&table, u64::MAX), None, "an end beyond which nothing lies");
        assert_eq!(name(&table, 5), Some("first"));
    }
}
