//! One lock in detail: its holders, its callers, and its histograms.

use super::style::Palette;
use super::table;
use crate::top::columns::{self, LOCKS, WAITS};
use crate::top::order::{Id, Item};
use crate::top::state::{Screen, State};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unspin_report::figures::{Percent, count, time};
use unspin_report::{Table, Times, Units};
use unspin_wire::RecordKind;

/// Maximum number of holders that are shown.
const HOLDERS: usize = 8;
/// From this width on, the histograms are side by side.
const WIDE: u16 = 96;

/// Draws the lines from the first visible one.
pub fn draw(frame: &mut Frame<'_>, area: Rect, state: &mut State, palette: Palette) {
    let lines = lines(state, area.width, palette);
    state.fit_lines(area.height.into(), lines.len());
    let seen = lines.into_iter().skip(state.top).take(area.height.into());
    frame.render_widget(Paragraph::new(seen.collect::<Vec<_>>()), area);
}

fn lines(state: &State, width: u16, palette: Palette) -> Vec<Line<'static>> {
    let Screen::Lock(id) = &state.screen else { return Vec::new() };
    let mut lines = vec![heading(id, palette)];
    let (Some(report), Some(item)) = (state.report(), state.open()) else {
        lines.extend(held_now(id, state, palette));
        lines.push(Line::raw("It was not used in the last interval; t shows all since the start."));
        return lines;
    };
    let scale = columns::units(report, state.period);
    match item {
        Item::Lock(lock) => {
            lines.extend(held_now(id, state, palette));
            let columns = columns::that_fit(&LOCKS, width);
            lines.push(table::titles(&columns, state, palette));
            lines.push(Line::raw(columns.line(&lock.row, &format!("all of {}", item.label()), &scale)));
            for (kind, caller) in lock.callers() {
                lines.push(caller_line(
                    &columns,
                    &caller.row,
                    &caller.row.name,
                    caller.place.as_deref(),
                    Some(kind),
                    &scale,
                ));
            }
            lines.push(Line::raw(""));
            lines.extend(side_by_side(&lock.holds, &lock.waits, width, palette));
        }
        Item::Wait(wait) => {
            let columns = columns::that_fit(&WAITS, width);
            lines.push(table::titles(&columns, state, palette));
            lines.push(Line::raw(columns.line(&wait.row, &format!("all of {}", item.label()), &scale)));
            for caller in &wait.callers {
                lines.push(caller_line(
                    &columns,
                    &caller.row,
                    &caller.row.name,
                    caller.place.as_deref(),
                    None,
                    &scale,
                ));
            }
            lines.push(Line::raw(""));
            lines.extend(bars("WAITED", &wait.times, width, palette));
        }
    }
    lines
}

fn heading(id: &Id, palette: Palette) -> Line<'static> {
    let mut spans = vec![Span::styled(id.name.clone(), palette.strong())];
    spans.extend(id.origin.as_ref().map(|origin| Span::styled(format!("  {origin}"), palette.quiet())));
    Line::from(spans)
}

fn caller_line<R>(
    columns: &Table<R>,
    row: &R,
    name: &str,
    place: Option<&str>,
    kind: Option<RecordKind>,
    scale: &Units,
) -> Line<'static> {
    let mut name = format!("  {name}");
    name.extend(place.map(|place| format!(" {place}")));
    name += match kind {
        Some(RecordKind::Read) => " (reads)",
        Some(RecordKind::Write) => " (writes)",
        Some(RecordKind::Reacquired) => " (after cond wait)",
        _ => "",
    };
    Line::raw(columns.line(row, &name, scale))
}

