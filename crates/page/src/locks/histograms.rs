//! How long holds and waits were: small pictures on one axis of time.

use super::sides::{Run, Sides, most};
use crate::name::{name, short};
use crate::number::time;
use crate::picture::{NumbersShown, Picture};
use crate::prose::with_units;
use crate::svg::{Axis, line, px, text, text_around};
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use unspin_figures::Percent;
use unspin_report::{Lock, TimeRange, Times};

/// Locks that are drawn.
const LOCKS: usize = 6;

const WIDTH: f64 = 760.0;
/// Width and height of the plot of one histogram.
const PLOT: (f64, f64) = (352.0, 60.0);
/// Where the two columns begin.
const COLUMNS: [f64; 2] = [4.0, 404.0];
/// Height of a lock with its name and axis.
const ROW: f64 = 116.0;
const HEAD: f64 = 20.0;

/// What a histogram counts, and where a lock has it.
type Kind = (&'static str, fn(&Lock) -> &Times);
const KINDS: [Kind; 2] = [("holds", |lock| &lock.holds), ("waits", |lock| &lock.waits)];

/// The pictures of the locks with most time lost; nothing if no thread waited for a lock, or no times are known.
pub fn render(sides: &Sides<'_>) -> Markup {
    let has_times = |same: &[Option<&Lock>]| same.iter().flatten().any(|lock| lock.waits.count() > 0);
    let all: Vec<_> = sides.locks().into_iter().filter(|(_, same)| has_times(same)).collect();
    let shown = &all[..all.len().min(LOCKS)];
    let Some(axis) = ends(shown) else { return html! {} };
    let picture = Picture {
        id: "histograms-picture".into(),
        title: "How long holds and waits were".into(),
        description: shown
            .iter()
            .map(|(label, same)| description(sides.runs(), label, same))
            .collect::<Vec<_>>()
            .join(" "),
        how_to_read: html! {
            "Left: how long the lock was held. Right: how long threads waited for it. Each bar is a range of times that is twice as long "
            "as the one before; its height is the share of the holds or waits in it, and the highest bar of a plot has the full height. "
            @if sides.is_comparison() { "Filled: before. Outlined: after. " }
            "Waits far longer than the holds are waits for threads to be woken, or for many holds."
        },
        width: WIDTH,
        height: ROW * shown.len() as f64,
        drawing: html! {
            @for (place, (label, same)) in shown.iter().enumerate() {
                (row(sides.runs(), label, same, ROW * place as f64, axis))
            }
        },
        numbers: table(sides.runs(), shown),
        numbers_shown: NumbersShown::OnRequest,
    };
    html! {
        h3 { "How long locks were held and waited for" }
        @if all.len() > shown.len() {
            p.soft { "The " (shown.len()) " locks with most time lost, of " (all.len()) " for which threads waited." }
        }
        (picture.render())
    }
}

/// Ranges of two runs that differ by less are the same: each run calibrates the clock by which its ranges double.
const SAME: f64 = 0.02;

/// The shortest and the longest time of all histograms.
fn ends(shown: &[(String, Vec<Option<&Lock>>)]) -> Option<(f64, f64)> {
    let locks = shown.iter().flat_map(|(_, same)| same.iter().flatten());
    let ranges = locks.flat_map(|lock| KINDS.iter().flat_map(|(_, times)| times(lock).ranges()));
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

fn row(runs: &[Run<'_>], label: &str, same: &[Option<&Lock>], top: f64, ends: (f64, f64)) -> Markup {
    html! {
        (text("", (COLUMNS[0], top + 13.0), &short(label, 100)))
        @for (column, (kind, times)) in COLUMNS.iter().zip(KINDS) {
            (plot(runs, same, (*column, top + HEAD), ends, kind, times))
        }
    }
}

fn plot(
    runs: &[Run<'_>],
    same: &[Option<&Lock>],
    (left, top): (f64, f64),
    ends: (f64, f64),
    kind: &str,
    times: fn(&Lock) -> &Times,
) -> Markup {
    let axis = Axis::log(ends, (left, left + PLOT.0));
    let bottom = top + 14.0 + PLOT.1;
    let share = |lock: &Lock, range: &TimeRange| range.count as f64 / times(lock).count().max(1) as f64;
    let highest =
        most(&same.to_vec(), |lock| times(lock).ranges().iter().map(|r| share(lock, r)).fold(0.0, f64::max));
    let counts: Vec<String> = runs
        .iter()
        .zip(same)
        .map(|(run, lock)| {
            let n = lock.map_or(0, |lock| times(lock).count());
            if run.label.is_empty() { format!("{n}") } else { format!("{n} {}", run.label) }
        })
        .collect();
    html! {
        (text("small", (left, top + 8.0), &format!("{kind}: {}", counts.join(", "))))
        (line("axis", (left, bottom), (left + PLOT.0, bottom)))
        @for tick in axis.ticks(7) {
            (line("axis", (axis.at(tick), bottom), (axis.at(tick), bottom + 4.0)))
            @if axis.at(tick) < left + PLOT.0 - 8.0 {
                (text_around("small", (axis.at(tick).max(left + 10.0), bottom + 16.0), &time(tick)))
            }
        }
        @for (number, (run, lock)) in runs.iter().zip(same).enumerate() {
            @if let Some(lock) = lock {
                @for range in times(lock).ranges() {
                    @let height = (PLOT.1 * share(lock, range) / highest.max(f64::MIN_POSITIVE)).max(1.0);
                    @let (from, to) = (axis.at(begin(range)) + 0.5, axis.at(end(range)) - 0.5);
                    rect class={ @if number == 0 { "bar " } @else { "stroke " } (run.series.class()) }
                        x=(px(from)) y=(px(bottom - height)) width=(px(to - from)) height=(px(height)) {}
                }
            }
        }
    }
}

fn description(runs: &[Run<'_>], label: &str, same: &[Option<&Lock>]) -> String {
    let of = |(run, lock): (&Run<'_>, &Option<&Lock>)| {
        let lock = (*lock)?;
        let parts = KINDS.iter().map(|(kind, times)| format!("{kind} {}", summary(times(lock))));
        Some(format!("{} {}", run.label, parts.collect::<Vec<_>>().join("; ")).trim().to_owned())
    };
    format!("{label}: {}.", runs.iter().zip(same).filter_map(of).collect::<Vec<_>>().join("; "))
}

fn summary(times: &Times) -> String {
    let text = times.summary();
    if text.is_empty() { "not timed".into() } else { with_units(&text) }
}

fn table(runs: &[Run<'_>], shown: &[(String, Vec<Option<&Lock>>)]) -> Table {
    let mut rows = Vec::new();
    for (label, same) in shown {
        for (kind, times) in KINDS {
            rows.extend(ranges(label, kind, same, times));
        }
    }
    let count = |run: &Run<'_>| html! { (if run.label.is_empty() { "number" } else { run.label }) };
    let head = ["Lock", "Of", "From", "Below"].map(|head| html! { (head) });
    Table {
        caption: "Holds and waits by their length".into(),
        head: head.into_iter().chain(runs.iter().map(count)).collect(),
        rows,
    }
}

/// A row for each range that a run has.
fn ranges(label: &str, kind: &str, same: &[Option<&Lock>], times: fn(&Lock) -> &Times) -> Vec<TableRow> {
    let all: Vec<&TimeRange> = same.iter().flatten().flat_map(|lock| times(lock).ranges()).collect();
    let mut rows: Vec<&TimeRange> = Vec::new();
    for range in all {
        if !rows.iter().any(|row| is_same(row, range)) {
            rows.push(range);
        }
    }
    rows.sort_by(|a, b| a.from.total_cmp(&b.from));
    let cell = |lock: &Option<&Lock>, row: &TimeRange| match lock.and_then(|lock| count(times(lock), row)) {
        Some((n, total)) => {
            let share = Percent::TwoDigits.of(n as f64 / total as f64);
            Cell::Number(n as f64, format!("{n} ({share})"))
        }
        None => Cell::Unknown,
    };
    rows.into_iter()
        .map(|row| TableRow {
            head: name(label),
            cells: [Cell::text(kind), Cell::Number(row.from, time(row.from)), Cell::number(row.below, time)]
                .into_iter()
                .chain(same.iter().map(|lock| cell(lock, row)))
                .collect(),
        })
        .collect()
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
