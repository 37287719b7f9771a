//! A table of percentiles, and the value of a percentile in it.

use super::{Percentile, Tool};
use crate::reading::step_of;
use unspin_stats::quantity;

/// A percentile of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct PercentileReading {
    /// The latency.
    pub value: f64,
    /// The distance between neighbouring latencies that the tool can print.
    pub step: f64,
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
    /// A unit of the value's last digit.
    pub step: f64,
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
    /// The width of the buckets in which the latencies were counted, as a share of the latency, if the tool prints it.
    pub bucket: Option<f64>,
    /// Whether the tool leaves out percentiles because there were too few requests for them.
    pub lacks_requests: bool,
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

/// The row of a histogram, the first one at or above a percentile, stands for it if the part of the requests above the row is at
/// least this part of those above the percentile, and the part below the percentile at least this part of those below the
/// row. HdrHistogram's usual five ticks per half distance do so for all percentiles from p25 on; one tick does not.
const PART_MIN: f64 = 0.75;
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
            bucket: None,
            lacks_requests: false,
            damage: None,
        }
    }

    /// The row that stands for a percentile, with the step of its value; or why no value can be compared.
    pub fn row_of(&self, percentile: Percentile) -> Result<Row, String> {
        let row = self.found(percentile)?;
        let share = self.bucket.map_or(0.0, |bucket| bucket * row.value);
        let step = row.step.max(self.tool.bucket(row.value)).max(share);
        if row.value > 0.0 {
            return Ok(Row { step, ..row });
        }
        let step = quantity(step, self.unit);
        Err(format!(
            "{} prints 0, in steps of {step}, so that rounding decides; use a load generator that prints more digits (oha, \
             wrk2), or compare larger latencies (a higher percentile, more connections)",
            self.tool
        ))
    }

    fn found(&self, percentile: Percentile) -> Result<Row, String> {
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
            return Ok(*row);
        }
        let Some(at) = self.histogram.iter().position(|row| row.percent >= wanted - SAME) else {
            return Err(self.without_row(percentile));
        };
        let row = self.histogram[at];
        let is_near = 100.0 - row.percent >= PART_MIN * (100.0 - wanted) - SAME
            && wanted >= PART_MIN * row.percent - SAME;
        match at.checked_sub(1).map(|before| self.histogram[before]) {
            // The values between two equal ones are the same.
            Some(before) if !is_near && before.value < row.value => Err(format!(
                "the rows of {}'s histogram next to it are p{} and p{}, and nothing is interpolated; {}",
                self.tool,
                before.percent,
                row.percent,
                self.tool.more_rows()
            )),
            // The smallest value is not that of a percentile below the first row.
            None if !is_near => Err(format!(
                "{}'s histogram begins at p{}, and nothing is interpolated; {}",
                self.tool,
                row.percent,
                self.tool.more_rows()
            )),
            _ => Ok(row),
        }
    }

    fn without_row(&self, wanted: Percentile) -> String {
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
        // hey's last one is p99.
        if self.lacks_requests && wanted.percent() <= 99.0 {
            return format!(
                "{} prints {names} here, because it has too few requests for more: send {:.0} or more",
                self.tool,
                (1.0 / wanted.share_above()).ceil()
            );
        }
        format!("{} prints {names} here: name one of these ({})", self.tool, self.tool.more())
    }
}

