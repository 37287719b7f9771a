//! A table: its columns, which of them fit beside the name, and a line of it.

use crate::figures::{count, time};
use crate::report::MeterReport;
use unspin_wire::Level;

/// Where a table is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Medium {
    /// In a printed report.
    Print,
    /// On the screen of `unspin top`.
    Screen,
}

impl Medium {
    /// Minimum width of the name, with the gap before it. Columns are dropped until the name has this width.
    const fn name_min(self) -> usize {
        match self {
            Medium::Print => GAP + 20,
            Medium::Screen => 26,
        }
    }
}

/// Characters between the columns and the name of a printed table.
pub(crate) const GAP: usize = 2;

/// A column before the name, for rows of type `R`.
pub struct Column<R: 'static> {
    /// The field of the row, as JSON names it. It identifies the column.
    pub field: &'static str,
    /// The two lines of its title in print. Empty above if the title has one line.
    pub(crate) printed: [&'static str; 2],
    /// The titles on the screen: since the start, and for an interval, where sums are rates.
    pub(crate) on_screen: [&'static str; 2],
    /// Maximum width of its figures.
    pub(crate) width: usize,
    /// What is printed around its figures.
    pub(crate) frame: Frame,
    /// In a narrow table the columns with the greatest number are dropped first: in print, on the screen.
    pub(crate) dropped: [u8; 2],
    /// Whether it says how long a lock was held in all. Rows that add up other rows leave it blank.
    pub(crate) is_of_use: bool,
    /// The text for a row.
    pub(crate) text: fn(&R, &Units) -> String,
}

/// What is printed around figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Frame {
    /// Nothing: the first column.
    First,
    /// A space before them.
    Space,
    /// Parentheses: they belong to the column before.
    Parentheses,
}

/// How figures are converted to text.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    /// Seconds of the interval for which sums are rates. None: sums are sums.
    rate_over: Option<f64>,
    /// Whether waits are timed.
    timed: bool,
    /// Whether short waits are known: waits are timed, and the cost of a wake-up is known.
    judges_waits: bool,
    /// Whether the bound on the speed-up is given: waits are timed, and the run was not disturbed.
    bounds: bool,
}

impl Units {
    /// For a report.
    pub fn of(report: &MeterReport) -> Units {
        let timed = report.level != Level::Counts;
        Units {
            rate_over: None,
            timed,
            judges_waits: timed && report.wake_up.is_some(),
            bounds: timed && !report.is_disturbed(),
        }
    }

    /// For rows of which all figures are known.
    pub fn all_known() -> Units {
        Units { rate_over: None, timed: true, judges_waits: true, bounds: true }
    }

    /// For locks that were recorded at this level, bounds included.
    pub(crate) fn of_level(level: Level) -> Units {
        let timed = level != Level::Counts;
        Units { rate_over: None, timed, judges_waits: timed, bounds: timed }
    }

    /// Sums become rates over as many seconds, if they are more than 0.
    #[must_use]
    pub fn per_second_of(self, seconds: f64) -> Units {
        Units { rate_over: (seconds > 0.0).then_some(seconds), ..self }
    }

    /// A sum of seconds, or its rate.
    pub fn sum(&self, seconds: f64) -> String {
        self.time(seconds / self.rate_over.unwrap_or(1.0))
    }

    /// A time.
    pub fn time(&self, seconds: f64) -> String {
        self.timed(|| time(seconds))
    }

    /// A number, or its rate.
    pub fn count(&self, n: u64) -> String {
        count(self.rate_over.map_or(n, |seconds| (n as f64 / seconds).round() as u64))
    }

    /// A figure that needs waits to be timed; a dash if they are not.
    pub(crate) fn timed(&self, text: impl FnOnce() -> String) -> String {
        known(self.timed, text)
    }

    /// A figure that needs the cost of a wake-up.
    pub(crate) fn judged(&self, text: impl FnOnce() -> String) -> String {
        known(self.judges_waits, text)
    }

    /// A bound on the speed-up.
    pub(crate) fn bound(&self, text: impl FnOnce() -> String) -> String {
        known(self.bounds, text)
    }
}

/// A dash for a figure that was not measured.
pub(crate) fn known(is_known: bool, text: impl FnOnce() -> String) -> String {
    if is_known { text() } else { "-".into() }
}

