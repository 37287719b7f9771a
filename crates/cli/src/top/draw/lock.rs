//! One lock: who holds it, who uses it, for how long.

use super::style::Palette;
use super::table;
use crate::top::columns;
use crate::top::reading::{Detail, Holder};
use crate::top::state::{Screen, State};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unspin_meter::figures::{count, percent, time};
use unspin_meter::{BUCKETS, Histogram};

/// Holders that are shown.
const HOLDERS: usize = 8;
/// From this width on the histograms stand side by side.
const WIDE: u16 = 96;

/// Draws the lines from the first one that is seen.
pub fn draw(frame: &mut Frame<'_>, area: Rect, state: &mut State, palette: Palette) {
    let lines = lines(state, area.width, palette);
    state.fit_lines(area.height.into(), lines.len());
    let seen = lines.into_iter().skip(state.top).take(area.height.into());
    frame.render_widget(Paragraph::new(seen.collect::<Vec<_>>()), area);
}

fn lines(state: &State, width: u16, palette: Palette) -> Vec<Line<'static>> {
    let Screen::Lock(name) = &state.screen else { return Vec::new() };
    let mut lines = vec![Line::styled(name.clone(), palette.strong())];
    let Some(detail) = state.detail() else {
        lines.push(Line::raw(" It was not used in the last interval; t shows all since the start."));
        return lines;
    };
    lines.extend(held_now(&detail.holders, palette));
    let columns = columns::that_fit(state.section, width);
    let seconds = table::divisor(state);
    lines.push(table::titles(&columns, state, palette));
    lines.push(Line::raw(table::line(&columns, &detail.lock.row, "all", seconds)));
    for caller in &detail.lock.callers {
        lines.push(Line::raw(table::line(&columns, caller, &format!("  {}", caller.name), seconds)));
    }
    lines.push(Line::raw(""));
    lines.extend(histograms(&detail, width, palette));
    lines
}

fn held_now(holders: &[Holder], palette: Palette) -> Vec<Line<'static>> {
    if holders.is_empty() {
        return vec![Line::styled("held by nobody at this moment", palette.quiet())];
    }
    let mut lines: Vec<Line<'_>> = holders.iter().take(HOLDERS).map(|holder| {
        let since = holder.seconds.map_or(String::new(), |seconds| format!(" for {}", time(seconds)));
        let Holder { pid, tid, caller, .. } = holder;
        Line::raw(format!("held by thread {tid} of process {pid}{since}, taken in {caller}"))
    }).collect();
    if let Some(more @ 1..) = holders.len().checked_sub(HOLDERS) {
        lines.push(Line::raw(format!("and by {more} others")));
    }
    lines
}

/// Both, beside or below each other.
fn histograms(detail: &Detail, width: u16, palette: Palette) -> Vec<Line<'static>> {
    let each = if width >= WIDE { (width / 2).saturating_sub(1) } else { width };
    let holds = bars("HELD", &detail.holds, detail.ticks_per_second, each, palette);
    let waits = bars("WAITED", &detail.waits, detail.ticks_per_second, each, palette);
    if width < WIDE {
        return [holds, vec![Line::raw("")], waits].concat();
    }
    let (mut left, mut right) = (holds.into_iter(), waits.into_iter());
    let mut lines = Vec::new();
    loop {
        let (left, right) = (left.next(), right.next());
        if left.is_none() && right.is_none() {
            return lines;
        }
        let mut line = left.unwrap_or_default();
        let gap = (each as usize + 2).saturating_sub(line.width());
        line.push_span(Span::raw(" ".repeat(gap)));
        line.spans.extend(right.unwrap_or_default().spans);
        lines.push(line);
    }
}

/// Characters before and behind a bar.
const FRAME: u16 = 13 + 6 + 11;

/// A bar for each bucket from the first to the last that is not empty.
fn bars(title: &str, of: &Histogram, ticks_per_second: f64, width: u16, palette: Palette) -> Vec<Line<'static>> {
    let counts = of.counts();
    let all = counts.iter().fold(0u64, |sum, &n| sum.saturating_add(n));
    let mut lines = vec![Line::styled(format!("{title:<13}{:>6}{:>11}", "share", "times"), palette.titles())];
    let Some(first) = counts.iter().position(|&n| n > 0) else {
        lines.push(Line::styled(format!("no time was taken of being {}", title.to_lowercase()), palette.quiet()));
        return lines;
    };
    let last = counts.iter().rposition(|&n| n > 0).unwrap_or(first);
    let most = counts.iter().copied().max().unwrap_or(1);
    let room = width.saturating_sub(FRAME + 1);
    for bucket in first..=last {
        let n = counts[bucket];
        let range = of.ticks(bucket);
        let end = |ticks: u64| time(ticks as f64 / ticks_per_second);
        let label = match bucket {
            0 => format!("     < {:>5}", end(range.end)),
            _ if bucket + 1 == BUCKETS => format!("    >= {:>5}", end(range.start)),
            _ => format!("{:>5}- {:>5}", end(range.start), end(range.end)),
        };
        let share = n as f64 / all.max(1) as f64;
        let text = format!("{label:<13}{:>6}{:>11} ", percent(share), count(n));
        lines.push(Line::from(vec![Span::raw(text), Span::styled(bar(n, most, room), palette.bar())]));
    }
    lines
}

/// In eighths of a character. Whatever is not nothing is to be seen.
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
    fn bars_are_as_long_as_they_should_be() {
        assert_eq!([bar(0, 10, 4), bar(5, 10, 4), bar(10, 10, 4)], ["", "██", "████"]);
        assert_eq!([bar(1, 1_000_000, 4), bar(9, 16, 2), bar(1, 1, 0)], ["▏", "█▏", ""]);
    }
}
