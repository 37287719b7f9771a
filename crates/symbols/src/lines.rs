//! The code of a source line.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::die::{Debug, path_of};

/// Adds the code of one unit that belongs to a line of a file for whose path `is_meant` is true. The line table knows
/// only the innermost function's line. If that function was inlined, the line of the call is in the function entries.
pub(crate) fn scan(
    debug: &Debug<'_>,
    start: usize,
    line: u32,
    is_meant: &dyn Fn(&str) -> bool,
    code: &mut BTreeMap<String, Vec<Range<u64>>>,
) -> Option<()> {
    let unit = debug.unit_once(start)?;
    let program = unit.line_program.clone()?;
    // File numbers count from one in old tables, and from zero in new ones.
    let numbers = 0..=program.header().file_names().len() as u64;
    let meant: Vec<Option<String>> =
        numbers.map(|number| path_of(debug, &unit, number).filter(|path| is_meant(path))).collect();
    if meant.iter().all(Option::is_none) {
        return None;
    }
    let mut rows = program.rows();
    let mut open: Option<(u64, &str)> = None;
    while let Some((_, row)) = rows.next_row().ok()? {
        if let Some((since, path)) = open.take().filter(|&(since, _)| since < row.address()) {
            code.entry(path.to_owned()).or_default().push(since..row.address());
        }
        let is_line = row.line().is_some_and(|number| number.get() == u64::from(line));
        if is_line && !row.end_sequence() {
            let path = usize::try_from(row.file_index()).ok().and_then(|file| meant.get(file)?.as_deref());
            open = path.map(|path| (row.address(), path));
        }
    }
    Some(())
}
