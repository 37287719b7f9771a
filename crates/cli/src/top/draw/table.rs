//! The table of locks or waits.

use super::style::Palette;
use crate::top::columns::{self, LOCKS, WAITS};
use crate::top::order::Item;
use crate::top::reading::{Period, Section};
use crate::top::state::{ProgramState, State};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unspin_report::Table;

/// Draws the rows that fit.
pub fn draw(frame: &mut Frame<'_>, area: Rect, state: &mut State, palette: Palette) {
    let page = area.height.saturating_sub(1);
    state.fit_table(page.into());
    let mut lines = vec![match state.section {
        Section::Locks => titles(&columns::that_fit(&LOCKS, area.width), state, palette),
        Section::Waits => titles(&columns::that_fit(&WAITS, area.width), state, palette),
    }];
    for (index, item) in state.rows(state.top, page.into()).enumerate() {
        let text = item_line(item, state, area.width);
        let style = if state.top + index == state.cursor { palette.cursor_row() } else { Default::default() };
        // Padded to the width of the window, so that the cursor is a bar.
        lines.push(Line::styled(format!("{text:<0$}", area.width as usize), style));
    }
    if lines.len() == 1 {
        lines.push(Line::styled(empty(state), palette.quiet()));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn item_line(item: Item<'_>, state: &State, width: u16) -> String {
    let Some(report) = state.report() else { return String::new() };
    let scale = columns::units(report, state.period);
    match item {
        Item::Lock(lock) => columns::that_fit(&LOCKS, width).line(&lock.row, &item.label(), &scale),
        Item::Wait(wait) => columns::that_fit(&WAITS, width).line(&wait.row, &item.label(), &scale),
    }
}

/// The line of titles; the title of the sort column is marked.
pub fn titles<R>(table: &Table<R>, state: &State, palette: Palette) -> Line<'static> {
    let mut spans: Vec<Span<'_>> = Vec::new();
    for column in table.columns() {
        let title = column.screen_title(state.period.figures());
        let sorted = columns::sort(column) == Some(state.sort.within(state.section));
        spans.push(Span::styled(title, if sorted { palette.sort_column() } else { palette.titles() }));
        spans.push(Span::styled(" ", palette.titles()));
    }
    spans.push(Span::styled(" NAME", palette.titles()));
    Line::from(spans)
}

fn empty(state: &State) -> String {
    let (_, all) = state.size();
    match (&state.reading, state.period, state.program) {
        (None, ..) => String::new(),
        _ if all > 0 => " No name contains the filter; Esc removes it.".into(),
        (_, Period::Lately, _) => {
            " Nothing was used in the last interval; t shows all since the start.".into()
        }
        (_, _, ProgramState::Ended(_)) => " Nothing was recorded.".into(),
        _ => " Nothing has been recorded yet.".into(),
    }
}
