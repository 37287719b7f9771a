//! A table of percentiles, and the value of a percentile in it.

use super::{Percentile, Tool};

/// A percentile of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct PercentileReading {
    /// The latency.
    pub value: f64,
    /// Seconds; empty if the tool does not print its unit.
    pub unit: &'static str,
    /// Number of requests on which it rests; none if the tool does not print it.
    pub samples: Option<u64>,
    /// The tool that printed it.
    pub tool: Tool,
    /// Number of tables in the output. This is the last one.
    pub tables: usize,
}

/// One row: so many percent of the requests took so long at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    pub percent: f64,
    pub value: f64,
}

/// A table that one tool has printed.
#[derive(Clone, Debug)]
pub struct Table {
    pub tool: Tool,
    /// The percentiles that the tool prints by name.
    pub rows: Vec<Row>,
    /// The rows of a histogram, by ascending percentile.
    pub histogram: Vec<Row>,
    /// Seconds; empty if unknown.
    pub unit: &'static str,
    pub samples: Option<u64>,
    /// Number of requests that failed, as far as the tool prints it.
    pub failed: u64,
    /// Why the table cannot be used.
    pub damage: Option<String>,
}

/// What a reader has recognised.
#[derive(Debug)]
pub struct Section {
    /// The last table in the section; none if its latencies are other ones.
    pub table: Option<Table>,
    /// Number of tables in the section.
    pub tables: usize,
    /// Index of the first line behind it.
    pub end: usize,
}

/// The lines of an output.
#[derive(Debug)]
pub struct Lines<'o>(Vec<&'o str>);

/// The row of a histogram stands for a percentile if it leaves at least this part of the requests above it that the percentile
/// leaves. HdrHistogram's usual five ticks per half distance do so everywhere; one tick does not.
const TAIL_PART_MIN: f64 = 0.75;
/// A share of failed requests above which the latencies are not those of a server that works: an error is answered sooner than a
/// request, and a timeout is missing among the latencies.
const FAILED_MAX: f64 = 0.01;
/// Percentiles that differ by less are printed alike.
const SAME: f64 = 1e-7;

impl Table {
    /// A table in seconds, without rows.
    pub fn of(tool: Tool) -> Table {
        Table {
            tool,
            rows: Vec::new(),
            histogram: Vec::new(),
            unit: "s",
            samples: None,
            failed: 0,
            damage: None,
        }
    }

    /// The value of a percentile, or why it is not in the table.
    pub fn value_of(&self, percentile: Percentile) -> Result<f64, String> {
        if let Some(damage) = &self.damage {
            return Err(format!("{}'s table {damage}", self.tool));
        }
        if let Some(samples) = self.samples.filter(|&all| self.failed as f64 > FAILED_MAX * all as f64) {
            return Err(format!(
                "{} of {samples} requests failed ({}), so the latencies are not those of a server that works: see what it answers, \
                 or lower the load",
                self.failed, self.tool
            ));
        }
        let wanted = percentile.percent();
        if let Some(row) = self.rows.iter().find(|row| (row.percent - wanted).abs() < SAME) {
            return Ok(row.value);
        }
        let Some(at) = self.histogram.iter().position(|row| row.percent >= wanted - SAME) else {
            return Err(self.without_row());
        };
        let row = self.histogram[at];
        let is_near = 100.0 - row.percent >= TAIL_PART_MIN * (100.0 - wanted) - SAME;
        match at.checked_sub(1).map(|before| self.histogram[before]) {
            // The values between two equal ones are the same.
            Some(before) if !is_near && before.value < row.value => Err(format!(
                "the rows of {}'s histogram next to it are p{} and p{}, and nothing is interpolated; {}",
                self.tool,
                before.percent,
                row.percent,
                self.tool.more()
            )),
            _ => Ok(row.value),
        }
    }

