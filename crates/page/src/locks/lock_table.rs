//! Locks by time lost.

use super::focus::Focus;
use super::grid::{ColumnHead, Grid, GridCell, GridRow};
use super::sides::{Run, Same, Sides, any, most};
use crate::name::{name, visible};
use crate::number::{data, time};
use maud::{Markup, html};
use unspin_figures::{Percent, number};
use unspin_report::{Lock, Row};

const COLUMNS: [ColumnHead; 10] = [
    ColumnHead { title: "Lock", meaning: "" },
    ColumnHead {
        title: "Lost",
        meaning: "time that threads waited for the lock, summed over all threads: two threads that wait for one second lose two",
    },
    ColumnHead { title: "Waits", meaning: "attempts that did not get the lock at once, and refused ones" },
    ColumnHead { title: "Contended", meaning: "these attempts as a share of all" },
    ColumnHead { title: "Wait, mean", meaning: "mean length of a wait" },
    ColumnHead { title: "Longest wait", meaning: "" },
    ColumnHead { title: "Hold, mean", meaning: "mean time from an acquisition of the lock to its release" },
    ColumnHead {
        title: "Held",
        meaning: "share of the run in which the lock was held. Above some 70 % the lock itself limits the program. Several locks in one row are added",
    },
    ColumnHead { title: "Uses", meaning: "attempts to acquire the lock" },
    ColumnHead {
        title: "At most",
        meaning: "bound on the program's speed-up if this lock cost nothing; the real gain is smaller",
    },
];

/// Threads that lose a smaller share of the run for locks lose next to nothing.
const NEGLIGIBLE: f64 = 0.001;
/// Nor does it matter if a smaller share of the attempts did not get the lock at once.
const REFUSED: f64 = 0.01;

/// Whether the locks are one sentence: together they cost next to nothing in any run, and no finding names one.
pub fn is_brief(sides: &Sides<'_>, focus: &Focus<'_>) -> bool {
    let has_locks = sides.runs().iter().any(|run| !run.report.locks.is_empty());
    let is_negligible = |run: &Run<'_>| {
        let (total, report) = (&run.report.total, run.report);
        let found = named_by_findings(run);
        report.has_times()
            && total.lost < NEGLIGIBLE * report.seconds
            && waits(total) as f64 <= REFUSED * total.attempts as f64
            && !report.locks.iter().any(|lock| found.contains(&lock.row.name))
    };
    focus.is_brief && has_locks && sides.runs().iter().all(is_negligible)
}

/// Attempts that did not get the lock at once.
fn waits(row: &Row) -> u64 {
    row.attempts - row.nowait.min(row.attempts)
}

/// The names of the locks and conditions that the findings of a run are about.
fn named_by_findings(run: &Run<'_>) -> Vec<String> {
    run.report.findings().into_iter().map(|finding| finding.name).collect()
}

/// The table.
pub fn render(sides: &Sides<'_>, focus: &Focus<'_>) -> Markup {
    let locks = sides.locks();
    if locks.is_empty() {
        let left_out = sides.runs().iter().any(|run| run.report.left_out.locks > 0);
        return html! { p { @if left_out { "No lock is left by the filters." } @else { "No lock was recorded." } } };
    }
    if is_brief(sides, focus) {
        return brief(sides, count(&locks));
    }
    let found: Vec<String> = sides.runs().iter().flat_map(named_by_findings).collect();
    let has_waits = |same: &Same<'_, Lock>| {
        let row =
            |lock: &&Lock| waits(&lock.row) > 0 || lock.row.lost > 0.0 || found.contains(&lock.row.name);
        same.iter().flatten().any(row)
    };
    // If no thread has waited for any, all are shown.
    let is_known = locks.iter().any(|(_, same)| has_waits(same));
    let (locks, idle): (Vec<_>, Vec<_>) =
        locks.into_iter().partition(|(_, same)| !is_known || has_waits(same));
    let longest = locks.iter().map(|(_, same)| most(same, |lock| lock.row.lost)).fold(0.0, f64::max);
    let line = |run: &Run<'_>, lock: Option<&Lock>| lock.map(|lock| cells(run, &lock.row, longest));
    let rows = locks.iter().map(|(label, same)| GridRow {
        head: head(label, any(same)),
        lines: sides.runs().iter().zip(same).map(|(run, lock)| line(run, *lock)).collect(),
    });
    let total = GridRow {
        head: html! { "All locks together" },
        lines: sides.runs().iter().map(|run| Some(total_cells(run))).collect(),
    };
    let grid = Grid {
        caption: "Locks, most time lost first".into(),
        rows_are: "rows",
        columns: COLUMNS.into(),
        rows: [total].into_iter().chain(rows).collect(),
    };
    html! { h3 { "Locks" } (grid.render(sides.runs())) (idle_locks(count(&idle))) (more_lost(sides, focus)) }
}

