//! What the threads did in their time: a bar of parts.

use super::sides::{Run, Sides};
use crate::number::time;
use crate::phone::{PHONE_WIDTH, PhoneDrawing, with_phone};
use crate::picture::{NumbersShown, Picture};
use crate::prose::prose;
use crate::svg::{px, text, text_before};
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use unspin_figures::Percent;
use unspin_report::{Blocked, MeterReport};

const WIDTH: f64 = 760.0;
/// Where the bars begin.
const LEFT: f64 = 60.0;
const BAR: f64 = 26.0;
const GAP: f64 = 10.0;
/// Height of the line of a key.
const KEY: f64 = 20.0;

/// A part of the threads' time.
struct Part {
    name: &'static str,
    class: &'static str,
    seconds: f64,
}

/// The picture; nothing if no time is known.
pub fn render(sides: &Sides<'_>) -> Markup {
    let runs: Vec<(&Run<'_>, Vec<Part>)> =
        sides.runs().iter().map(|run| (run, parts(&run.report.blocked))).collect();
    let longest = runs.iter().map(|(_, parts)| sum(parts)).fold(0.0, f64::max);
    if longest == 0.0 || !sides.first().has_times() {
        return html! {};
    }
    let picture = Picture {
        id: "thread-time-picture".into(),
        title: "What the threads did in their time".into(),
        description: runs.iter().map(|(run, parts)| description(run, parts)).collect::<Vec<_>>().join(" "),
        how_to_read: html! {
            "The time of all threads together, from the first use of a lock of each to its end. A wait lasts until its thread runs again, so the time without a "
            "CPU at its end is part of it."
        },
        width: WIDTH,
        height: height(&runs, 2),
        drawing: draw(&runs, longest, WIDTH, 2),
        numbers: table(&runs),
        numbers_shown: NumbersShown::OnRequest,
    };
    html! {
        h3 { "Where the threads' time went" }
        @for run in sides.runs() {
            @if let Some(sentence) = run.report.off_cpu_sentence() {
                p { @if !run.label.is_empty() { b { (run.label) ": " } } (prose(&sentence)) }
            }
        }
        (with_phone(&picture, &PhoneDrawing { height: height(&runs, 1), drawing: draw(&runs, longest, PHONE_WIDTH, 1) }))
    }
}

/// The height of a drawing whose key has so many columns.
fn height(runs: &[(&Run<'_>, Vec<Part>)], columns: usize) -> f64 {
    runs.len() as f64 * (BAR + GAP) + keys(runs).div_ceil(columns) as f64 * KEY + 4.0
}

fn draw(runs: &[(&Run<'_>, Vec<Part>)], longest: f64, width: f64, columns: usize) -> Markup {
    html! {
        @for (place, (run, parts)) in runs.iter().enumerate() {
            (bar(run.label, parts, place as f64 * (BAR + GAP), longest, width))
        }
        (key(runs, runs.len() as f64 * (BAR + GAP) + 4.0, columns))
    }
}

/// The parts, which add up to the lives of the threads if these are known; else what is known.
fn parts(blocked: &Blocked) -> Vec<Part> {
    let part = |name, class, seconds| Part { name, class, seconds };
    let mut parts = vec![
        part("waiting for locks, asleep", "fill bad", blocked.for_locks),
        part("spinning for locks, polling", "fill s2", blocked.spun),
        part("waiting for conditions, barriers, semaphores", "fill s1", blocked.by_design),
        part("other waits of the table", "fill s3", blocked.other_waits),
    ];
    if let Some(rest) = blocked.unexplained() {
        parts.insert(0, part("computing", "fill s0", (blocked.on_cpu - blocked.spun).max(0.0)));
        parts.push(part("off the CPUs for other reasons", "fill s5", rest.max(0.0)));
    }
    parts
}

fn sum(parts: &[Part]) -> f64 {
    parts.iter().map(|part| part.seconds).sum()
}

fn bar(label: &str, parts: &[Part], top: f64, longest: f64, width: f64) -> Markup {
    let left = if label.is_empty() { 0.0 } else { LEFT };
    let scale = (width - left) / longest;
    let mut at = left;
    let mut drawn = Vec::new();
    for part in parts.iter().filter(|part| part.seconds > 0.0) {
        let width = part.seconds * scale;
        drawn.push(html! {
            rect class=(part.class) x=(px(at)) y=(px(top)) width=(px(width)) height=(px(BAR)) {
                title { (part.name) ": " (time(part.seconds)) }
            }
        });
        at += width;
    }
    html! {
        @if !label.is_empty() { (text_before("", (LEFT - 8.0, top + 17.5), label)) }
        @for one in drawn { (one) }
    }
}

/// Number of parts that have time in any run.
fn keys(runs: &[(&Run<'_>, Vec<Part>)]) -> usize {
    names(runs).len()
}

fn names(runs: &[(&Run<'_>, Vec<Part>)]) -> Vec<(&'static str, &'static str)> {
    let mut names = Vec::new();
    for part in runs.iter().flat_map(|(_, parts)| parts).filter(|part| part.seconds > 0.0) {
        if !names.contains(&(part.name, part.class)) {
            names.push((part.name, part.class));
        }
    }
    names
}

fn key(runs: &[(&Run<'_>, Vec<Part>)], top: f64, columns: usize) -> Markup {
    html! {
        @for (place, (name, class)) in names(runs).into_iter().enumerate() {
            @let (x, y) = ((place % columns) as f64 * 340.0, top + (place / columns) as f64 * KEY);
            rect class=(class) x=(px(x)) y=(px(y)) width="12" height="12" {}
            (text("", (x + 18.0, y + 11.0), name))
        }
    }
}

fn description(run: &Run<'_>, parts: &[Part]) -> String {
    let named = parts
        .iter()
        .filter(|part| part.seconds > 0.0)
        .map(|part| format!("{} {}", part.name, time(part.seconds)));
    format!("{} {}.", run.label, named.collect::<Vec<_>>().join(", ")).trim_start().to_owned()
}

fn table(runs: &[(&Run<'_>, Vec<Part>)]) -> Table {
    let all = |report: &MeterReport| report.blocked.unexplained().map(|_| report.blocked.lived);
    let rows = runs.iter().flat_map(|(run, parts)| {
        parts.iter().map(move |part| {
            let share = all(run.report).filter(|all| *all > 0.0).map(|all| part.seconds / all);
            TableRow {
                head: html! { (part.name) @if !run.label.is_empty() { ", " (run.label) } },
                cells: vec![
                    Cell::Number(part.seconds, time(part.seconds)),
                    Cell::number(share, |share| Percent::TwoDigits.of(share)),
                ],
            }
        })
    });
    Table {
        caption: "The threads' time".into(),
        head: ["Part", "Time", "Share of the threads' lives"].map(|head| html! { (head) }).into(),
        rows: rows.collect(),
    }
}
