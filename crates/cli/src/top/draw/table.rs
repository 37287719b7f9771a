//! The table of locks, or of waits.

use super::style::Palette;
use crate::top::columns::{self, Column};
use crate::top::reading::Period;
use crate::top::state::{Program, State};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unspin_meter::{Lock, Row};

/// Draws the rows that have room.
pub fn draw(frame: &mut Frame<'_>, area: Rect, state: &mut State, palette: Palette) {
    let page = area.height.saturating_sub(1);
    state.fit_table(page.into());
    let columns = columns::that_fit(state.section, area.width);
    let mut lines = vec![titles(&columns, state, palette)];
    let seconds = divisor(state);
    for (index, lock) in state.rows(state.top, page.into()).enumerate() {
        let text = line(&columns, &lock.row, &name(lock), seconds);
        let style = if state.top + index == state.cursor { palette.chosen() } else { Default::default() };
        // As wide as the window, so that the chosen row is a bar.
        lines.push(Line::styled(format!("{text:<0$}", area.width as usize), style));
    }
    if lines.len() == 1 {
        lines.push(Line::styled(empty(state), palette.quiet()));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// What sums are divided by to be rates.
pub fn divisor(state: &State) -> f64 {
    match state.period {
        Period::SinceStart => 1.0,
        Period::Lately => {
            let report = state.reading.as_ref().and_then(|reading| reading.report(state.section, state.period));
            report.map_or(1.0, |report| report.seconds)
        }
    }
}

/// The line of titles; the one that the table is sorted by is marked.
pub fn titles(columns: &[Column], state: &State, palette: Palette) -> Line<'static> {
    let mut spans: Vec<Span<'_>> = Vec::new();
    for column in columns {
        let title = format!("{:>1$}", column.title(state.period), column.width as usize);
        let sorted = column.sort == Some(state.sort);
        spans.push(Span::styled(title, if sorted { palette.chosen().patch(palette.strong()) } else { palette.titles() }));
        spans.push(Span::styled(" ", palette.titles()));
    }
    spans.push(Span::styled(" NAME", palette.titles()));
    Line::from(spans)
}

/// A row under a name.
pub fn line(columns: &[Column], row: &Row, name: &str, seconds: f64) -> String {
    let mut text = String::new();
    for column in columns {
        text += &format!("{:>1$} ", column.text(row, seconds), column.width as usize);
    }
    text + " " + name
}

fn name(lock: &Lock) -> String {
    match lock.locks {
        1 => lock.row.name.clone(),
        n => format!("({n}) {}", lock.row.name),
    }
}

fn empty(state: &State) -> String {
    let (_, all) = state.size();
    match (&state.reading, state.period, state.program) {
        (None, ..) => "".into(),
        _ if all > 0 => " No name contains the filter; Esc takes it away.".into(),
        (_, Period::Lately, _) => " Nothing was used in the last interval; t shows all since the start.".into(),
        (_, _, Program::Ended(_)) => " Nothing was recorded.".into(),
        _ => " Nothing has been recorded yet.".into(),
    }
}