/// The number of locks, of which a row may have several.
fn count(rows: &[(String, Same<'_, Lock>)]) -> u64 {
    let locks = |same: &Same<'_, Lock>| same.iter().flatten().map(|lock| lock.locks).max().unwrap_or(0);
    rows.iter().fold(0, |sum: u64, (_, same)| sum.saturating_add(locks(same)))
}

/// The sentence about locks that cost next to nothing.
fn brief(sides: &Sides<'_>, count: u64) -> Markup {
    let lost = |run: &Run<'_>| data(run.report.total.lost, time(run.report.total.lost));
    html! {
        h3 { "Locks" }
        p {
            "Locks cost next to nothing: threads waited "
            @for (place, run) in sides.runs().iter().enumerate() {
                @if place > 0 { " and " }
                (lost(run)) @if !run.label.is_empty() { " " (run.label) }
            }
            " for "
            @if count == 1 { "the only lock" } @else { "all " (count) " locks together" }
            ", less than 0.1 % of the run. The JSON in this page has all."
        }
    }
}

/// The locks that cost nothing, which have no row.
fn idle_locks(count: u64) -> Markup {
    html! {
        @if count > 0 {
            p.soft {
                @if count == 1 { "1 lock, for which no thread waited, has no row." }
                @else { (count) " locks, for which no thread waited, have no rows." }
                " The JSON in this page has all."
            }
        }
    }
}

/// That threads lost more time for locks in the second run, and why that need not make the program slower, unless it is slower;
/// nothing if they did not.
fn more_lost(sides: &Sides<'_>, focus: &Focus<'_>) -> Markup {
    /// A difference below this factor is not worth a word.
    const MORE: f64 = 1.2;
    /// Nor is one below this share of the run.
    const SHARE: f64 = 0.01;
    let [before, after] = sides.runs() else { return html! {} };
    let lost = |run: &Run<'_>| run.report.total.lost;
    let is_more =
        lost(after) > MORE * lost(before) && lost(after) - lost(before) > SHARE * after.report.seconds;
    let is_known = before.report.has_times() && after.report.has_times();
    if !is_known || !is_more {
        return html! {};
    }
    let waited = |run: &Run<'_>| {
        let blocked = &run.report.blocked;
        blocked.for_locks + blocked.by_design + blocked.other_waits
    };
    html! {
        p.note {
            "Threads lost more time for locks after (" (time(lost(after))) ") than before (" (time(lost(before))) "). That is a sum over all "
            "threads, and not time of the program. "
            @if focus.is_worse {
                "This candidate is proven worse, and these waits may be why. "
            } @else if waited(after) < waited(before) {
                "All their sleep in waits together, those for work and for answers included, fell from " (time(waited(before))) " to "
                (time(waited(after))) ": threads that wait less elsewhere meet at the locks more often. "
            } @else {
                "A wait costs the program nothing while other threads do the work that it needs next. "
            }
            "What is proven rests on all runs, and not on these two."
        }
    }
}

fn head(label: &str, lock: &Lock) -> Markup {
    html! {
        (name(label))
        @if lock.locks > 1 { span.soft { " (" (lock.locks) " locks)" } }
        @if let Some(origin) = lock.origin.as_deref().filter(|origin| !label.ends_with(*origin)) {
            br; span.soft.origin { bdi { (visible(origin)) } }
        }
    }
}

fn cells(run: &Run<'_>, row: &Row, longest: f64) -> Vec<GridCell> {
    let timed = run.report.has_times();
    let held = timed && row.has_known_holds();
    let waits = waits(row);
    vec![
        GridCell::Bar(row.lost, time(row.lost), ratio(row.lost, longest)).if_known(timed),
        GridCell::Number(waits as f64, waits.to_string()),
        GridCell::Number(row.con, Percent::TwoDigits.of(row.con)),
        GridCell::Number(row.wait_mean, time(row.wait_mean)).if_known(timed),
        GridCell::Number(row.wait_max, time(row.wait_max)).if_known(timed),
        GridCell::Number(row.hold_mean, time(row.hold_mean)).if_known(held),
        GridCell::Bar(row.util, Percent::TwoDigits.of(row.util), row.util).if_known(held),
        GridCell::Number(row.attempts as f64, row.attempts.to_string()),
        GridCell::Number(row.ceiling, format!("{}×", number(row.ceiling)))
            .if_known(timed && !run.report.is_disturbed()),
    ]
}

/// A thread that holds two locks counts for both, so the sum of the holds is no share of the run.
fn total_cells(run: &Run<'_>) -> Vec<GridCell> {
    let mut cells = cells(run, &run.report.total, 0.0);
    if let GridCell::Bar(value, shown, _) = &cells[0] {
        cells[0] = GridCell::Number(*value, shown.clone());
    }
    cells[6] = GridCell::Unknown;
    cells
}

/// A part of the largest value; 0 if that is 0.
pub fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
