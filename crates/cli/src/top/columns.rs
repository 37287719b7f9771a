//! The columns of the table, and which of them fit into the window.

use super::order::Sort;
use super::reading::Period;
use unspin_report::figures::{count, number, percent, time};
use unspin_report::{MeterReport, Row, WaitRow};
use unspin_wire::Level;

/// A column before the name, for rows of one type.
pub struct Column<R: 'static> {
    /// The column's title, since the start and for an interval.
    titles: (&'static str, &'static str),
    /// The column's width in characters.
    pub width: u16,
    /// The sort order that it shows.
    pub sort: Option<Sort>,
    /// Priority of removal in a narrow window: the column with the greatest number is removed first.
    goes: u8,
    /// The text of a row's cell.
    text: fn(&R, &Units) -> String,
}

/// How figures are converted to text.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    /// Divisor that turns sums into rates: the seconds of the interval, or 1 since the start.
    seconds: f64,
    /// Whether waits are timed.
    timed: bool,
    /// Whether short waits are known: waits are timed, and the cost of a wake-up is known.
    judges_waits: bool,
    /// Whether CEIL is given: waits are timed, and the run was not disturbed.
    bounds: bool,
}

impl Units {
    /// For a report of a period.
    pub fn new(report: &MeterReport, period: Period) -> Units {
        let seconds = if period == Period::Lately { report.seconds } else { 1.0 };
        let timed = report.level != Level::Counts;
        Units {
            seconds,
            timed,
            judges_waits: timed && report.wake_up.is_some(),
            bounds: timed && !report.is_disturbed(),
        }
    }

    /// A sum of seconds, as a rate for an interval.
    pub fn sum(&self, seconds: f64) -> String {
        self.time(seconds / self.seconds)
    }

    /// A time.
    pub fn time(&self, seconds: f64) -> String {
        self.known(self.timed, || time(seconds))
    }

    /// A number, as a rate for an interval.
    pub fn count(&self, n: u64) -> String {
        count((n as f64 / self.seconds).round() as u64)
    }

    /// A dash for values that were not measured, like in the printed table.
    fn known(&self, known: bool, text: impl FnOnce() -> String) -> String {
        if known { text() } else { "-".into() }
    }
}

/// Minimum width of the name, before columns are removed.
const NAME: u16 = 26;

#[rustfmt::skip]
pub const LOCKS: [Column<Row>; 15] = [
    Column { titles: ("LOST", "LOST/s"), width: 6, sort: Some(Sort::Lost), goes: 0, text: |row, s| s.sum(row.lost) },
    Column { titles: ("CEIL", "CEIL"), width: 5, sort: None, goes: 7, text: |row, s| s.known(s.bounds, || format!("{}x", number(row.ceiling))) },
    Column { titles: ("CPUS", "CPUS"), width: 5, sort: None, goes: 8, text: |row, s| s.known(row.timed > 0, || number(row.cpus)) },
    Column { titles: ("UTIL", "UTIL"), width: 5, sort: Some(Sort::Util), goes: 2, text: |row, s| s.known(row.timed > 0, || percent(row.util)) },
    Column { titles: ("CON", "CON"), width: 5, sort: Some(Sort::Con), goes: 3, text: |row, _| percent(row.con) },
    Column { titles: ("HOLD", "HOLD"), width: 5, sort: Some(Sort::Hold), goes: 5, text: |row, s| s.known(row.timed > 0, || time(row.hold_mean)) },
    Column { titles: ("MAX", "MAX"), width: 5, sort: None, goes: 9, text: |row, s| s.known(row.timed > 0, || time(row.hold_max)) },
    Column { titles: ("WAIT", "WAIT"), width: 5, sort: Some(Sort::Wait), goes: 4, text: |row, s| s.time(row.wait_mean) },
    Column { titles: ("MAX", "MAX"), width: 5, sort: None, goes: 10, text: |row, s| s.time(row.wait_max) },
    Column { titles: ("%CPU", "%CPU"), width: 5, sort: Some(Sort::Spin), goes: 6, text: |row, s| s.known(s.timed, || percent(row.spin_cpu)) },
    Column { titles: ("TOTAL", "TOTAL/s"), width: 10, sort: Some(Sort::Total), goes: 1, text: |row, s| s.count(row.attempts) },
    Column { titles: ("NOWAIT", "NOWAIT"), width: 6, sort: None, goes: 13, text: |row, _| percent(row.share(row.nowait)) },
    Column { titles: ("SPIN", "SPIN"), width: 5, sort: None, goes: 11, text: |row, _| percent(row.share(row.spun)) },
    Column { titles: ("SLEPT", "SLEPT"), width: 5, sort: None, goes: 12, text: |row, _| percent(row.share(row.slept)) },
    Column { titles: ("RJECT", "RJECT"), width: 5, sort: None, goes: 14, text: |row, _| percent(row.share(row.rejected)) },
];

