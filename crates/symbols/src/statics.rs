//! Declarations of static variables.

use std::collections::HashMap;
use std::ops::Range;

use gimli::constants as dw;
use gimli::{AttributeValue, Reader};

use crate::die::{Debug, EntryPosition, Slice, Unit};
use crate::dwarf::Dwarf;
use crate::frame::Location;
use crate::member;
use crate::name::{demangle, is_mangled};

/// An index of a file's variables with a fixed address.
#[derive(Default)]
pub(crate) struct Statics {
    by_address: HashMap<u64, FoundVariable>,
}

/// The position of a variable's entry.
#[derive(Clone, Copy)]
struct FoundVariable {
    variable: EntryPosition,
    /// The function that contains it.
    function: Option<EntryPosition>,
}

/// What debug information adds to the symbol of a variable.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Declaration {
    pub location: Option<Location>,
    /// The linkage name of the function that contains the variable.
    pub function: Option<String>,
    /// The part of the variable at the requested offset.
    pub member: String,
}

impl Declaration {
    /// The name of a symbol's variable.
    pub fn name_of(&self, symbol: &str) -> String {
        let own = demangle(symbol).short;
        match &self.function {
            // A symbol such as `lock.0`; mangled names contain the function already.
            Some(function) if !is_mangled(symbol) => format!("{}::{own}", demangle(function).short),
            _ => own,
        }
    }
}

impl Statics {
    /// Reads all entries of the file once, because no index that a file may have lists static variables by address.
    pub fn read(dwarf: &Dwarf) -> Statics {
        let debug = Debug::new(dwarf);
        let mut by_address = HashMap::new();
        for &start in dwarf.starts() {
            // A damaged unit is read up to the damage; the next one begins where the header says.
            let _: Option<()> = scan(&debug, start, &mut by_address);
        }
        Statics { by_address }
    }

    /// The declaration of the variable at `address`, with the part at `offset`.
    pub fn declaration(&self, dwarf: &Dwarf, address: u64, offset: u64) -> Option<Declaration> {
        let found = self.by_address.get(&address)?;
        let debug = Debug::new(dwarf);
        let of = debug.type_of(found.variable);
        Some(Declaration {
            location: debug.location(found.variable),
            function: found.function.and_then(|function| debug.linkage_name(function)),
            member: of.map(|of| member::path(&debug, of, offset)).unwrap_or_default(),
        })
    }

    /// The ranges of the parts with this path, in bytes from the start of the variable at the address.
    pub fn parts(&self, dwarf: &Dwarf, address: u64, path: &str) -> Vec<Range<u64>> {
        let debug = Debug::new(dwarf);
        let of = self.by_address.get(&address).and_then(|found| debug.type_of(found.variable));
        of.map(|of| member::parts(&debug, of, path)).unwrap_or_default()
    }

    /// The addresses of the variables that are declared in a line of a file for which `is_meant` is true.
    pub fn declared(&self, dwarf: &Dwarf, line: u32, is_meant: &dyn Fn(&str) -> bool) -> Vec<u64> {
        let debug = Debug::new(dwarf);
        let is_there = |found: &FoundVariable| {
            debug.location(found.variable).is_some_and(|at| at.line == line && is_meant(&at.file))
        };
        let mut addresses: Vec<u64> = self
            .by_address
            .iter()
            .filter(|(_, found)| is_there(found))
            .map(|(&address, _)| address)
            .collect();
        addresses.sort_unstable();
        addresses
    }
}

fn scan(debug: &Debug<'_>, start: usize, by_address: &mut HashMap<u64, FoundVariable>) -> Option<()> {
    let unit = debug.unit_once(start)?;
    let mut entries = unit.entries_raw(None).ok()?;
    let mut functions: Vec<(isize, EntryPosition)> = Vec::new();
    while !entries.is_empty() {
        let (depth, position) =
            (entries.next_depth(), EntryPosition { unit: start, entry: entries.next_offset().0 });
        let Some(abbreviation) = entries.read_abbreviation().ok()? else { continue };
        while functions.pop_if(|(above, _)| *above >= depth).is_some() {}
        if abbreviation.tag() != dw::DW_TAG_variable {
            entries.skip_attributes(abbreviation.attributes()).ok()?;
            if matches!(abbreviation.tag(), dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine) {
                functions.push((depth, position));
            }
            continue;
        }
        for &attribute in abbreviation.attributes() {
            let attribute = entries.read_attribute(attribute).ok()?;
            if attribute.name() == dw::DW_AT_location
                && let Some(address) = fixed_address(debug, &unit, attribute.value())
            {
                let function = functions.last().map(|&(_, function)| function);
                by_address.entry(address).or_insert(FoundVariable { variable: position, function });
            }
        }
    }
    Some(())
}

/// The address, if a location expression consists of nothing else.
fn fixed_address<'a>(debug: &Debug<'a>, unit: &Unit<'a>, value: AttributeValue<Slice<'a>>) -> Option<u64> {
    let AttributeValue::Exprloc(mut expression) = value else { return None };
    let address = match dw::DwOp(expression.0.read_u8().ok()?) {
        dw::DW_OP_addr => expression.0.read_u64().ok()?,
        dw::DW_OP_addrx => {
            let index = expression.0.read_uleb128().ok()?;
            debug.address(unit, usize::try_from(index).ok()?)?
        }
        _ => return None,
    };
    expression.0.is_empty().then_some(address)
}
