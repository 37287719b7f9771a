//! The columns of the table, and which of them have room.

use super::order::Sort;
use super::reading::{Period, Section};
use unspin_meter::Row;
use unspin_meter::figures::{count, number, percent, time};

/// A column before the name.
#[derive(Clone, Copy)]
pub struct Column {
    /// What stands above it, since the start and for an interval.
    titles: (&'static str, &'static str),
    /// Characters.
    pub width: u16,
    /// What the table can be sorted by that it shows.
    pub sort: Option<Sort>,
    /// How soon it goes where there is little room; the greatest goes first.
    goes: u8,
    /// What stands in it; the seconds are those of a rate.
    text: fn(&Row, f64) -> String,
}

/// Characters that the name has at least before columns go.
const NAME: u16 = 26;

#[rustfmt::skip]
const LOCKS: [Column; 15] = [
    Column { titles: ("LOST", "LOST/s"), width: 6, sort: Some(Sort::Lost), goes: 0, text: |row, s| time(row.lost / s) },
    Column { titles: ("CEIL", "CEIL"), width: 5, sort: None, goes: 7, text: |row, _| format!("{}x", number(row.ceiling)) },
    Column { titles: ("CPUS", "CPUS"), width: 5, sort: None, goes: 8, text: |row, _| number(row.cpus) },
    Column { titles: ("UTIL", "UTIL"), width: 5, sort: Some(Sort::Util), goes: 2, text: |row, _| percent(row.util) },
    Column { titles: ("CON", "CON"), width: 5, sort: Some(Sort::Con), goes: 3, text: |row, _| percent(row.con) },
    Column { titles: ("HOLD", "HOLD"), width: 5, sort: Some(Sort::Hold), goes: 5, text: |row, _| time(row.hold_mean) },
    Column { titles: ("MAX", "MAX"), width: 5, sort: None, goes: 9, text: |row, _| time(row.hold_max) },
    Column { titles: ("WAIT", "WAIT"), width: 5, sort: Some(Sort::Wait), goes: 4, text: |row, _| time(row.wait_mean) },
    Column { titles: ("MAX", "MAX"), width: 5, sort: None, goes: 10, text: |row, _| time(row.wait_max) },
    Column { titles: ("%CPU", "%CPU"), width: 5, sort: Some(Sort::Spin), goes: 6, text: |row, _| percent(row.spin_cpu) },
    Column { titles: ("TOTAL", "TOTAL/s"), width: 10, sort: Some(Sort::Total), goes: 1, text: attempts },
    Column { titles: ("NOWAIT", "NOWAIT"), width: 6, sort: None, goes: 13, text: |row, _| percent(row.share(row.nowait)) },
    Column { titles: ("SPIN", "SPIN"), width: 5, sort: None, goes: 11, text: |row, _| percent(row.share(row.spun)) },
    Column { titles: ("SLEPT", "SLEPT"), width: 5, sort: None, goes: 12, text: |row, _| percent(row.share(row.slept)) },
    Column { titles: ("RJECT", "RJECT"), width: 5, sort: None, goes: 14, text: |row, _| percent(row.share(row.rejected)) },
];

#[rustfmt::skip]
const WAITS: [Column; 6] = [
    Column { titles: ("WAITED", "WAIT/s"), width: 6, sort: Some(Sort::Lost), goes: 0, text: |row, s| time(row.lost / s) },
    Column { titles: ("CON", "CON"), width: 5, sort: Some(Sort::Con), goes: 3, text: |row, _| percent(row.con) },
    Column { titles: ("WAIT", "WAIT"), width: 5, sort: Some(Sort::Wait), goes: 2, text: |row, _| time(row.wait_mean) },
    Column { titles: ("MAX", "MAX"), width: 5, sort: None, goes: 5, text: |row, _| time(row.wait_max) },
    Column { titles: ("TOTAL", "TOTAL/s"), width: 10, sort: Some(Sort::Total), goes: 1, text: attempts },
    Column { titles: ("RJECT", "RJECT"), width: 5, sort: None, goes: 4, text: |row, _| percent(row.share(row.rejected)) },
];

fn attempts(row: &Row, seconds: f64) -> String {
    count((row.attempts as f64 / seconds).round() as u64)
}

impl Column {
    /// Its title for a period.
    pub fn title(&self, period: Period) -> &'static str {
        match period {
            Period::SinceStart => self.titles.0,
            Period::Lately => self.titles.1,
        }
    }

    /// A row's text. `seconds` is what sums are divided by: 1 for none.
    pub fn text(&self, row: &Row, seconds: f64) -> String {
        (self.text)(row, seconds)
    }
}

/// The columns that have room beside a name.
pub fn that_fit(section: Section, width: u16) -> Vec<Column> {
    let mut columns = match section {
        Section::Locks => LOCKS.to_vec(),
        Section::Waits => WAITS.to_vec(),
    };
    let room = width.saturating_sub(NAME);
    while columns.iter().map(|column| column.width + 1).sum::<u16>() > room {
        let Some(first) = columns.iter().map(|column| column.goes).max() else { break };
        columns.retain(|column| column.goes != first);
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_and_less_is_shown() {
        let titles = |width| -> Vec<&str> {
            let columns = that_fit(Section::Locks, width);
            columns.iter().map(|column| column.title(Period::SinceStart)).collect()
        };
        assert_eq!(titles(200).len(), LOCKS.len());
        assert_eq!(titles(80), ["LOST", "CEIL", "UTIL", "CON", "HOLD", "WAIT", "%CPU", "TOTAL"]);
        assert_eq!(titles(45), ["LOST", "TOTAL"]);
        assert!(titles(20).is_empty() && titles(0).is_empty());
    }
}
