//! One line of the table of locks.

use crate::figures::{count, number, percent, time};
use crate::kind::RecordKind;
use crate::layout::Layout;
use crate::level::Level;
use crate::lock::Caller;
use crate::row::Row;

/// Width of the columns before the name.
pub(crate) const NAME_AT: usize = 100;

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
    pub fn print(&self, level: Level, layout: &Layout) -> String {
        let row = self.row;
        let share = |part: u64| percent(row.share(part));
        let clock = |text: String| if level == Level::Counts { "-".into() } else { text };
        // At level `sampled` a rarely used lock may have no timed hold. Its hold times are then unknown.
        let untimed = row.timed == 0 && row.hold == 0.0 && row.attempts > row.rejected;
        let held = |text: String| if untimed { "-".into() } else { clock(text) };
        let used = |text: String| if self.blank_util { String::new() } else { held(text) };
        let room = layout.width.saturating_sub(NAME_AT + self.indent);
        format!(
            "{:>6} {:>5} {:>5} {:>5} {} {:>5}({:>5}) {:>5}({:>5})({:>5}) {:>10} {} {} {} {}{:indent$}{}",
            clock(time(row.lost)),
            clock(number(row.ceiling) + "x"),
            used(number(row.cpus)),
            used(percent(row.util)),
            percent(row.con),
            held(time(row.hold_mean)),
            held(time(row.hold_max)),
            clock(time(row.wait_mean)),
            clock(time(row.wait_max)),
            clock(percent(row.spin_cpu)),
            count(row.attempts),
            share(row.nowait),
            share(row.spun),
            share(row.slept),
            share(row.rejected),
            "",
            with_place(&self.name, self.place, room),
            indent = self.indent + 2,
        )
    }
}

/// The name, and its place if that fits.
pub(crate) fn with_place(name: &str, place: Option<&str>, width: usize) -> String {
    match place {
        Some(place) if name.chars().count() + 2 + place.chars().count() <= width => {
            format!("{name}  {place}")
        }
        _ => fitted(name, width),
    }
}

/// The name. If it is too long its beginning is cut off: namespaces carry less information than the names within
/// them.
pub(crate) fn fitted(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.into();
    }
    ['…'].into_iter().chain(name.chars().skip(length + 1 - width)).collect()
}
