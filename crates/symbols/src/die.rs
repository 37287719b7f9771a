//! DWARF entries and the references between them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use gimli::constants::{self as dw, DwAt, DwTag};
use gimli::{
    AttributeValue, DebugInfoOffset, DebuggingInformationEntry, EndianSlice, LittleEndian, UnitOffset,
};
use unspin_sys::printable;

use crate::dwarf::Dwarf;
use crate::frame::Location;

pub(crate) type Slice<'a> = EndianSlice<'a, LittleEndian>;
pub(crate) type Unit<'a> = gimli::Unit<Slice<'a>>;

/// The entries of one file.
pub(crate) struct Debug<'a> {
    dwarf: gimli::Dwarf<Slice<'a>>,
    /// The offsets where units begin, ascending.
    starts: &'a [usize],
    /// The units that have been read.
    units: RefCell<HashMap<usize, Rc<Unit<'a>>>>,
}

/// The position of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EntryPosition {
    /// Offset of its unit.
    pub unit: usize,
    /// Offset within the unit.
    pub entry: usize,
}

/// An entry that was read.
pub(crate) struct Entry<'a> {
    position: EntryPosition,
    unit: Rc<Unit<'a>>,
    read: DebuggingInformationEntry<Slice<'a>>,
}

/// The longest chain of references from a variable to its first declaration. Compilers write two.
const MOST_HOPS: usize = 8;

impl<'a> Debug<'a> {
    pub fn new(dwarf: &'a Dwarf) -> Debug<'a> {
        Debug { dwarf: dwarf.borrow(), starts: dwarf.starts(), units: RefCell::default() }
    }

    /// The unit at an offset.
    pub fn unit(&self, start: usize) -> Option<Rc<Unit<'a>>> {
        if let Some(unit) = self.units.borrow().get(&start) {
            return Some(Rc::clone(unit));
        }
        let header = self.dwarf.unit_header(DebugInfoOffset(start)).ok()?;
        let unit = Rc::new(self.dwarf.unit(header).ok()?);
        self.units.borrow_mut().insert(start, Rc::clone(&unit));
        Some(unit)
    }

    /// The unit at an offset, for a single pass: it is not kept.
    pub fn unit_once(&self, start: usize) -> Option<Unit<'a>> {
        self.dwarf.unit(self.dwarf.unit_header(DebugInfoOffset(start)).ok()?).ok()
    }

    pub fn entry(&self, position: EntryPosition) -> Option<Entry<'a>> {
        let unit = self.unit(position.unit)?;
        let read = unit.entry(UnitOffset(position.entry)).ok()?;
        Some(Entry { position, unit, read })
    }

    /// The entry, followed by the entries that it completes, which have the attributes that it does not repeat.
    pub fn with_origins(&self, position: EntryPosition) -> impl Iterator<Item = Entry<'a>> + use<'_, 'a> {
        let origin = |entry: &Entry<'a>| {
            let names = [dw::DW_AT_specification, dw::DW_AT_abstract_origin];
            names.iter().find_map(|&name| self.entry(entry.reference(self, name)?))
        };
        std::iter::successors(self.entry(position), origin).take(MOST_HOPS)
    }

    /// The type of a variable, of a member, or of an array's elements.
    pub fn type_of(&self, position: EntryPosition) -> Option<EntryPosition> {
        self.with_origins(position).find_map(|entry| entry.reference(self, dw::DW_AT_type))
    }

    /// The location of a declaration. An entry that completes another one repeats only what differs: a definition in
    /// the same file has its own line but no file.
    pub fn location(&self, position: EntryPosition) -> Option<Location> {
        let line = self.with_origins(position).find_map(|entry| entry.number(dw::DW_AT_decl_line))?;
        let file = self
            .with_origins(position)
            .find_map(|entry| entry.file(self, entry.number(dw::DW_AT_decl_file)?))?;
        Some(Location { file, line: u32::try_from(line).ok()? })
    }

    /// The linkage name, or else the name in the source.
    pub fn linkage_name(&self, position: EntryPosition) -> Option<String> {
        let names = [dw::DW_AT_linkage_name, dw::DW_AT_MIPS_linkage_name, dw::DW_AT_name];
        names.iter().find_map(|&name| self.with_origins(position).find_map(|entry| entry.text(self, name)))
    }

    /// The entries around an entry that may be scopes, outermost first. Found by reading the unit up to the entry,
    /// because an entry has no reference to its parent.
    pub fn scopes(&self, position: EntryPosition) -> Vec<EntryPosition> {
        let mut scopes = Vec::new();
        let _: Option<()> = self.unit(position.unit).and_then(|unit| {
            let mut entries = unit.entries_raw(None).ok()?;
            while entries.next_offset().0 < position.entry {
                let (depth, entry) = (entries.next_depth(), entries.next_offset().0);
                let Some(abbreviation) = entries.read_abbreviation().ok()? else { continue };
                entries.skip_attributes(abbreviation.attributes()).ok()?;
                while scopes.pop_if(|(above, _)| *above >= depth).is_some() {}
                if abbreviation.has_children() {
                    scopes.push((depth, EntryPosition { entry, ..position }));
                }
            }
            let depth = entries.next_depth();
            while scopes.pop_if(|(above, _)| *above >= depth).is_some() {}
            Some(())
        });
        scopes.into_iter().map(|(_, scope)| scope).collect()
    }

    /// An address from the address table.
    pub fn address(&self, unit: &Unit<'a>, index: usize) -> Option<u64> {
        self.dwarf.address(unit, gimli::DebugAddrIndex(index)).ok()
    }

    /// The code of a function, or of an inlined copy of it.
    pub fn code(&self, entry: &Entry<'a>) -> Vec<Range<u64>> {
        let mut code = Vec::new();
        if let Ok(mut ranges) = self.dwarf.die_ranges(&entry.unit, &entry.read) {
            while let Ok(Some(range)) = ranges.next() {
                code.push(range.begin..range.end);
            }
        }
        code
    }

    fn at(&self, offset: usize) -> Option<EntryPosition> {
        let unit = *self.starts[..self.starts.partition_point(|&start| start <= offset)].last()?;
        Some(EntryPosition { unit, entry: offset - unit })
    }
}

