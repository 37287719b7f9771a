//! One line of the table of locks, and the columns that fit beside the name.

use crate::figures::{count, number, percent, time};
use crate::layout::Layout;
use crate::lock::Caller;
use crate::row::Row;
use unspin_wire::{Level, RecordKind};

/// Minimum width of the name. Columns are dropped until it has this width.
const NAME_MIN: usize = 20;
/// Characters between the columns and the name.
const GAP: usize = 2;
/// Minimum width of a name that is cut beside its place.
const CUT_MIN: usize = 12;

/// One or two columns of the table that are dropped together.
struct Column {
    /// The two lines of the title. Both have the width of the column.
    titles: [&'static str; 2],
    /// In a narrow table the column with the greatest number is dropped first.
    dropped: u8,
    text: fn(&Line<'_>, &Shown<'_>) -> String,
}

/// What of a row is shown.
pub(crate) struct Shown<'a> {
    pub level: Level,
    /// Whether CEIL is given.
    pub ceiling: bool,
    pub layout: &'a Layout,
}

#[rustfmt::skip]
const COLUMNS: [Column; 13] = [
    Column { titles: ["      ", "  LOST"], dropped: 0, text: |line, shown| format!("{:>6}", shown.clock(time(line.row.lost))) },
    Column { titles: ["      ", "  CEIL"], dropped: 6, text: |line, shown| format!(" {:>5}", shown.ceiling(line.row)) },
    Column { titles: ["      ", "  CPUS"], dropped: 7, text: |line, shown| format!(" {:>5}", line.used(shown, number(line.row.cpus))) },
    Column { titles: ["      ", "  UTIL"], dropped: 2, text: |line, shown| format!(" {:>5}", line.used(shown, percent(line.row.util))) },
    Column { titles: ["      ", "   CON"], dropped: 3, text: |line, _| format!(" {}", percent(line.row.con)) },
    Column { titles: ["  HOLD", "  MEAN"], dropped: 4, text: |line, shown| format!(" {:>5}", line.held(shown, time(line.row.hold_mean))) },
    Column { titles: ["       ", "(  MAX)"], dropped: 8, text: |line, shown| format!("({:>5})", line.held(shown, time(line.row.hold_max))) },
    Column { titles: ["  WAIT", "  MEAN"], dropped: 4, text: |line, shown| format!(" {:>5}", shown.clock(time(line.row.wait_mean))) },
    Column { titles: ["       ", "(  MAX)"], dropped: 8, text: |line, shown| format!("({:>5})", shown.clock(time(line.row.wait_max))) },
    Column { titles: ["       ", "(% CPU)"], dropped: 5, text: |line, shown| format!("({:>5})", shown.clock(percent(line.row.spin_cpu))) },
    Column { titles: ["           ", "     TOTAL"], dropped: 1, text: |line, _| format!(" {:>10}", count(line.row.attempts)) },
    Column { titles: ["            ", " NOWAIT SPIN"], dropped: 10, text: |line, _| format!(" {} {}", line.share(line.row.nowait), line.share(line.row.spun)) },
    Column { titles: ["            ", " SLEPT RJECT"], dropped: 9, text: |line, _| format!(" {} {}", line.share(line.row.slept), line.share(line.row.rejected)) },
];

impl Shown<'_> {
    /// The columns that fit beside a name.
    fn columns(&self) -> Vec<&'static Column> {
        let room = self.layout.width.saturating_sub(GAP + NAME_MIN);
        let mut columns: Vec<&Column> = COLUMNS.iter().collect();
        while columns.iter().map(|column| column.width()).sum::<usize>() > room {
            let Some(first) = columns.iter().map(|column| column.dropped).max() else { break };
            columns.retain(|column| column.dropped != first);
        }
        columns
    }

    /// Width of the columns before the name.
    pub fn name_at(&self) -> usize {
        self.columns().iter().map(|column| column.width()).sum::<usize>() + GAP
    }

    /// The two lines of titles.
    pub fn titles(&self) -> String {
        let line = |at: usize| self.columns().iter().map(|column| column.titles[at]).collect::<String>();
        format!("{}\n{}  NAME\n", line(0).trim_end(), line(1))
    }

    /// A time; a dash if no clock was read.
    fn clock(&self, text: String) -> String {
        if self.level == Level::Counts { "-".into() } else { text }
    }

    fn ceiling(&self, row: &Row) -> String {
        if self.ceiling { self.clock(number(row.ceiling) + "x") } else { "-".into() }
    }
}

impl Column {
    fn width(&self) -> usize {
        self.titles[1].len().max(self.titles[0].len())
    }
}

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

    /// The numbers, and as much of the name as fits.
    pub fn print(&self, shown: &Shown<'_>) -> String {
        let room = self.room(shown);
        let numbers: String = shown.columns().iter().map(|column| (column.text)(self, shown)).collect();
        let name = with_place(&self.name, self.place, room);
        format!("{numbers}{:indent$}{name}", "", indent = self.indent + GAP)
    }

    /// Characters for the name and the place.
    pub fn room(&self, shown: &Shown<'_>) -> usize {
        shown.layout.width.saturating_sub(shown.name_at() + self.indent)
    }

    fn share(&self, part: u64) -> String {
        percent(self.row.share(part))
    }

    /// A hold time. At level `sampled` a rarely used lock may have no timed hold. Its hold times are then unknown.
    fn held(&self, shown: &Shown<'_>, text: String) -> String {
        let row = self.row;
        let untimed = row.timed == 0 && row.hold == 0.0 && row.attempts > row.rejected;
        if untimed { "-".into() } else { shown.clock(text) }
    }

    fn used(&self, shown: &Shown<'_>, text: String) -> String {
        if self.blank_util { String::new() } else { self.held(shown, text) }
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
            let shown = Shown { level: Level::Full, ceiling: true, layout: &layout };
            let titles = shown.titles();
            assert!(titles.lines().all(|line| line.len() <= width), "{titles}");
            titles.lines().nth(1).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(titles(200), titles(120));
        assert_eq!(titles(80), "LOST CEIL UTIL CON MEAN MEAN(% CPU) TOTAL NAME");
        assert_eq!(titles(60), "LOST UTIL CON TOTAL NAME");
    }
}
