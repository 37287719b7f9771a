//! The tabs: which one is open, and what the keys change.

use super::{Action, Dialog, ProgramState, Screen, State, position_after};
use crate::top::lens_tabs::Content;
use crate::top::reading::Section;
use ratatui::crossterm::event::KeyCode;
use unspin_observe::lens::rows::{LensLine, LensTable};

/// The cursor in the table of a lens.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LensCursor {
    /// The cursor's position.
    pub at: usize,
    /// The line that stays under it when the position of the line changes; none at the top.
    line: Option<LensLine>,
}

impl State {
    /// The table of the open lens; none if a section is shown, or nothing was read yet.
    pub fn lens_table(&self) -> Option<LensTable> {
        self.lenses.get(self.lens?)?.table(self.period, &self.filter)
    }

    /// What is missing in the table of the open lens.
    pub fn lens_notes(&self) -> Vec<String> {
        let content = self.lens.and_then(|lens| self.lenses.get(lens)).map(|tab| &tab.content);
        if let Some(Content::Reading(reading)) = content { reading.notes.clone() } else { Vec::new() }
    }

    /// Sets the number of lines of the lens's table that fit, keeps the cursor on its line, and scrolls so that it is visible.
    pub fn fit_lens(&mut self, page: usize, table: &LensTable) {
        let chosen = self.lens_cursor.line.as_ref();
        let before = self.lens_cursor.at;
        // Two rows may look the same: the nearest one is meant.
        let same = |&at: &usize| chosen.is_some_and(|chosen| table.line(at) == Some(chosen));
        let place = (0..table.size()).filter(same).min_by_key(|at| at.abs_diff(before));
        let at = place.unwrap_or(before).min(table.size().saturating_sub(1));
        self.lens_cursor.at = at;
        self.fit(page, at, table.size());
    }

    /// The lines about the row of the lens that is open in detail; none if it is not there in the period.
    pub fn lens_detail(&self, width: usize) -> Option<Vec<String>> {
        let Screen::LensRow(name) = &self.screen else { return None };
        self.lenses.get(self.lens?)?.reports(self.period)?.detail(name, width)
    }

    /// Handles a key in the tab of a lens.
    pub(super) fn command_lens(&mut self, key: KeyCode) {
        let table = self.lens_table();
        match key {
            KeyCode::Char('/') => self.dialog = Some(Dialog::Filter(self.filter.clone())),
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Enter => {
                if let Some(line) = table.as_ref().and_then(|table| table.line(self.lens_cursor.at)) {
                    self.screen = Screen::LensRow(line.name.clone());
                    self.lens_cursor.line = Some(line.clone());
                    self.top = 0;
                }
            }
            _ => {
                let Some(table) = table else { return };
                if let Some(at) = position_after(key, self.lens_cursor.at, self.page, table.size()) {
                    let line = if at == 0 { None } else { table.line(at).cloned() };
                    self.lens_cursor = LensCursor { at, line };
                }
            }
        }
    }

    /// Whether the preload library records: only a program that unspin has started.
    pub fn has_pthread(&self) -> bool {
        !matches!(self.program, ProgramState::Observed | ProgramState::Gone)
    }

    /// Number of tabs of the pthread lens.
    pub fn sections(&self) -> &'static [Section] {
        if self.has_pthread() { &[Section::Locks, Section::Waits] } else { &[] }
    }

    /// Number of the open tab, from 0.
    fn tab(&self) -> usize {
        match self.lens {
            Some(lens) => self.sections().len() + lens,
            None => self.section as usize,
        }
    }

    /// Opens the next tab, the one before, or the one with a number.
    pub(super) fn change_tab(&mut self, key: KeyCode) -> Option<Action> {
        let tabs = self.sections().len() + self.lenses.len();
        let tab = match key {
            KeyCode::Tab => (self.tab() + 1) % tabs,
            KeyCode::BackTab => (self.tab() + tabs - 1) % tabs,
            KeyCode::Char(digit) => digit.to_digit(10)? as usize - 1,
            _ => return None,
        };
        if tab >= tabs {
            return None;
        }
        self.open_tab(tab)
    }

    /// Opens the tab with this number, from 0.
    pub fn open_tab(&mut self, tab: usize) -> Option<Action> {
        (self.cursor, self.chosen, self.top) = (0, None, 0);
        self.lens_cursor = LensCursor::default();
        match self.sections().get(tab) {
            Some(&section) => (self.section, self.lens) = (section, None),
            None => self.lens = Some(tab - self.sections().len()),
        }
        self.arrange();
        self.lens.map(Action::OpenLens)
    }
}
