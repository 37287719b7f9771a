//! Waits for objects other than locks.

use super::focus::Focus;
use super::grid::{ColumnHead, Grid, GridCell, GridRow};
use super::lock_table::ratio;
use super::sides::{Run, Sides, any, most};
use crate::name::{name, visible};
use crate::number::time;
use maud::{Markup, html};
use unspin_figures::{Percent, number};
use unspin_report::Wait;

const COLUMNS: [ColumnHead; 9] = [
    ColumnHead { title: "Wait", meaning: "" },
    ColumnHead {
        title: "Waited",
        meaning: "time that threads waited, summed over all threads. An idle thread loses nothing",
    },
    ColumnHead { title: "Threads", meaning: "mean number of threads in this wait" },
    ColumnHead { title: "Waits", meaning: "calls that waited" },
    ColumnHead { title: "Median", meaning: "half of the waits were shorter" },
    ColumnHead { title: "Longest", meaning: "" },
    ColumnHead {
        title: "Short",
        meaning: "waits that ended within the time of three wake-ups: a thread that polls before it sleeps could save them",
    },
    ColumnHead {
        title: "Could save",
        meaning: "upper bound of the time that polling before sleeping could save. Little: most of these waits ended before a wake-up from an idle CPU would have, so the CPUs were awake",
    },
    ColumnHead {
        title: "Gave up",
        meaning: "calls that did not get what they waited for: a timeout, or no wish to wait",
    },
];

/// The table; nothing without waits.
pub fn render(sides: &Sides<'_>, focus: &Focus<'_>) -> Markup {
    let mut waits = sides.waits();
    waits.sort_by_key(|same| !focus.is_judged(any(same)));
    if waits.is_empty() {
        return html! {};
    }
    let longest = waits.iter().map(|same| most(same, |wait| wait.row.waited)).fold(0.0, f64::max);
    let rows = waits.iter().map(|same| GridRow {
        head: head(any(same), focus),
        lines: sides
            .runs()
            .iter()
            .zip(same)
            .map(|(run, wait)| wait.map(|wait| cells(run, wait, longest)))
            .collect(),
    });
    let grid = Grid {
        caption: match focus.waits.is_empty() {
            true => "Waits for anything but locks, most time first".into(),
            false => "Waits for anything but locks, the judged ones first, then most time".into(),
        },
        rows_are: "waits",
        columns: COLUMNS.into(),
        rows: rows.collect(),
    };
    html! {
        h3 { "Waits" }
        p {
            "Threads that wait for work, for each other or for input. Most of this time is by design; it costs the program time only where "
            "an answer comes sooner than a thread falls asleep and wakes up."
        }
        (grid.render(sides.runs()))
    }
}

fn head(wait: &Wait, focus: &Focus<'_>) -> Markup {
    html! {
        (name(&wait.label()))
        @if let Some(origin) = &wait.origin { br; span.soft.origin { bdi { (visible(origin)) } } }
        @if focus.is_judged(wait) { br; span.soft { "judged" } }
        @if wait.used_as_lock { br; span.soft { "used as a lock, and among the locks too" } }
    }
}

fn cells(run: &Run<'_>, wait: &Wait, longest: f64) -> Vec<GridCell> {
    let row = &wait.row;
    // The finding about such waits says that polling saves little, whatever the bound.
    let saving = if run.report.found_cpus_awake(wait) { "little".into() } else { time(row.saving) };
    let timed = run.report.has_times();
    let judged = timed && run.report.wake_up.is_some() && row.waits > 0;
    vec![
        GridCell::Bar(row.waited, time(row.waited), ratio(row.waited, longest)).if_known(timed),
        GridCell::Number(row.share, number(row.share)).if_known(timed),
        GridCell::Number(row.waits as f64, row.waits.to_string()),
        GridCell::Number(row.median, time(row.median)).if_known(timed && row.waits > 0),
        GridCell::Number(row.max, time(row.max)).if_known(timed && row.waits > 0),
        GridCell::Number(row.short_share(), Percent::TwoDigits.of(row.short_share())).if_known(judged),
        GridCell::Number(row.saving, saving).if_known(judged),
        GridCell::Number(row.gave_up as f64, row.gave_up.to_string()),
    ]
}
