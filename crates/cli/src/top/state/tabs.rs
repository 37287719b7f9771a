//! The tabs: which one is open, and what the keys change.

use super::{Action, ProgramState, State};
use crate::top::lens_rows::LensTable;
use crate::top::lens_tabs::Content;
use crate::top::reading::Section;
use ratatui::crossterm::event::KeyCode;

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
        match self.sections().get(tab) {
            Some(&section) => (self.section, self.lens) = (section, None),
            None => self.lens = Some(tab - self.sections().len()),
        }
        self.arrange();
        self.lens.map(Action::OpenLens)
    }
}
