//! The printed section of a lens: a heading, the table, what to do next under its rows, and notes.

use super::text::cut;
use std::fmt::Write;
use unspin_report::figures::time;
use unspin_report::next::{Next, Said};
use unspin_report::{Column, Layout, PrintedTable, Units, add_note};

/// Minimum width of a printed name, even if the line becomes longer than the terminal.
const NAME_MIN: usize = 20;

/// A section as far as it is written.
pub struct Section<'l, R: 'static> {
    text: String,
    table: PrintedTable<R>,
    layout: &'l Layout,
    said: Said,
}

impl<'l, R> Section<'l, R> {
    /// A section with a heading, and rows with these columns.
    pub fn new(heading: String, columns: &'static [Column<R>], layout: &'l Layout) -> Section<'l, R> {
        let table = PrintedTable::whole(columns, Units::all_known(), layout);
        Section { text: heading, table, layout, said: Said::default() }
    }

    /// Writes the titles, the names under this one.
    pub fn titles(&mut self, name: &str) {
        self.text += &self.table.titles(name);
    }

    /// Writes a row behind an empty line.
    pub fn entry(&mut self, row: &R, name: &str) {
        self.text += "\n";
        self.line(row, 0, name);
    }

    /// Writes a row, with its name behind so many spaces.
    pub fn line(&mut self, row: &R, indent: usize, name: &str) {
        let name = cut(name, self.table.room(indent).max(NAME_MIN));
        let _ = writeln!(self.text, "{}{:indent$}{name}", self.table.figures(row), "");
    }

    /// Writes text that is in no column.
    pub fn add(&mut self, text: &str) {
        self.text += text;
    }

    /// Writes as many of the callers as the layout has, and the number of the others.
    pub fn callers<C>(&mut self, callers: &[C], indent: usize, line: impl Fn(&C) -> (&R, String)) {
        for caller in callers.iter().take(self.layout.callers) {
            let (row, name) = line(caller);
            self.line(row, indent, &name);
        }
        if let Some(rest @ [_, ..]) = callers.get(self.layout.callers..) {
            self.text += &self.table.more(indent, rest.len());
        }
    }

    /// Writes what to do next about a row.
    pub fn next(&mut self, next: Option<&Next>, row: &str) {
        if let Some(next) = next {
            self.said.write(next, row, self.layout.width, &mut self.text);
        }
    }

    /// Writes the number of the entries that the layout leaves out, and the sum of their times.
    pub fn omitted<T>(&mut self, entries: &[T], phrase: &str, seconds: impl Fn(&T) -> f64) {
        if let Some(rest @ [_, ..]) = entries.get(self.layout.rows..) {
            let sum = rest.iter().map(seconds).sum();
            let _ = writeln!(self.text, "\nand {} more, {phrase} {}: --all", rest.len(), time(sum));
        }
    }

    /// Writes paragraphs below the table; this is the end.
    #[must_use]
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> String {
        for note in notes {
            add_note(&note, self.layout.width, &mut self.text);
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_report::Frame;

    type Seconds = Column<f64>;

    const COLUMNS: [Seconds; 3] = [
        Seconds::new("sum", Frame::Gap(0), 6, ["", "   SUM"], |row, units| units.sum(*row)),
        Seconds::new("mean", Frame::Gap(2), 5, ["", "   MEAN"], |row, _| time(*row)),
        Seconds::unknown("max", Frame::Parentheses, 5, [" WAIT", "(  MAX)"]),
    ];

    #[test]
    fn printed_titles_stand_over_their_figures() {
        let layout = Layout { width: 30, ..Layout::default() };
        let mut section = Section::new(String::new(), &COLUMNS, &layout);
        section.titles("NAME");
        section.line(&2.0, 1, "name");
        let lines = ["              WAIT", "   SUM   MEAN(  MAX)  NAME", " 2.00s  2.00s(    -)   name", ""];
        assert_eq!(section.with_notes([]), lines.join("\n"));
    }
}
