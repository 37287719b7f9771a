//! DWARF: lines, inlined functions, and declarations of variables.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use addr2line::{Context, FunctionName};
use gimli::{DwarfSections, EndianArcSlice, EndianSlice, LittleEndian, SectionId};

use crate::die::{Debug, EntryPosition};
use crate::elf::Elf;
use crate::frame::Location;
use crate::name::is_mangled;
use crate::{lines, scope};

type Shared = EndianArcSlice<LittleEndian>;

/// The debug information of one file.
pub(crate) struct Dwarf {
    sections: DwarfSections<Arc<[u8]>>,
    common: Option<DwarfSections<Arc<[u8]>>>,
    context: Context<Shared>,
    starts: Vec<usize>,
    /// Full names that had to be composed from scopes.
    full_names: RefCell<HashMap<EntryPosition, Option<String>>>,
}

/// A function as described by DWARF.
pub(crate) struct NamedCode {
    /// Mangled, or the full name from the source.
    pub name: Option<String>,
    pub location: Option<Location>,
}

impl Dwarf {
    /// `None` if the file has no debug information or it is damaged. `common` is the file to which `dwz` moved common
    /// parts.
    pub fn load(elf: &Elf, common: Option<&Elf>) -> Option<Dwarf> {
        elf.section(".debug_info")?;
        let sections = load_sections(elf);
        let common = common.map(load_sections);
        let lend = |section: &Arc<[u8]>| Shared::new(Arc::clone(section), LittleEndian);
        let dwarf = sections.borrow_with_sup(common.as_ref(), lend);
        // Units after a damaged one are not found.
        let mut units = dwarf.units();
        let starts = std::iter::from_fn(|| Some(units.next().ok()??.debug_info_offset()?.0)).collect();
        let context = Context::from_dwarf(dwarf).ok()?;
        Some(Dwarf { sections, common, context, starts, full_names: RefCell::default() })
    }

    /// The functions at an address of the file: innermost first. The last one has the machine code.
    pub fn frames(&self, address: u64) -> Vec<NamedCode> {
        let mut known = Vec::new();
        if let Ok(mut frames) = self.context.find_frames(address).skip_all_loads() {
            while let Ok(Some(frame)) = frames.next() {
                let position = frame.dw_die_offset.and_then(|entry| self.position(address, entry.0));
                let name = frame.function.and_then(|function| self.name(&function, position));
                let location = frame.location.and_then(|location| {
                    Some(Location { file: location.file?.to_owned(), line: location.line.unwrap_or(0) })
                });
                known.push(NamedCode { name, location });
            }
        }
        known
    }

    /// The code of a source line, by the path of the source file, for paths where `is_meant` is true.
    pub fn code_of_line(
        &self,
        line: u32,
        is_meant: &dyn Fn(&str) -> bool,
    ) -> BTreeMap<String, Vec<Range<u64>>> {
        let debug = Debug::new(self);
        let mut code = BTreeMap::<String, Vec<Range<u64>>>::new();
        for &start in &self.starts {
            // A damaged unit is read up to the damage.
            let _: Option<()> = lines::scan(&debug, start, line, is_meant, &mut code);
        }
        code
    }

    /// The offsets where units begin.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The linkage name of a function, or its full name if it has none.
    fn name(&self, function: &FunctionName<Shared>, position: Option<EntryPosition>) -> Option<String> {
        let name = function.raw_name().ok()?;
        let is_full = is_mangled(&name) || !function.language.is_some_and(has_scopes);
        let full = position.filter(|_| !is_full).and_then(|position| {
            let mut full = self.full_names.borrow_mut();
            full.entry(position).or_insert_with(|| scope::full_name(&Debug::new(self), position)).clone()
        });
        full.or_else(|| Some(name.into_owned()))
    }

    /// An entry of the unit that has the code at `address`.
    fn position(&self, address: u64, entry: usize) -> Option<EntryPosition> {
        let unit = self.context.find_dwarf_and_unit(address).skip_all_loads()?;
        Some(EntryPosition { unit: unit.header.debug_info_offset()?.0, entry })
    }

    /// The sections, for a reader that does not share them.
    pub fn borrow(&self) -> gimli::Dwarf<EndianSlice<'_, LittleEndian>> {
        self.sections.borrow_with_sup(self.common.as_ref(), |section| EndianSlice::new(section, LittleEndian))
    }
}

fn load_sections(elf: &Elf) -> DwarfSections<Arc<[u8]>> {
    let load = |id: SectionId| -> Result<Arc<[u8]>, std::convert::Infallible> {
        Ok(elf.section(id.name()).map_or_else(|| Arc::from([]), |(_, bytes)| bytes))
    };
    let Ok(sections) = DwarfSections::load(load);
    sections
}

/// Whether functions of a language can lie in scopes other than files.
fn has_scopes(language: gimli::DwLang) -> bool {
    use gimli::constants as dw;
    !matches!(
        language,
        dw::DW_LANG_C
            | dw::DW_LANG_C89
            | dw::DW_LANG_C99
            | dw::DW_LANG_C11
            | dw::DW_LANG_C17
            | dw::DW_LANG_Mips_Assembler
    )
}
