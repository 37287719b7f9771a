//! Locks by time lost.

use super::grid::{ColumnHead, Grid, GridCell, GridRow};
use super::sides::{Run, Same, Sides, any, most};
use crate::name::{name, visible};
use crate::number::time;
use maud::{Markup, html};
use unspin_figures::{Percent, number};
use unspin_report::{Lock, Row};

const COLUMNS: [ColumnHead; 10] = [
    ColumnHead { title: "Lock", meaning: "" },
    ColumnHead {
        title: "Lost",
        meaning: "time that threads waited for the lock, summed over all threads: two threads that wait for one second lose two",
    },
    ColumnHead { title: "Waits", meaning: "attempts that did not get the lock at once" },
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

/// The table.
pub fn render(sides: &Sides<'_>) -> Markup {
    let locks = sides.locks();
    if locks.is_empty() {
        let left_out = sides.runs().iter().any(|run| run.report.left_out.locks > 0);
        return html! { p { @if left_out { "No lock is left by the filters." } @else { "No lock was recorded." } } };
    }
    let has_cost = |same: &Same<'_, Lock>| most(same, |lock| lock.row.lost) > 0.0;
    // If no lock has cost anything, or the times are unknown, all are shown.
    let is_known = locks.iter().any(|(_, same)| has_cost(same));
    let (locks, idle): (Vec<_>, Vec<_>) =
        locks.into_iter().partition(|(_, same)| !is_known || has_cost(same));
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
    html! { h3 { "Locks" } (grid.render(sides.runs())) (idle_locks(idle.len())) (more_lost(sides)) }
}

/// The locks that cost nothing, which have no row.
fn idle_locks(count: usize) -> Markup {
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

/// That threads lost more time for locks in the second run, and why that need not make the program slower; nothing if they did not.
fn more_lost(sides: &Sides<'_>) -> Markup {
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
            @if waited(after) < waited(before) {
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
    let waits = row.attempts - row.nowait.min(row.attempts);
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
