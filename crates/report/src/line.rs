//! One line of a printed table: the figures, and as much of the name as fits beside them.

use crate::lock::Caller;
use crate::medium::GAP;
use crate::printed_table::PrintedTable;
use crate::row::Row;
use unspin_wire::RecordKind;

/// Minimum width of a name that is cut beside its place.
const CUT_MIN: usize = 12;

/// A row with its name.
#[derive(Clone)]
pub(crate) struct Line<'a> {
    pub row: &'a Row,
    pub name: String,
    pub place: Option<&'a str>,
    pub indent: usize,
    /// The utilisation has no meaning: for the sum of all locks, and for one caller of a lock for reading.
    pub blank_util: bool,
}

impl<'a> Line<'a> {
    /// The line of a lock, or of another row without a place.
    pub fn of_lock(row: &'a Row, name: String) -> Line<'a> {
        Line { row, name, place: None, indent: 0, blank_util: false }
    }

    /// The line of a caller, with its place.
    pub fn of_caller(kind: RecordKind, caller: &'a Caller, indent: usize) -> Line<'a> {
        let place = caller.place.as_deref();
        let name = caller.row.name.clone();
        Line { place, indent, blank_util: kind == RecordKind::Read, ..Line::of_lock(&caller.row, name) }
    }

    /// The figures, and as much of the name as fits.
    pub fn print(&self, printed: &PrintedTable<Row>) -> String {
        let figures = match self.blank_util {
            true => printed.figures_of_sum(self.row),
            false => printed.figures(self.row),
        };
        let name = with_place(&self.name, self.place, printed.room(self.indent));
        format!("{figures}{:1$}{name}", "", self.indent)
    }
}

/// The name and its place. The name of an instance of a template is long, and its end says little: its place comes first.
/// If there is too little room, the offset within the function gives way to the place.
pub(crate) fn with_place(name: &str, place: Option<&str>, width: usize) -> String {
    let Some(place) = place else { return fitted(name, width) };
    let there = place.chars().count();
    let fits = |name: &str| name.chars().count() + GAP + there <= width;
    if !is_template(name) {
        let function = name.rsplit_once("+0x").map_or(name, |(function, _)| function);
        return match (fits(name), fits(function)) {
            (true, _) => format!("{name}  {place}"),
            (false, true) => format!("{function}  {place}"),
            (false, false) => fitted(name, width),
        };
    }
    match width.checked_sub(there + GAP) {
        Some(room) if room >= CUT_MIN => format!("{place}  {}", fitted(name, room)),
        _ if there <= width => place.into(),
        _ => fitted(name, width),
    }
}

/// Whether a name is that of an instance of a template or of generic code.
fn is_template(name: &str) -> bool {
    name.contains('<')
}

/// The name. If it is too long its beginning is cut off: namespaces carry less information than the names within
/// them. Of a template first the arguments are left out; then it is cut in its middle.
pub(crate) fn fitted(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.into();
    }
    if is_template(name) {
        let short = without_arguments(name);
        let length = short.chars().count();
        if length <= width {
            return short;
        }
        if width >= CUT_MIN {
            let head = (width - 1) / 2;
            let tail = length - (width - 1 - head);
            return short.chars().take(head).chain(['…']).chain(short.chars().skip(tail)).collect();
        }
    }
    ['…'].into_iter().chain(name.chars().skip(length + 1 - width)).collect()
}

/// `Guarded<…>::with<…>+0x18`: the name without the arguments of its templates.
fn without_arguments(name: &str) -> String {
    let (mut short, mut depth, mut previous) = (String::new(), 0u32, ' ');
    for character in name.chars() {
        match character {
            '<' => {
                depth += 1;
                if depth == 1 {
                    short.push_str("<…>");
                }
            }
            '>' if previous != '-' => depth = depth.saturating_sub(1),
            _ if depth == 0 => short.push(character),
            _ => {}
        }
        previous = character;
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use crate::units::Units;

    const RUN: &str =
        "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)(int), int> > >::_M_run()+0x46";

    #[test]
    fn place_of_a_template_comes_first_and_the_template_is_cut() {
        let place = Some("worker storm.cpp:13");
        let shown = |width| with_place(RUN, place, width);
        assert_eq!(shown(70), "worker storm.cpp:13  std::thread::_State_impl<…>::_M_run()+0x46");
        assert_eq!(shown(50), "worker storm.cpp:13  std::thread::_…:_M_run()+0x46");
        assert_eq!(shown(25), "worker storm.cpp:13");
    }

    #[test]
    fn offset_gives_way_to_the_place() {
        let shown = |width| with_place("cache_get+0x12", Some("cache.c:14"), width);
        assert_eq!(shown(26), "cache_get+0x12  cache.c:14");
        assert_eq!(shown(21), "cache_get  cache.c:14");
        assert_eq!(shown(20), "cache_get+0x12");
        assert_eq!(with_place("a::b::get+0x12", None, 10), "…:get+0x12");
    }

    #[test]
    fn narrow_table_drops_columns() {
        let titles = |width| {
            let layout = Layout { width, ..Layout::default() };
            let titles = PrintedTable::locks(Units::all_known(), &layout).titles("NAME");
            assert!(titles.lines().all(|line| line.len() <= width), "{titles}");
            titles.lines().nth(1).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(titles(200), titles(120));
        assert_eq!(titles(80), "LOST CEIL UTIL CON MEAN MEAN(% CPU) TOTAL NAME");
        assert_eq!(titles(60), "LOST UTIL CON TOTAL NAME");
    }
}
