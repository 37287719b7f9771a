//! The table of a lens for `unspin top`: the total, and below it the rows with their callers, most time first.

use unspin_report::{Column, Figures, Medium, Table, Units};

/// The name of the row that adds up all others.
pub const TOTAL: &str = "*TOTAL*";
/// Callers shown of each row.
pub const CALLERS: usize = 3;

/// The part of a line that is no figure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LensLine {
    /// The name, indented for a caller.
    pub label: String,
    /// The name of the row that the line belongs to: filters compare it.
    pub name: String,
}

impl LensLine {
    /// The line of a row, or of a caller of it, behind so many spaces.
    pub fn new(indent: usize, label: &str, name: &str) -> LensLine {
        LensLine { label: format!("{:indent$}{label}", ""), name: name.to_owned() }
    }
}

/// The table of one lens and period.
pub struct LensTable {
    lines: Box<dyn Lines>,
    seconds: f64,
    figures: Figures,
}

/// Lines with figures of one type.
trait Lines {
    fn retain(&mut self, fits: &dyn Fn(&LensLine) -> bool);
    fn line(&self, at: usize) -> Option<&LensLine>;
    fn len(&self) -> usize;
    fn format(&self, width: usize, figures: Figures, units: &Units) -> (String, Vec<String>);
}

struct TypedLines<R: 'static> {
    columns: &'static [Column<R>],
    rows: Vec<(LensLine, R)>,
}

impl<R> Lines for TypedLines<R> {
    fn retain(&mut self, fits: &dyn Fn(&LensLine) -> bool) {
        self.rows.retain(|(line, _)| fits(line));
    }

    fn line(&self, at: usize) -> Option<&LensLine> {
        self.rows.get(at).map(|(line, _)| line)
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn format(&self, width: usize, figures: Figures, units: &Units) -> (String, Vec<String>) {
        let table = Table::that_fits(self.columns, Medium::Screen, width);
        let text = |(line, row): &(LensLine, R)| table.line(row, &line.label, units);
        let titles = table.columns().iter().map(|column| column.screen_title(figures) + " ");
        (titles.chain([" NAME".to_owned()]).collect(), self.rows.iter().map(text).collect())
    }
}

impl LensTable {
    /// Of these rows, which cover so many seconds.
    pub fn new<R>(
        columns: &'static [Column<R>],
        rows: Vec<(LensLine, R)>,
        seconds: f64,
        figures: Figures,
    ) -> LensTable {
        LensTable { lines: Box::new(TypedLines { columns, rows }), seconds, figures }
    }

    /// Keeps the lines that fit, and the total.
    pub fn retain(&mut self, fits: impl Fn(&LensLine) -> bool) {
        self.lines.retain(&|line| line.name == TOTAL || fits(line));
    }

    /// The line at a position.
    pub fn line(&self, at: usize) -> Option<&LensLine> {
        self.lines.line(at)
    }

    /// Seconds that it covers.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Number of lines.
    pub fn size(&self) -> usize {
        self.lines.len()
    }

    /// The line of titles, and all others, with the columns that fit into this width.
    pub fn lines(&self, width: u16) -> (String, Vec<String>) {
        let units = match self.figures {
            Figures::Sums => Units::all_known(),
            Figures::Rates => Units::all_known().per_second_of(self.seconds),
        };
        self.lines.format(width.into(), self.figures, &units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::reports::Reports;
    use crate::lens::testing;

    fn lines(reports: &Reports, width: u16) -> Vec<String> {
        let (titles, lines) = reports.table(Figures::Rates).unwrap().lines(width);
        [vec![titles], lines].concat()
    }

    #[test]
    fn kernel_locks_are_rates_with_callers() {
        let lines = lines(&testing::kernel(), 100);
        assert_eq!(lines[0], "LOST/s   WAIT   MAX  %CPU    WAITS/s  SPIN SLEPT RJECT  NAME");
        assert!(lines[1].ends_with(" *TOTAL*"), "{lines:?}");
        assert!(lines.iter().any(|line| line.ends_with("  run-queue lock (2), spinlock")), "{lines:?}");
        assert!(lines.iter().any(|line| line.ends_with("    __schedule+0x10")), "{lines:?}");
    }

    #[test]
    fn narrow_windows_keep_the_time_and_the_count() {
        assert!(lines(&testing::kernel(), 48)[0].starts_with("LOST/s    WAITS/s  NAME"));
        assert!(lines(&testing::futex(), 48)[0].starts_with("WAIT/s    WAITS/s  NAME"));
        assert!(lines(&testing::off_cpu(), 45)[0].starts_with("TIME/s    SHARE  NAME"));
        assert!(lines(&testing::off_cpu(), 0)[0].starts_with(" NAME"));
    }

    #[test]
    fn filter_keeps_the_total_and_the_callers() {
        let mut table = testing::kernel().table(Figures::Sums).unwrap();
        let all = table.size();
        table.retain(|line| line.name.contains("run-queue"));
        let (_, lines) = table.lines(100);
        assert!(lines.len() < all && lines.len() == 4, "total, lock, two callers: {lines:?}");
    }
}
