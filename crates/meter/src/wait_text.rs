//! Waits as text: their table, and which of them polling could shorten.

use crate::figures::{count, percent, time};
use crate::kind::Kind;
use crate::layout::Layout;
use crate::level::Level;
use crate::line::{fitted, with_place};
use crate::notes::wrap;
use crate::report::Report;
use crate::shell;
use crate::wait::{Wait, WaitRow};
use crate::wakeup::WakeUpCost;
use std::fmt::Write;

const TITLES: &str = "WAITED MEDIAN(  MAX)      CALLS      WAITS SHORT RJECT  NAME\n";

/// Columns before the name of a wait.
const NAME_AT: usize = 56;

/// Columns of the sentences.
const WIDTH: usize = 100;

/// A share of the metered time that polling must be able to save to be worth a sentence: less drowns in the noise of a proof.
const WORTH_IT: f64 = 0.02;
/// The same in seconds: a program that runs for less has nothing to win.
const WORTH_IT_S: f64 = 1e-3;

/// Waits that have a sentence, at most.
const SENTENCES_MAX: usize = 2;

/// Characters of a command line that is printed in full.
const COMMAND_MAX: usize = 70;

/// The table of waits, and the sentences below it. Nothing without waits.
pub(crate) fn write(report: &Report, layout: &Layout, text: &mut String) {
    if report.waits.is_empty() {
        return;
    }
    let _ = write!(text, "\nWaits: an idle thread loses nothing{}\n{TITLES}", explanation(report));
    let shown = report.waits.len() - idle(report, layout);
    for wait in report.waits[..shown].iter().take(layout.rows) {
        lines(report, wait, layout, text);
    }
    if let Some(more @ 1..) = shown.checked_sub(layout.rows) {
        let _ = writeln!(text, "\nand {more} more: --all");
    }
    match report.waits.len() - shown {
        0 => (),
        1 => text.push_str("\nand 1 where no thread waited: --all shows it\n"),
        idle => _ = writeln!(text, "\nand {idle} where no thread waited: --all shows them"),
    }
    advice(report, text);
}

/// What SHORT means, or why it is a dash.
fn explanation(report: &Report) -> &'static str {
    match (report.level, report.wake_up) {
        (Level::Counts, _) => "; they were counted, not timed",
        (_, Some(_)) => "; SHORT is the share of WAITS that ended within three wake-ups",
        (_, None) => "; SHORT is not known: what a wake-up costs was not measured",
    }
}

/// How many rows at the end are not worth their lines: no call of theirs waited. All are shown on request, and so are those that
/// a filter has chosen.
fn idle(report: &Report, layout: &Layout) -> usize {
    if layout.rows == usize::MAX || !report.left_out.is_nothing() {
        return 0;
    }
    // A wait that goes on has time, and is not among those that have ended.
    let waited = |wait: &Wait| wait.row.waits > 0 || wait.row.waited > 0.0;
    let last = report.waits.iter().rposition(waited);
    report.waits.len() - last.map_or(0, |last| last + 1)
}

fn lines(report: &Report, wait: &Wait, layout: &Layout, text: &mut String) {
    let origin = wait.origin.as_ref().map_or(String::new(), |origin| format!(", {origin}"));
    let name = fitted(&format!("{}{origin}", wait.label()), layout.width.saturating_sub(NAME_AT));
    let _ = writeln!(text, "\n{}{name}", numbers(report, &wait.row));
    if !only_caller_is_the_wait(wait) {
        for caller in wait.callers.iter().take(layout.callers) {
            let room = layout.width.saturating_sub(NAME_AT + 2);
            let name = with_place(&caller.row.name, caller.place.as_deref(), room);
            let _ = writeln!(text, "{}  {name}", numbers(report, &caller.row));
        }
        if let Some(more @ 1..) = wait.callers.len().checked_sub(layout.callers) {
            let _ = writeln!(text, "{:NAME_AT$}  and {more} more", "");
        }
    }
}

/// Whether the line of the caller would say again what the line of its wait says: a call site that is named after its function.
fn only_caller_is_the_wait(wait: &Wait) -> bool {
    let [caller] = &wait.callers[..] else { return false };
    let says_no_more = caller.place.is_none() || caller.place == wait.origin;
    !wait.kind.has_object() && caller.row.name.starts_with(&wait.row.name) && says_no_more
}