impl Row {
    /// A row, given its number as printed and the unit of that. None if it is no number.
    pub fn of(percent: f64, number: &str, unit: f64) -> Option<Row> {
        let number = number.trim();
        let value = number.parse().ok().filter(|value: &f64| value.is_finite())?;
        Some(Row { percent, value: value * unit, step: step_of(number) * unit })
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
        let row = |&(percent, value): &(f64, f64)| Row { percent, value, step: 0.01 };
        let rows_of = |rows: &[(f64, f64)]| rows.iter().map(row).collect();
        let table = Table { rows: rows_of(rows), histogram: rows_of(histogram), ..Table::of(Tool::Wrk2) };
        table.row_of(Percentile(wanted)).map(|row| row.value)
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

    /// Issue 30: p0.5 was read from the row of p10.
    #[test]
    fn row_far_above_a_low_percentile_is_refused() {
        let rows =
            [(0.0, 0.1), (10.0, 1.0), (20.0, 2.0), (30.0, 3.0), (40.0, 4.0), (50.0, 5.0), (100.0, 9.0)];
        for (wanted, taken) in [(10.0, 1.0), (17.0, 2.0), (25.0, 3.0), (38.0, 4.0), (45.0, 5.0)] {
            assert_eq!(value(&[], &rows, wanted), Ok(taken), "{wanted}");
        }
        for wanted in [0.5, 5.0, 12.0, 21.0] {
            let why = value(&[], &rows, wanted).unwrap_err();
            assert!(why.contains("nothing is interpolated; a histogram with more ticks"), "{wanted}: {why}");
        }
        assert!(value(&[], &rows[1..], 0.5).unwrap_err().contains("begins at p10, and nothing"));
    }

    #[test]
    fn step_is_a_unit_of_the_last_digit_or_a_bucket() {
        // wrk counts whole microseconds, and prints hundredths of them.
        let small =
            Table { rows: Row::of(50.0, "25.00", 1e-6).into_iter().collect(), ..Table::of(Tool::Wrk) };
        assert!((small.row_of(Percentile(50.0)).unwrap().step - 1e-6).abs() < 1e-12);
        let row = |tool, number: &str| {
            let row = Row::of(99.0, number, 1e-3).unwrap();
            Table { rows: vec![row], ..Table::of(tool) }.row_of(Percentile(99.0))
        };
        let steps = [(Tool::Ab, "12", 1e-3), (Tool::Hey, "0.49", 1e-5), (Tool::Wrk, "6.49", 1e-5)];
        for (tool, number, step) in steps {
            assert!((row(tool, number).unwrap().step - step).abs() < 1e-12, "{tool} {number}");
        }
        // Buckets are wider than the digits of fio and memtier_benchmark.
        let bucket = row(Tool::Fio, "130.560").unwrap();
        assert!((bucket.step / bucket.value - 1.0 / 64.0).abs() < 1e-12);
        let bucket = row(Tool::Memtier, "57.59900").unwrap();
        assert!((bucket.step / bucket.value - 1.0 / 1024.0).abs() < 1e-12);
    }

    /// Issue 30: redis-benchmark prints 0.055 and 0.063, or 0.063 and 0.071, for latencies that differ by nothing.
    #[test]
    fn neighbouring_buckets_of_small_latencies_are_a_step_apart() {
        for tool in [Tool::RedisBenchmark, Tool::RedisBenchmarkCsv, Tool::Memtier] {
            for number in ["0.055", "0.823", "5.759", "7.999"] {
                let table =
                    Table { rows: Row::of(99.0, number, 1e-3).into_iter().collect(), ..Table::of(tool) };
                let step = table.row_of(Percentile(99.0)).unwrap().step;
                assert!((step - 8e-6).abs() < 1e-12, "{tool} {number}: {step}");
            }
            // From 16.384 ms on buckets are 16 us wide.
            assert!(tool.bucket(16.384e-3) >= 16e-6 && tool.bucket(40e-3) >= 32e-6);
        }
    }

    /// Issue 30: whole milliseconds of none.
    #[test]
    fn value_of_zero_is_refused_with_a_remedy() {
        let table = Table { rows: Row::of(99.0, "0", 1e-3).into_iter().collect(), ..Table::of(Tool::Ab) };
        let why = table.row_of(Percentile(99.0)).unwrap_err();
        assert!(why.starts_with("ab prints 0, in steps of 1 ms, so that"), "{why}");
        assert!(why.contains("(oha, wrk2), or compare larger"), "{why}");
    }

    #[test]
    fn missing_row_is_refused_with_those_that_are_there() {
        let why = value(&[(50.0, 1.0), (75.0, 1.5), (99.0, 2.0)], &[], 95.0).unwrap_err();
        assert!(why.starts_with("wrk2 prints p50, p75 and p99 here: name one of these ("), "{why}");
        assert!(value(&[], &[(50.0, 1.0), (90.0, 2.0)], 99.0).unwrap_err().contains("ends at p90"));
        assert!(value(&[], &[], 99.0).unwrap_err().contains("empty or cut off"));
    }
}
