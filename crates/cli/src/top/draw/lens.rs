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
    state.fit_lines(page.into(), rows.len());
    let mut lines = vec![Line::styled(titles, palette.titles())];
    let is_idle = rows.len() == 1;
    lines.extend(rows.into_iter().skip(state.top).take(page.into()).map(Line::raw));
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
