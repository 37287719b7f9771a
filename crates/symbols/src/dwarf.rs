//! DWARF: lines, inlined functions, and where variables are declared.

use std::sync::Arc;

use addr2line::Context;
use gimli::{DwarfSections, EndianArcSlice, EndianSlice, LittleEndian, SectionId};

use crate::elf::Elf;
use crate::frame::Location;

type Shared = EndianArcSlice<LittleEndian>;

/// The debug information of one file.
pub(crate) struct Dwarf {
    sections: DwarfSections<Arc<[u8]>>,
    common: Option<DwarfSections<Arc<[u8]>>>,
    context: Context<Shared>,
}

/// A function as DWARF knows it.
pub(crate) struct Known {
    /// Mangled, if the compiler wrote that down.
    pub name: Option<String>,
    pub location: Option<Location>,
}

impl Dwarf {
    /// `None` for a file that has no debug information, or damaged one. `common` is what `dwz` put elsewhere.
    pub fn load(elf: &Elf, common: Option<&Elf>) -> Option<Dwarf> {
        elf.section(".debug_info")?;
        let sections = load_sections(elf);
        let common = common.map(load_sections);
        let lend = |section: &Arc<[u8]>| Shared::new(Arc::clone(section), LittleEndian);
        let dwarf = sections.borrow_with_sup(common.as_ref(), lend);
        let context = Context::from_dwarf(dwarf).ok()?;
        Some(Dwarf { sections, common, context })
    }

    /// The functions at an address of the file: innermost first, the last one has the machine code.
    pub fn frames(&self, address: u64) -> Vec<Known> {
        let mut known = Vec::new();
        if let Ok(mut frames) = self.context.find_frames(address).skip_all_loads() {
            while let Ok(Some(frame)) = frames.next() {
                let name = frame.function.and_then(|function| Some(function.raw_name().ok()?.into_owned()));
                let location = frame.location.and_then(|location| {
                    Some(Location { file: location.file?.to_owned(), line: location.line.unwrap_or(0) })
                });
                known.push(Known { name, location });
            }
        }
        known
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
