//! Times of one kind by their length, of one run or of two: a plot on a logarithmic axis, and rows of a table.

use super::sides::Run;
use crate::name::name;
use crate::number::time;
use crate::svg::{Axis, line, px, text, text_around};
use crate::table::{Cell, TableRow};
use maud::{Markup, html};
use unspin_figures::Percent;
use unspin_report::{TimeRange, Times};

/// Height of a plot with its heading and its axis.
pub const HEIGHT: f64 = 96.0;
/// Height of the bars.
const BARS: f64 = 60.0;

/// The same times of all runs; none of a run that does not have them.
pub struct Distribution<'r> {
    /// What the times are: `holds`, `waits`.
    pub kind: &'static str,
    /// Those of each run.
    pub times: Vec<Option<&'r Times>>,
}

/// Ranges of two runs that differ by less are the same: each run calibrates the clock by which its ranges double.
const SAME: f64 = 0.02;

/// The shortest and the longest time of all; none without times.
pub fn ends<'d>(all: impl Iterator<Item = &'d Distribution<'d>>) -> Option<(f64, f64)> {
    let ranges = all.flat_map(|one| one.times.iter().flatten().flat_map(|times| times.ranges()));
    let bounds = ranges.map(|range| (begin(range), end(range)));
    bounds.reduce(|(low, high), (from, below)| (low.min(from), high.max(below)))
}

/// The first range begins at 0, which a logarithmic axis does not have.
fn begin(range: &TimeRange) -> f64 {
    if range.from > 0.0 { range.from } else { range.below.map_or(1e-9, |below| below / 2.0) }
}

/// The last range has no end.
fn end(range: &TimeRange) -> f64 {
    range.below.unwrap_or(2.0 * range.from)
}

impl Distribution<'_> {
    /// Whether any run has times.
    pub fn has_times(&self) -> bool {
        self.times.iter().flatten().any(|times| times.count() > 0)
    }

    /// The plot: first run filled, second one outlined; the highest bar has the full height.
    pub fn plot(&self, runs: &[Run<'_>], (left, top): (f64, f64), width: f64, ends: (f64, f64)) -> Markup {
        let axis = Axis::log(ends, (left, left + width));
        let bottom = top + 14.0 + BARS;
        let share = |times: &Times, range: &TimeRange| range.count as f64 / times.count().max(1) as f64;
        let shares =
            self.times.iter().flatten().flat_map(|times| times.ranges().iter().map(|r| share(times, r)));
        let highest = shares.fold(0.0, f64::max);
        html! {
            (text("small", (left, top + 8.0), &format!("{}: {}", self.kind, self.counts(runs))))
            (line("axis", (left, bottom), (left + width, bottom)))
            @for tick in axis.ticks((width / 50.0) as usize) {
                (line("axis", (axis.at(tick), bottom), (axis.at(tick), bottom + 4.0)))
                @if axis.at(tick) < left + width - 8.0 {
                    (text_around("small", (axis.at(tick).max(left + 10.0), bottom + 16.0), &time(tick)))
                }
            }
            @for (number, (run, times)) in runs.iter().zip(&self.times).enumerate() {
                @if let Some(times) = times {
                    @for range in times.ranges() {
                        @let height = (BARS * share(times, range) / highest.max(f64::MIN_POSITIVE)).max(1.0);
                        @let (from, to) = (axis.at(begin(range)) + 0.5, axis.at(end(range)) - 0.5);
                        rect class={ @if number == 0 { "bar " } @else { "stroke " } (run.series.class()) }
                            x=(px(from)) y=(px(bottom - height)) width=(px(to - from)) height=(px(height)) {}
                    }
                }
            }
        }
    }

    /// `812 before, 90 after`.
    fn counts(&self, runs: &[Run<'_>]) -> String {
        let of = |(run, times): (&Run<'_>, &Option<&Times>)| {
            format!("{} {}", times.map_or(0, Times::count), run.label).trim_end().to_owned()
        };
        runs.iter().zip(&self.times).map(of).collect::<Vec<_>>().join(", ")
    }

    /// A row for each range that a run has: the name, the kind, the range, the number of each run.
    pub fn rows(&self, label: &str) -> Vec<TableRow> {
        let mut rows: Vec<&TimeRange> = Vec::new();
        for range in self.times.iter().flatten().flat_map(|times| times.ranges()) {
            if !rows.iter().any(|row| is_same(row, range)) {
                rows.push(range);
            }
        }
        rows.sort_by(|a, b| a.from.total_cmp(&b.from));
        let cell = |times: &Option<&Times>, row: &TimeRange| match times.and_then(|times| count(times, row)) {
            Some((n, total)) => {
                let share = Percent::TwoDigits.of(n as f64 / total as f64);
                Cell::Number(n as f64, format!("{n} ({share})"))
            }
            None => Cell::Unknown,
        };
        rows.into_iter()
            .map(|row| TableRow {
                head: name(label),
                cells: [
                    Cell::text(self.kind),
                    Cell::Number(row.from, time(row.from)),
                    Cell::number(row.below, time),
                ]
                .into_iter()
                .chain(self.times.iter().map(|times| cell(times, row)))
                .collect(),
            })
            .collect()
    }
}

/// The head of a table of such rows.
pub fn table_head(first: &'static str, runs: &[Run<'_>]) -> Vec<Markup> {
    let count = |run: &Run<'_>| html! { (if run.label.is_empty() { "number" } else { run.label }) };
    let head = [first, "Of", "From", "Below"].map(|head| html! { (head) });
    head.into_iter().chain(runs.iter().map(count)).collect()
}

fn is_same(a: &TimeRange, b: &TimeRange) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= SAME * a.max(b);
    near(a.from, b.from)
        && match (a.below, b.below) {
            (Some(a), Some(b)) => near(a, b),
            (a, b) => a == b,
        }
}

/// How many times of a run lie in a range, and how many it has. None if nothing was timed, or if the ranges of the run lie across
/// this one, so that its number is not known.
fn count(times: &Times, row: &TimeRange) -> Option<(u64, u64)> {
    let total = times.count();
    let overlaps = |range: &TimeRange| {
        let end = |range: &TimeRange| range.below.unwrap_or(f64::INFINITY);
        range.from.max(row.from) * (1.0 + SAME) < end(range).min(end(row))
    };
    let n = match times.ranges().iter().find(|range| is_same(range, row)) {
        Some(range) => range.count,
        None if times.ranges().iter().any(overlaps) => return None,
        None => 0,
    };
    (total > 0).then_some((n, total))
}