#[rustfmt::skip]
pub const WAITS: [Column<WaitRow>; 7] = [
    Column { titles: ("WAITED", "WAIT/s"), width: 6, sort: Some(Sort::Lost), goes: 0, text: |row, s| s.sum(row.waited) },
    Column { titles: ("MEDIAN", "MEDIAN"), width: 6, sort: Some(Sort::Wait), goes: 2, text: |row, s| s.time(row.median) },
    Column { titles: ("MAX", "MAX"), width: 5, sort: None, goes: 5, text: |row, s| s.time(row.max) },
    Column { titles: ("CALLS", "CALLS/s"), width: 10, sort: Some(Sort::Total), goes: 1, text: |row, s| s.count(row.calls) },
    Column { titles: ("WAITS", "WAITS/s"), width: 10, sort: None, goes: 4, text: |row, s| s.count(row.waits) },
    Column { titles: ("SHORT", "SHORT"), width: 5, sort: None, goes: 3, text: |row, s| s.known(s.judges_waits && row.waits > 0, || percent(row.short_share())) },
    Column { titles: ("RJECT", "RJECT"), width: 5, sort: None, goes: 6, text: |row, _| percent(row.gave_up as f64 / row.calls.max(1) as f64) },
];

impl<R> Column<R> {
    /// The column's title for a period.
    pub fn title(&self, period: Period) -> &'static str {
        match period {
            Period::SinceStart => self.titles.0,
            Period::Lately => self.titles.1,
        }
    }
}

/// The columns of a table that fit beside a name.
pub fn that_fit<R>(all: &'static [Column<R>], width: u16) -> Vec<&'static Column<R>> {
    let mut columns: Vec<&Column<R>> = all.iter().collect();
    let room = width.saturating_sub(NAME);
    while columns.iter().map(|column| column.width + 1).sum::<u16>() > room {
        let Some(first) = columns.iter().map(|column| column.goes).max() else { break };
        columns.retain(|column| column.goes != first);
    }
    columns
}

/// A row with its name.
pub fn line<R>(columns: &[&Column<R>], row: &R, name: &str, scale: &Units) -> String {
    let mut text = String::new();
    for column in columns {
        text += &format!("{:>1$} ", (column.text)(row, scale), column.width as usize);
    }
    text + " " + name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrower_window_shows_fewer_columns() {
        let titles = |width| -> Vec<&str> {
            that_fit(&LOCKS, width).iter().map(|column| column.title(Period::SinceStart)).collect()
        };
        assert_eq!(titles(200).len(), LOCKS.len());
        assert_eq!(titles(80), ["LOST", "CEIL", "UTIL", "CON", "HOLD", "WAIT", "%CPU", "TOTAL"]);
        assert_eq!(titles(45), ["LOST", "TOTAL"]);
        assert!(titles(20).is_empty() && titles(0).is_empty());
    }
}