    fn without_row(&self) -> String {
        if let Some(last) = self.histogram.last() {
            return format!("{}'s histogram ends at p{}: the output is cut off", self.tool, last.percent);
        }
        let mut printed: Vec<String> =
            self.rows.iter().map(|row| Percentile(row.percent).to_string()).collect();
        let names = match (printed.pop(), printed.is_empty()) {
            (None, _) => return format!("{}'s table is empty or cut off", self.tool),
            (Some(last), true) => last,
            (Some(last), false) => format!("{} and {last}", printed.join(", ")),
        };
        format!("{} prints {names} here: name one of these ({})", self.tool, self.tool.more())
    }
}

impl Section {
    /// One table.
    pub fn of(table: Table, end: usize) -> Section {
        Section { table: Some(table), tables: 1, end }
    }

    /// A table of other latencies than those of the requests.
    pub fn skipped(end: usize) -> Section {
        Section { table: None, tables: 0, end }
    }
}

impl<'o> Lines<'o> {
    /// Splits at line feeds and carriage returns; both together are one end of a line.
    pub fn of(output: &'o str) -> Lines<'o> {
        Lines(output.lines().flat_map(|line| line.split('\r')).collect())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The line without blanks around it; empty behind the end.
    pub fn get(&self, at: usize) -> &str {
        self.0.get(at).map_or("", |line| line.trim())
    }

    /// The lines before `end`, the nearest first.
    pub fn before(&self, end: usize) -> impl Iterator<Item = &str> {
        self.0[..end.min(self.len())].iter().rev().map(|line| line.trim())
    }

    /// The lines from `begin` on.
    pub fn from(&self, begin: usize) -> impl Iterator<Item = &str> {
        self.0[begin.min(self.len())..].iter().map(|line| line.trim())
    }

    /// The next line that is not empty.
    pub fn next_filled(&self, mut at: usize) -> usize {
        while at < self.len() && self.get(at).is_empty() {
            at += 1;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(rows: &[(f64, f64)], histogram: &[(f64, f64)], wanted: f64) -> Result<f64, String> {
        let rows_of =
            |rows: &[(f64, f64)]| rows.iter().map(|&(percent, value)| Row { percent, value }).collect();
        let table = Table { rows: rows_of(rows), histogram: rows_of(histogram), ..Table::of(Tool::Wrk2) };
        table.value_of(Percentile(wanted))
    }

    #[test]
    fn row_at_or_above_the_percentile_is_taken_if_it_is_near() {
        let fine = [(98.75, 4.0), (99.0625, 5.0), (99.9023, 7.0), (100.0, 9.0)];
        assert_eq!(value(&[], &fine, 99.0), Ok(5.0));
        assert_eq!(value(&[], &fine, 99.9), Ok(7.0));
        assert_eq!(value(&[], &fine, 100.0), Ok(9.0));
        assert_eq!(
            value(&[(99.0, 4.5)], &fine, 99.0),
            Ok(4.5),
            "a row with the name of the percentile is exact"
        );
        let coarse = [(50.0, 1.0), (75.0, 2.0), (87.5, 3.0), (93.75, 4.0), (96.875, 4.0), (100.0, 4.0)];
        let why = value(&[], &coarse, 90.0).unwrap_err();
        assert!(why.contains("next to it are p87.5 and p93.75, and nothing is interpolated"), "{why}");
        assert_eq!(value(&[], &coarse, 95.0), Ok(4.0), "the values on both sides are equal");
        assert_eq!(value(&[], &coarse, 75.0), Ok(2.0));
    }

    #[test]
    fn missing_row_is_refused_with_those_that_are_there() {
        let why = value(&[(50.0, 1.0), (75.0, 1.5), (99.0, 2.0)], &[], 95.0).unwrap_err();
        assert!(why.starts_with("wrk2 prints p50, p75 and p99 here: name one of these ("), "{why}");
        assert!(value(&[], &[(50.0, 1.0), (90.0, 2.0)], 99.0).unwrap_err().contains("ends at p90"));
        assert!(value(&[], &[], 99.0).unwrap_err().contains("empty or cut off"));
    }
}