impl<R> Column<R> {
    /// The title on the screen of `top`, since the start.
    pub fn title(&self) -> &'static str {
        self.on_screen[0]
    }

    /// The title on the screen of `top`, for an interval.
    pub fn rate_title(&self) -> &'static str {
        self.on_screen[1]
    }

    /// Width of its title and figures on the screen.
    pub fn screen_width(&self) -> usize {
        self.on_screen.iter().map(|title| title.len()).fold(self.width, usize::max)
    }

    /// Characters that it takes in a line, with what separates it from its neighbours.
    fn taken(&self, medium: Medium) -> usize {
        match (medium, self.frame) {
            (Medium::Screen, _) => self.screen_width() + 1,
            (Medium::Print, Frame::First) => self.width,
            (Medium::Print, Frame::Space) => self.width + 1,
            (Medium::Print, Frame::Parentheses) => self.width + 2,
        }
    }

    fn dropped(&self, medium: Medium) -> u8 {
        match medium {
            Medium::Print => self.dropped[0],
            Medium::Screen => self.dropped[1],
        }
    }

    fn cell(&self, medium: Medium, text: &str) -> String {
        let width = self.width;
        match (medium, self.frame) {
            (Medium::Screen, _) => format!("{text:>0$} ", self.screen_width()),
            (Medium::Print, Frame::First) => format!("{text:>width$}"),
            (Medium::Print, Frame::Space) => format!(" {text:>width$}"),
            (Medium::Print, Frame::Parentheses) => format!("({text:>width$})"),
        }
    }
}

/// The columns of a table that are shown.
pub struct Table<R: 'static> {
    medium: Medium,
    columns: Vec<&'static Column<R>>,
}

impl<R> Table<R> {
    /// All columns.
    pub fn all(columns: &'static [Column<R>], medium: Medium) -> Table<R> {
        Table { medium, columns: columns.iter().collect() }
    }

    /// The columns that fit beside a name in a line of this width.
    pub fn that_fits(columns: &'static [Column<R>], medium: Medium, width: usize) -> Table<R> {
        let mut table = Table::all(columns, medium);
        let room = width.saturating_sub(medium.name_min());
        while table.width() > room {
            let Some(first) = table.columns.iter().map(|column| column.dropped(medium)).max() else { break };
            table.columns.retain(|column| column.dropped(medium) != first);
        }
        table
    }

    /// The columns, from left to right.
    pub fn columns(&self) -> &[&'static Column<R>] {
        &self.columns
    }

    /// Width of the columns.
    pub fn width(&self) -> usize {
        self.columns.iter().map(|column| column.taken(self.medium)).sum()
    }

    /// The figures of a row, in their columns.
    pub fn figures(&self, row: &R, units: &Units) -> String {
        self.columns.iter().map(|column| column.cell(self.medium, &(column.text)(row, units))).collect()
    }

    /// The figures of a row that adds up other rows.
    pub(crate) fn figures_of_sum(&self, row: &R, units: &Units) -> String {
        let cell = |column: &&Column<R>| match column.is_of_use {
            true => column.cell(self.medium, ""),
            false => column.cell(self.medium, &(column.text)(row, units)),
        };
        self.columns.iter().map(cell).collect()
    }

    /// The two lines of titles in print. The upper one may be empty.
    pub(crate) fn printed_titles(&self) -> [String; 2] {
        let above = |column: &&Column<R>| format!("{:<1$}", column.printed[0], column.taken(Medium::Print));
        let above: String = self.columns.iter().map(above).collect();
        [above.trim_end().into(), self.columns.iter().map(|column| column.printed[1]).collect()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{LOCKS, WAITS};

    #[test]
    fn narrower_screen_shows_fewer_columns() {
        let titles = |width| -> Vec<&str> {
            let table = Table::that_fits(&LOCKS, Medium::Screen, width);
            table.columns().iter().map(|column| column.title()).collect()
        };
        assert_eq!(titles(200).len(), LOCKS.len());
        assert_eq!(titles(80), ["LOST", "CEIL", "UTIL", "CON", "HOLD", "WAIT", "%CPU", "TOTAL"]);
        assert_eq!(titles(45), ["LOST", "TOTAL"]);
        assert!(titles(20).is_empty() && titles(0).is_empty());
    }

    #[test]
    fn printed_titles_are_those_of_the_columns_that_fit() {
        let titles = |width| Table::that_fits(&LOCKS, Medium::Print, width).printed_titles();
        assert_eq!(titles(51), ["".to_owned(), "  LOST  UTIL   CON     TOTAL".into()]);
        assert_eq!(
            titles(63),
            ["                    HOLD  WAIT", "  LOST  UTIL   CON  MEAN  MEAN     TOTAL"].map(str::to_owned)
        );
        assert_eq!(
            Table::all(&WAITS, Medium::Print).printed_titles()[1],
            "WAITED MEDIAN(  MAX)      CALLS      WAITS SHORT RJECT"
        );
    }

    #[test]
    fn rates_are_sums_by_seconds() {
        let units = Units::all_known();
        assert_eq!([units.sum(3.0), units.count(30)], ["3.00s", "30"].map(str::to_owned));
        let rates = units.per_second_of(2.0);
        assert_eq!([rates.sum(3.0), rates.count(30)], ["1.50s", "15"].map(str::to_owned));
        assert_eq!(
            units.per_second_of(0.0).count(u64::MAX),
            units.count(u64::MAX),
            "an interval without time"
        );
    }
}