fn held_now(id: &Id, state: &State, palette: Palette) -> Vec<Line<'static>> {
    let Some(reading) = &state.reading else { return Vec::new() };
    let holders = reading.holders(&id.name);
    if holders.is_empty() {
        return vec![Line::styled("not held at this moment", palette.quiet())];
    }
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (held, seconds) in holders.iter().take(HOLDERS) {
        let since = seconds.map_or(String::new(), |seconds| format!(" for {}", time(seconds)));
        let thread = match held.tid {
            0 => "a thread that has ended".into(),
            tid => format!("thread {tid}"),
        };
        let text = format!("held by {thread} of process {}{since}, taken in {}", held.pid, held.caller);
        lines.push(Line::raw(text));
    }
    if let Some(more @ 1..) = holders.len().checked_sub(HOLDERS) {
        lines.push(Line::raw(format!("and by {more} others")));
    }
    lines
}

/// Both histograms, beside or below each other.
fn side_by_side(holds: &Times, waits: &Times, width: u16, palette: Palette) -> Vec<Line<'static>> {
    let each = if width >= WIDE { width / 2 - 1 } else { width };
    let holds = bars("HELD", holds, each, palette);
    let waits = bars("WAITED", waits, each, palette);
    if width < WIDE {
        return [holds, vec![Line::raw("")], waits].concat();
    }
    let mut lines = Vec::new();
    for row in 0..holds.len().max(waits.len()) {
        let mut line = holds.get(row).cloned().unwrap_or_default();
        let gap = (each as usize + 2).saturating_sub(line.width());
        line.push_span(Span::raw(" ".repeat(gap)));
        for span in waits.get(row).map_or(&[][..], |line| &line.spans) {
            line.push_span(span.clone());
        }
        lines.push(line);
    }
    lines
}

/// Width before a bar: range, share, number.
const BEFORE: u16 = 12 + 6 + 11 + 1;

/// One bar for each range from the first to the last that is not empty.
fn bars(title: &str, times: &Times, width: u16, palette: Palette) -> Vec<Line<'static>> {
    let titles = format!("{title:<12}{:>6}{:>11}", "share", "times");
    let mut lines = vec![Line::from(Span::styled(titles, palette.titles()))];
    let most = times.ranges().iter().map(|range| range.count).max();
    let Some(most) = most else {
        lines.push(Line::from(Span::styled("no time is known", palette.quiet())));
        return lines;
    };
    let mut reached = None;
    for range in times.ranges() {
        // The report leaves out empty ranges. Missing bars would mislead.
        while let Some(from) = reached.filter(|&from| range.from > from * 1.01) {
            lines.push(Line::raw(range_text(from, Some(2.0 * from), 0, 0.0)));
            reached = Some(2.0 * from);
        }
        let share = range.count as f64 / times.count() as f64;
        lines.push(Line::from(vec![
            Span::raw(range_text(range.from, range.below, range.count, share)),
            Span::styled(bar(range.count, most, width.saturating_sub(BEFORE + 1)), palette.bar()),
        ]));
        reached = range.below;
    }
    lines
}

fn range_text(from: f64, below: Option<f64>, n: u64, share: f64) -> String {
    let label = match below {
        Some(below) if from == 0.0 => format!("    < {:>5}", time(below)),
        Some(below) => format!("{:>5}-{:>5}", time(from), time(below)),
        None => format!("   >= {:>5}", time(from)),
    };
    format!("{label:<12}{:>6}{:>11} ", Percent::Column.of(share), count(n))
}

/// The length in eighths of a character. Every value above zero is visible.
fn bar(n: u64, most: u64, room: u16) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (n as f64 / most as f64 * f64::from(room) * 8.0).round() as usize;
    let eighths = if n > 0 && room > 0 { eighths.max(1) } else { eighths };
    let mut bar = "█".repeat(eighths / 8);
    if eighths % 8 > 0 {
        bar.push(EIGHTHS[eighths % 8]);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_length_is_proportional() {
        assert_eq!([bar(0, 10, 4), bar(5, 10, 4), bar(10, 10, 4)], ["", "██", "████"]);
        assert_eq!([bar(1, 1_000_000, 4), bar(9, 16, 2), bar(1, 1, 0)], ["▏", "█▏", ""]);
    }
}
