//! The table of waits.

use crate::columns::WAITS;
use crate::layout::Layout;
use crate::line::{fitted, with_place};
use crate::printed_table::PrintedTable;
use crate::report::MeterReport;
use crate::units::Units;
use crate::wait::{Wait, WaitRow};
use std::fmt::Write;
use unspin_wire::Level;

/// The table of waits, and the sentences below it. Empty if there are no waits.
pub(crate) fn section(report: &MeterReport, layout: &Layout) -> String {
    let mut text = String::new();
    if !listed(report).is_empty() {
        write(report, layout, &mut text);
    }
    text
}

/// The waits of the table. An object that is used as a lock is in the table of locks.
fn listed(report: &MeterReport) -> Vec<&Wait> {
    report.waits.iter().filter(|wait| !wait.used_as_lock).collect()
}

fn write(report: &MeterReport, layout: &Layout, text: &mut String) {
    let printed = PrintedTable::whole(&WAITS, Units::of(report), layout);
    let _ = write!(text, "An idle thread loses nothing{}\n{}", explanation(report), printed.titles("NAME"));
    let waits = listed(report);
    let shown = waits.len() - idle(report, &waits, layout);
    for wait in waits[..shown].iter().take(layout.rows) {
        lines(&printed, wait, layout, text);
    }
    if let Some(more @ 1..) = shown.checked_sub(layout.rows) {
        let _ = writeln!(text, "\nand {more} more: --all");
    }
    match waits.len() - shown {
        0 => (),
        1 => text.push_str("\nand 1 where no thread waited: --all shows it\n"),
        idle => _ = writeln!(text, "\nand {idle} where no thread waited: --all shows them"),
    }
}

/// The meaning of SHORT, or why it is a dash.
fn explanation(report: &MeterReport) -> &'static str {
    match (report.level, report.wake_up) {
        (Level::Counts, _) => "; they were counted, not timed",
        (_, Some(_)) => "; SHORT is the share of WAITS that ended within three wake-ups",
        (_, None) => "; SHORT is not known: what a wake-up costs was not measured",
    }
}

/// Number of rows at the end that are not shown: waits of which no call waited. All are shown on request, and after a
/// filter.
fn idle(report: &MeterReport, waits: &[&Wait], layout: &Layout) -> usize {
    if layout.rows == usize::MAX || !report.left_out.is_nothing() {
        return 0;
    }
    // A wait in progress has time, and is not among the waits that have ended.
    let waited = |wait: &Wait| wait.row.waits > 0 || wait.row.waited > 0.0;
    let last = waits.iter().rposition(|wait| waited(wait));
    waits.len() - last.map_or(0, |last| last + 1)
}

fn lines(printed: &PrintedTable<WaitRow>, wait: &Wait, layout: &Layout, text: &mut String) {
    let label = wait.label();
    let known = match &wait.origin {
        Some(origin) => format!("{label}, {origin}"),
        None => label.clone(),
    };
    let room = printed.room(0);
    text.push('\n');
    // The full name, beside the numbers if it fits, otherwise above them.
    let fits = known.chars().count() <= room;
    if !fits {
        let _ = writeln!(text, "{}", beginning(&known, layout.width));
    }
    let name = if fits { known } else { fitted(&label, room) };
    let _ = writeln!(text, "{}{name}", printed.figures(&wait.row));
    if !only_caller_is_the_wait(wait) {
        for caller in wait.callers.iter().take(layout.callers) {
            let name = with_place(&caller.row.name, caller.place.as_deref(), printed.room(2));
            let _ = writeln!(text, "{}  {name}", printed.figures(&caller.row));
        }
        if let Some(more @ 1..) = wait.callers.len().checked_sub(layout.callers) {
            text.push_str(&printed.more(2, more));
        }
    }
    for line in wait.wakes.iter().flat_map(|wakes| wakes.lines(layout.callers)) {
        let _ = writeln!(text, "{}", beginning(&format!("    {line}"), layout.width));
    }
}

/// The text, truncated at its end if it is too long. The end carries less information than the name at the beginning.
fn beginning(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some(_) => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        None => text.into(),
    }
}

/// Whether the line of the only caller would repeat the line of its wait, as for a call site.
fn only_caller_is_the_wait(wait: &Wait) -> bool {
    let [caller] = &wait.callers[..] else { return false };
    let says_no_more = caller.place.is_none() || caller.place == wait.origin;
    caller.row.name == wait.row.name && says_no_more
}