impl<'a> Entry<'a> {
    pub fn tag(&self) -> DwTag {
        self.read.tag()
    }

    /// The entry that an attribute refers to, within this file.
    pub fn reference(&self, debug: &Debug<'a>, name: DwAt) -> Option<EntryPosition> {
        match self.read.attr_value(name)? {
            AttributeValue::UnitRef(UnitOffset(entry)) => Some(EntryPosition { entry, ..self.position }),
            AttributeValue::DebugInfoRef(DebugInfoOffset(offset)) => debug.at(offset),
            _ => None,
        }
    }

    pub fn number(&self, name: DwAt) -> Option<u64> {
        match self.read.attr_value(name)? {
            AttributeValue::FileIndex(index) => Some(index),
            value => value.udata_value(),
        }
    }

    pub fn has(&self, name: DwAt) -> bool {
        self.read.has_attr(name)
    }

    pub fn text(&self, debug: &Debug<'a>, name: DwAt) -> Option<String> {
        let text = debug.dwarf.attr_string(&self.unit, self.read.attr_value(name)?).ok()?;
        Some(printable::line(&text.to_string_lossy()).into_owned())
    }

    /// The direct children of this entry.
    pub fn children(&self, debug: &Debug<'a>) -> Vec<Entry<'a>> {
        let offsets = || -> gimli::Result<Vec<usize>> {
            let mut tree = self.unit.entries_tree(Some(UnitOffset(self.position.entry)))?;
            let mut children = tree.root()?.children();
            let mut offsets = Vec::new();
            while let Some(child) = children.next()? {
                offsets.push(child.entry().offset().0);
            }
            Ok(offsets)
        };
        let offsets = offsets().unwrap_or_default();
        offsets
            .into_iter()
            .filter_map(|entry| debug.entry(EntryPosition { entry, ..self.position }))
            .collect()
    }

    pub fn position(&self) -> EntryPosition {
        self.position
    }

    /// The path of a file by its number in this unit.
    pub fn file(&self, debug: &Debug<'a>, index: u64) -> Option<String> {
        path_of(debug, &self.unit, index)
    }
}

/// The path of a file by its number in a unit.
pub(crate) fn path_of<'a>(debug: &Debug<'a>, unit: &Unit<'a>, index: u64) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    let file = header.file(index)?;
    let text = |value| Some(debug.dwarf.attr_string(unit, value).ok()?.to_string_lossy().into_owned());
    let mut path = std::path::PathBuf::new();
    if let Some(folder) = unit.comp_dir {
        path.push(folder.to_string_lossy().as_ref());
    }
    // An absolute part replaces the parts before it.
    if let Some(folder) = file.directory(header).and_then(text) {
        path.push(folder);
    }
    path.push(text(file.path_name())?);
    Some(printable::line(&path.to_string_lossy()).into_owned())
}
