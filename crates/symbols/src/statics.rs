//! Where static variables are declared.

use std::collections::HashMap;
use std::ops::Range;

use gimli::constants as dw;
use gimli::{AttributeValue, Reader};

use crate::die::{Debug, Place, Slice, Unit};
use crate::dwarf::Dwarf;
use crate::frame::Location;
use crate::member;
use crate::name::{demangle, is_mangled};

/// An index of the variables of one file that have a fixed address.
#[derive(Default)]
pub(crate) struct Statics {
    by_address: HashMap<u64, Found>,
}

/// Where a variable's entry is.
#[derive(Clone, Copy)]
struct Found {
    variable: Place,
    /// The function that it belongs to.
    function: Option<Place>,
}

/// What debug information adds to the symbol of a variable.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Declaration {
    pub location: Option<Location>,
    /// The function that the variable belongs to, as the linker knows it.
    pub function: Option<String>,
    /// The part of the variable at the offset asked for.
    pub member: String,
}

impl Declaration {
    /// What the variable of a symbol is called.
    pub fn name_of(&self, symbol: &str) -> String {
        let own = demangle(symbol).short;
        match &self.function {
            // `lock.0`; the names of C++ and Rust hold the function already.
            Some(function) if !is_mangled(symbol) => format!("{}::{own}", demangle(function).short),
            _ => own,
        }
    }
}

impl Statics {
    /// Looks through all of the file's entries once, for none of the indices that files may have lists static
    /// variables by address.
    pub fn read(dwarf: &Dwarf) -> Statics {
        let debug = Debug::new(dwarf);
        let mut by_address = HashMap::new();
        for &start in dwarf.starts() {
            // A damaged unit ends where the damage is; the next one begins where the header said.
            let _: Option<()> = scan(&debug, start, &mut by_address);
        }
        Statics { by_address }
    }

    /// What is declared at the address, and lies `offset` bytes behind it.
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

    /// Where the parts of that name lie, in bytes from the start of the variable at the address.
    pub fn parts(&self, dwarf: &Dwarf, address: u64, path: &str) -> Vec<Range<u64>> {
        let debug = Debug::new(dwarf);
        let of = self.by_address.get(&address).and_then(|found| debug.type_of(found.variable));
        of.map(|of| member::parts(&debug, of, path)).unwrap_or_default()
    }

    /// The addresses of the variables that are declared in a line of a file that `is_meant`.
    pub fn declared(&self, dwarf: &Dwarf, line: u32, is_meant: &dyn Fn(&str) -> bool) -> Vec<u64> {
        let debug = Debug::new(dwarf);
        let is_there = |found: &Found| {
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

fn scan(debug: &Debug<'_>, start: usize, by_address: &mut HashMap<u64, Found>) -> Option<()> {
    let unit = debug.unit_once(start)?;
    let mut entries = unit.entries_raw(None).ok()?;
    let mut functions: Vec<(isize, Place)> = Vec::new();
    while !entries.is_empty() {
        let (depth, place) = (entries.next_depth(), Place { unit: start, entry: entries.next_offset().0 });
        let Some(abbreviation) = entries.read_abbreviation().ok()? else { continue };
        while functions.pop_if(|(above, _)| *above >= depth).is_some() {}
        if abbreviation.tag() != dw::DW_TAG_variable {
            entries.skip_attributes(abbreviation.attributes()).ok()?;
            if matches!(abbreviation.tag(), dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine) {
                functions.push((depth, place));
            }
            continue;
        }
        for &attribute in abbreviation.attributes() {
            let attribute = entries.read_attribute(attribute).ok()?;
            if attribute.name() == dw::DW_AT_location
                && let Some(address) = fixed_address(debug, &unit, attribute.value())
            {
                let function = functions.last().map(|&(_, function)| function);
                by_address.entry(address).or_insert(Found { variable: place, function });
            }
        }
    }
    Some(())
}

/// The address in a location that consists of nothing else.
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