/// The columns before the name.
fn numbers(report: &Report, row: &WaitRow) -> String {
    let timed = report.level != Level::Counts;
    let clock = |seconds| if timed { time(seconds) } else { "-".into() };
    let short = match report.wake_up {
        Some(_) if timed && row.waits > 0 => percent(row.short_share()),
        _ => "-".into(),
    };
    let gave_up = if row.calls == 0 { 0.0 } else { row.gave_up as f64 / row.calls as f64 };
    format!(
        "{:>6} {:>6}({:>5}) {:>10} {:>10} {short:>5} {}  ",
        clock(row.waited),
        clock(row.median),
        clock(row.max),
        count(row.calls),
        count(row.waits),
        percent(gave_up),
    )
}

/// A sentence for each of the waits that polling could shorten by most, and what to do next. Nothing where that is not worth it:
/// long waits are an idle thread's.
fn advice(report: &Report, text: &mut String) {
    let Some(cost) = report.wake_up.filter(|_| report.level != Level::Counts) else { return };
    let mut worth: Vec<&Wait> = report
        .waits
        .iter()
        .filter(|wait| wait.row.saving >= (WORTH_IT * report.seconds).max(WORTH_IT_S))
        .collect();
    worth.sort_by(|a, b| b.row.saving.total_cmp(&a.row.saving));
    if worth.is_empty() {
        return;
    }
    text.push('\n');
    for wait in worth.iter().take(SENTENCES_MAX) {
        let row = &wait.row;
        let sentence = format!(
            "{} {} ({}), median {}; a wake-up {}: {}.",
            grouped(row.waits),
            subject(wait),
            share(row.share),
            time(row.median),
            price(cost, wait.kind),
            prospect(cost, wait),
        );
        wrap(&sentence, WIDTH, text);
    }
    let command = command(report);
    let _ = writeln!(text, "Try:      unspin run --waits poll {command}");
    let _ = writeln!(text, "Prove it: unspin prove --waits poll {command}");
}

/// `costs 45us here`
fn price(cost: WakeUpCost, kind: Kind) -> String {
    let seconds = time(cost.seconds(kind));
    match cost {
        WakeUpCost::ASSUMED => {
            format!("is assumed to cost {seconds}, as the CPUs were too busy to measure it")
        }
        _ => format!("costs {seconds} here"),
    }
}

/// What polling could save. A whole sleep that was shorter than a wake-up from an idle CPU found its CPU awake.
fn prospect(cost: WakeUpCost, wait: &Wait) -> String {
    let saving = time(wait.row.saving);
    if wait.row.median < cost.seconds(wait.kind) {
        return format!(
            "most of these waits found the CPUs awake, so polling first saves less than the {saving} that they took; \
             measure on a machine that does nothing else"
        );
    }
    format!("polling first could save up to {saving}")
}

/// `waits in epoll_wait at uv__io_poll`
fn subject(wait: &Wait) -> String {
    let name = &wait.row.name;
    let the = |noun: &str| if name.contains(noun) { name.clone() } else { format!("the {noun} {name}") };
    let call = match wait.kind {
        Kind::Condition | Kind::Semaphore => return format!("waits for {}", the(wait.kind.noun())),
        Kind::Barrier => return format!("waits at {}", the("barrier")),
        Kind::Join => "pthread_join",
        Kind::Poll => "poll",
        Kind::Select => "select",
        Kind::Epoll => "epoll_wait",
        Kind::Receive => "read or recv",
        Kind::Accept => "accept",
        Kind::Futex => "futex",
        _ => "System V calls",
    };
    format!("waits in {call} at {name}")
}

/// `95 % of the run`; where several threads wait at a time that is not a share.
fn share(of_the_run: f64) -> String {
    if of_the_run > 1.05 {
        format!("{of_the_run:.1} threads at any time")
    } else {
        format!("{:.0} % of the run", (100.0 * of_the_run).min(100.0))
    }
}

/// A number with a comma before each three digits.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The program's command line for a shell, if it is short and only one process was recorded; else `CMD`.
fn command(report: &Report) -> String {
    if let [process] = &report.processes[..] {
        let line = shell::line(&process.command);
        if !line.is_empty() && line.chars().count() <= COMMAND_MAX {
            return line;
        }
    }
    "CMD".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three_digits() {
        let grouped = [0, 999, 1_000, 20_000, 1_234_567].map(grouped);
        assert_eq!(grouped, ["0", "999", "1,000", "20,000", "1,234,567"]);
    }

    #[test]
    fn shares_above_one_are_threads() {
        assert_eq!(
            [0.954, 1.0, 1.04, 3.84].map(share),
            ["95 % of the run", "100 % of the run", "100 % of the run", "3.8 threads at any time"]
        );
    }
}
