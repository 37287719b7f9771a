//! The table of a lens that reads the kernel's events.

use super::style::Palette;
use crate::top::lens_tabs::Content;
use crate::top::reading::Period;
use crate::top::state::State;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};

/// Draws the lines that fit, or why there are none.
pub fn draw(frame: &mut Frame<'_>, area: Rect, state: &mut State, palette: Palette) {
    let Some(table) = state.lens_table() else {
        let tab = state.lens.and_then(|lens| state.lenses.get(lens));
        let line = match tab.map(|tab| &tab.content) {
            Some(Content::Failed(why)) => Line::styled(why.clone(), palette.alarm()),
            _ => Line::styled(" It observes from now on; the first reading follows.", palette.quiet()),
        };
        frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: false }), area);
        return;
    };
    let notes = state.lens_notes();
    let (titles, rows) = table.lines(area.width);
    let page = area.height.saturating_sub(1 + notes.len() as u16);
    state.fit_lens(page.into(), &table);
    let mut lines = vec![Line::styled(titles, palette.titles())];
    let is_idle = rows.len() == 1;
    for (at, text) in rows.into_iter().enumerate().skip(state.top).take(page.into()) {
        let style = if at == state.lens_cursor.at { palette.cursor_row() } else { Default::default() };
        // Padded to the width of the window, so that the cursor is a bar.
        lines.push(Line::styled(format!("{text:<0$}", area.width as usize), style));
    }
    if is_idle {
        let text = match state.period {
            Period::Lately => " No thread waited in the last interval; t shows all since the tab was opened.",
            Period::SinceStart => " No thread has waited yet.",
        };
        lines.push(Line::styled(text, palette.quiet()));
    }
    lines.extend(notes.into_iter().map(|note| Line::styled(format!(" {note}"), palette.alarm())));
    frame.render_widget(Paragraph::new(lines), area);
}

/// Draws the row that is open in detail, from the first visible line.
pub fn draw_row(frame: &mut Frame<'_>, area: Rect, state: &mut State, palette: Palette) {
    let detail = state.lens_detail(area.width.into()).unwrap_or_else(|| {
        let line = match state.period {
            Period::Lately => {
                "Nothing more is known of it in the last interval; t shows all since the tab was opened."
            }
            Period::SinceStart => "Nothing more is known of it.",
        };
        vec![line.to_owned()]
    });
    state.fit_lines(area.height.into(), detail.len());
    let mut lines: Vec<Line<'_>> = detail.into_iter().map(Line::raw).collect();
    if let Some(name) = lines.first_mut() {
        *name = std::mem::take(name).style(palette.strong());
    }
    let seen = lines.into_iter().skip(state.top).take(area.height.into());
    frame.render_widget(Paragraph::new(seen.collect::<Vec<_>>()), area);
}
