//! The code of a function according to DWARF: its own code and its inlined copies.

use std::collections::HashMap;
use std::ops::Range;

use gimli::constants as dw;

use crate::die::{Debug, EntryPosition};
use crate::dwarf::Dwarf;
use crate::name::{demangle, is_mangled};
use crate::scope;

/// The code of one function or of one inlined copy, and the file that declares the function.
pub(crate) struct Piece {
    pub file: Option<String>,
    pub code: Vec<Range<u64>>,
}

/// The code of every function with this name, demangled and without parameters.
pub(crate) fn find(dwarf: &Dwarf, name: &str) -> Vec<Piece> {
    let debug = Debug::new(dwarf);
    let mut known = HashMap::new();
    let mut pieces = Vec::new();
    for function in all(dwarf, &debug) {
        let origin = debug.with_origins(function).last().map(|entry| entry.position());
        let Some(origin) = origin else { continue };
        let is_it = *known.entry(origin).or_insert_with(|| is_called(&debug, origin, name));
        if is_it && let Some(entry) = debug.entry(function) {
            let file = debug.location(origin).map(|location| location.file);
            pieces.push(Piece { file, code: debug.code(&entry) });
        }
    }
    pieces.retain(|piece| !piece.code.is_empty());
    pieces
}

/// The inlined code of the calls in a source line, with the path of its source file, for paths where `is_meant` is
/// true.
pub(crate) fn called_at(
    dwarf: &Dwarf,
    line: u32,
    is_meant: &dyn Fn(&str) -> bool,
) -> Vec<(String, Vec<Range<u64>>)> {
    let debug = Debug::new(dwarf);
    let code = |function: EntryPosition| {
        let entry = debug.entry(function)?;
        let is_line = entry.number(dw::DW_AT_call_line)? == u64::from(line);
        let file = is_line.then(|| entry.file(&debug, entry.number(dw::DW_AT_call_file)?))?;
        let file = file.filter(|file| is_meant(file))?;
        Some((file, debug.code(&entry)))
    };
    all(dwarf, &debug).into_iter().filter_map(code).collect()
}

/// Whether a function has this name. The name within its scope is compared first, because composing a full name takes
/// long.
fn is_called(debug: &Debug<'_>, function: EntryPosition, name: &str) -> bool {
    let Some(linkage) = debug.linkage_name(function) else { return false };
    if is_mangled(&linkage) {
        return demangle(&linkage).short == name;
    }
    name.ends_with(&linkage) && scope::full_name(debug, function).is_some_and(|full| full == name)
}

/// All functions, and all places where a function was inlined.
fn all(dwarf: &Dwarf, debug: &Debug<'_>) -> Vec<EntryPosition> {
    let mut functions = Vec::new();
    for &start in dwarf.starts() {
        // A damaged unit is read up to the damage.
        let _: Option<()> = debug.unit_once(start).and_then(|unit| {
            let mut entries = unit.entries_raw(None).ok()?;
            while !entries.is_empty() {
                let position = EntryPosition { unit: start, entry: entries.next_offset().0 };
                let Some(abbreviation) = entries.read_abbreviation().ok()? else { continue };
                if matches!(abbreviation.tag(), dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine) {
                    functions.push(position);
                }
                entries.skip_attributes(abbreviation.attributes()).ok()?;
            }
            Some(())
        });
    }
    functions
}
