//! What is shown, and what keys change. Independent of the terminal.

use super::lens_tabs::LensTab;
use super::order::{self, Id, Item, Sort};
use super::reading::{Period, Reading, Section};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::Duration;
use unspin_report::MeterReport;
use unspin_sys::child::End;

/// What a key requests from the event loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Leave; the program has ended or goes on.
    Leave,
    /// End the program with SIGTERM.
    End,
    /// Kill the program.
    Kill,
    /// Make a reading now.
    Read,
    /// Start the lens of this tab, unless it observes already.
    OpenLens(usize),
}

/// The state of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramState {
    /// It runs.
    Running,
    /// It has got SIGTERM and has not ended yet.
    Ending,
    /// It has ended.
    Ended(End),
    /// It was not started by unspin, and runs.
    Observed,
    /// It was not started by unspin, and has ended.
    Gone,
}

/// What fills the screen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Screen {
    /// The table of all locks, or of all waits.
    Table,
    /// One row in detail.
    Lock(Id),
    /// The row of the open lens with this name, in detail.
    LensRow(String),
}

/// A dialog in front of the screen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Dialog {
    /// The help.
    Help,
    /// The input of the filter, with its previous value.
    Filter(String),
    /// The question whether the program shall go on.
    Leave,
}

/// The selectable intervals, in milliseconds.
const INTERVALS_MS: [u64; 10] = [100, 250, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 600_000];

/// Everything that determines the screen.
pub struct State {
    /// The command line of the program.
    pub command: String,
    /// The program's process id.
    pub pid: u32,
    /// The state of the program.
    pub program: ProgramState,
    /// Number of recorded processes that still ran when the program had ended.
    pub survivors: usize,
    /// What fills the screen.
    pub screen: Screen,
    /// The open dialog.
    pub dialog: Option<Dialog>,
    /// The part of the table.
    pub section: Section,
    /// The tabs of the lenses.
    pub lenses: Vec<LensTab>,
    /// The lens that is shown in place of the section.
    pub lens: Option<usize>,
    /// The line under the cursor of the open lens.
    pub lens_cursor: LensCursor,
    /// The period.
    pub period: Period,
    /// The sort order.
    pub sort: Sort,
    /// The lower-case text that names must contain.
    pub filter: String,
    /// Whether the screen is paused.
    pub paused: bool,
    /// Time between two readings.
    pub interval: Duration,
    /// The latest reading, or the one at which the screen was paused.
    pub reading: Option<Reading>,
    /// The rows of the table, in order: indices into the report.
    rows: Vec<usize>,
    /// The row under the cursor.
    pub cursor: usize,
    /// The row that stays under the cursor when its position changes; none until the user moves the cursor.
    chosen: Option<Id>,
    /// The first visible row or line.
    pub top: usize,
    /// Number of rows or lines that fitted into the window when it was last drawn.
    pub page: usize,
}

impl State {
    /// The state at the start.
    pub fn new(command: String, pid: u32, interval: Duration) -> State {
        State {
            command,
            pid,
            program: ProgramState::Running,
            survivors: 0,
            screen: Screen::Table,
            dialog: None,
            section: Section::Locks,
            lenses: Vec::new(),
            lens: None,
            lens_cursor: LensCursor::default(),
            period: Period::Lately,
            sort: Sort::Lost,
            filter: String::new(),
            paused: false,
            interval,
            reading: None,
            rows: Vec::new(),
            cursor: 0,
            chosen: None,
            top: 0,
            page: 1,
        }
    }

    /// Whether a new reading would be shown.
    pub fn wants_readings(&self) -> bool {
        !self.paused && !matches!(self.program, ProgramState::Ended(_) | ProgramState::Gone)
    }

    /// Shows a reading.
    pub fn show(&mut self, reading: Reading) {
        self.reading = Some(reading);
        self.arrange();
    }

    /// Shows the last reading of a program that has ended, for the time since its start.
    pub fn end(&mut self, end: End, last: Reading) {
        self.program = ProgramState::Ended(end);
        self.paused = false;
        self.period = Period::SinceStart;
        if self.dialog == Some(Dialog::Leave) {
            self.dialog = None;
        }
        self.show(last);
    }

    /// The report of the selected period.
    pub fn report(&self) -> Option<&MeterReport> {
        self.reading.as_ref()?.report(self.period)
    }

    fn items(&self) -> Vec<Item<'_>> {
        self.report().map_or(Vec::new(), |report| Item::all(report, self.section))
    }

    /// Up to `count` rows of the table, from index `first`.
    pub fn rows(&self, first: usize, count: usize) -> impl Iterator<Item = Item<'_>> {
        let seen = self.rows.iter().skip(first).take(count);
        seen.filter_map(move |&index| Some(Item::at(self.report()?, self.section, index)))
    }

    /// Number of rows of the table, and the number without the filter.
    pub fn size(&self) -> (usize, usize) {
        (self.rows.len(), self.items().len())
    }

    /// The row that is shown in detail; none if it has no counts in the period.
    pub fn open(&self) -> Option<Item<'_>> {
        let Screen::Lock(id) = &self.screen else { return None };
        self.items().into_iter().find(|item| item.is(id))
    }

    /// Sorts and filters again. The cursor stays on its row.
    fn arrange(&mut self) {
        let items = self.items();
        let rows = order::arrange(&items, self.sort, &self.filter);
        let chosen = self.chosen.as_ref();
        let place = chosen.and_then(|id| rows.iter().position(|&index| items[index].is(id)));
        self.cursor = place.unwrap_or(self.cursor).min(rows.len().saturating_sub(1));
        self.rows = rows;
    }

    fn under_cursor(&self) -> Option<Id> {
        self.rows(self.cursor, 1).next().map(Item::id)
    }

    /// Moves the cursor to a row.
    fn choose(&mut self, row: usize) {
        self.cursor = row.min(self.rows.len().saturating_sub(1));
        self.chosen = if self.cursor == 0 { None } else { self.under_cursor() };
    }

    /// Sets the number of rows that fit, and scrolls so that the cursor is visible.
    pub fn fit_table(&mut self, page: usize) {
        self.fit(page, self.cursor, self.rows.len());
    }

    fn fit(&mut self, page: usize, cursor: usize, rows: usize) {
        self.page = page.max(1);
        let lowest = (cursor + 1).saturating_sub(self.page);
        self.top = self.top.clamp(lowest, cursor).min(rows.saturating_sub(1));
    }

    /// Sets the number of lines that fit, of all lines of the detail screen.
    pub fn fit_lines(&mut self, page: usize, lines: usize) {
        self.page = page.max(1);
        self.top = self.top.min(lines.saturating_sub(self.page));
    }

    /// Handles a key.
    pub fn press(&mut self, key: KeyEvent) -> Option<Action> {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return self.leave();
        }
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return None;
        }
        match &self.dialog {
            Some(Dialog::Help) => self.dialog = None,
            Some(Dialog::Filter(_)) => self.type_filter(key.code),
            Some(Dialog::Leave) => return self.answer(key.code),
            None => return self.command(key.code),
        }
        None
    }

    /// `q` or ^C. A second ^C leaves without a question.
    fn leave(&mut self) -> Option<Action> {
        match self.program {
            ProgramState::Ended(_) | ProgramState::Observed | ProgramState::Gone => Some(Action::Leave),
            ProgramState::Ending => Some(Action::Kill),
            ProgramState::Running if self.dialog == Some(Dialog::Leave) => self.answer(KeyCode::Char('e')),
            ProgramState::Running => {
                self.dialog = Some(Dialog::Leave);
                None
            }
        }
    }

    fn answer(&mut self, key: KeyCode) -> Option<Action> {
        let wish = match key {
            KeyCode::Char('g') => Some(Action::Leave),
            KeyCode::Char('e') => {
                self.program = ProgramState::Ending;
                Some(Action::End)
            }
            KeyCode::Esc | KeyCode::Char('c' | 'n') => None,
            _ => return None,
        };
        self.dialog = None;
        wish
    }

    fn type_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.dialog = None,
            KeyCode::Esc => {
                if let Some(Dialog::Filter(before)) = self.dialog.take() {
                    self.filter = before;
                }
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(character) => self.filter.extend(character.to_lowercase()),
            _ => {}
        }
        self.arrange();
    }

    fn command(&mut self, key: KeyCode) -> Option<Action> {
        match key {
            KeyCode::Char('q') => return self.leave(),
            KeyCode::Char('?') | KeyCode::F(1) => self.dialog = Some(Dialog::Help),
            KeyCode::Char('p' | ' ') => return self.pause(),
            KeyCode::Char('+') => self.change_interval(|now| INTERVALS_MS.into_iter().find(|&ms| ms > now)),
            KeyCode::Char('-') => {
                self.change_interval(|now| INTERVALS_MS.into_iter().rev().find(|&ms| ms < now));
            }
            KeyCode::Char('t') => {
                self.period = match self.period {
                    Period::Lately => Period::SinceStart,
                    Period::SinceStart => Period::Lately,
                };
                self.arrange();
            }
            KeyCode::Tab | KeyCode::BackTab | KeyCode::Char('1'..='9') if self.screen == Screen::Table => {
                return self.change_tab(key);
            }
            _ => match self.screen {
                Screen::Table if self.lens.is_some() => self.command_lens(key),
                Screen::Table => self.command_table(key),
                Screen::Lock(_) | Screen::LensRow(_) => self.command_detail(key),
            },
        }
        None
    }

    fn command_table(&mut self, key: KeyCode) {
        match key {
            KeyCode::Char('/') => self.dialog = Some(Dialog::Filter(self.filter.clone())),
            KeyCode::Esc => {
                self.filter.clear();
                self.arrange();
            }
            KeyCode::Char('<') | KeyCode::Left => self.sort_by(self.sort.left()),
            KeyCode::Char('>') | KeyCode::Right => self.sort_by(self.sort.right()),
            KeyCode::Char(letter) => {
                if let Some(sort) = Sort::of_letter(letter) {
                    self.sort_by(sort);
                }
            }
            KeyCode::Enter => {
                if let Some(id) = self.under_cursor() {
                    self.chosen = Some(id.clone());
                    self.screen = Screen::Lock(id);
                    self.top = 0;
                }
            }
            _ => {
                if let Some(row) = position_after(key, self.cursor, self.page, self.rows.len()) {
                    self.choose(row);
                }
            }
        }
    }

    fn command_detail(&mut self, key: KeyCode) {
        match key {
            KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => {
                self.screen = Screen::Table;
                self.top = 0;
            }
            // The number of lines is unknown here: `fit_lines` limits it.
            _ => self.top = position_after(key, self.top, self.page, usize::MAX).unwrap_or(self.top),
        }
    }

    fn sort_by(&mut self, sort: Sort) {
        self.sort = sort;
        self.arrange();
    }

    fn pause(&mut self) -> Option<Action> {
        if matches!(self.program, ProgramState::Ended(_) | ProgramState::Gone) {
            return None;
        }
        self.paused = !self.paused;
        (!self.paused).then_some(Action::Read)
    }

    fn change_interval(&mut self, next: impl Fn(u64) -> Option<u64>) {
        if let Some(ms) = next(self.interval.as_millis() as u64) {
            self.interval = Duration::from_millis(ms);
        }
    }
}

/// The position to which a key moves from position `at` of `count`; none if it does not move.
fn position_after(key: KeyCode, at: usize, page: usize, count: usize) -> Option<usize> {
    let last = count.saturating_sub(1);
    Some(match key {
        KeyCode::Up => at.saturating_sub(1),
        KeyCode::Down => at.saturating_add(1).min(last),
        KeyCode::PageUp => at.saturating_sub(page),
        KeyCode::PageDown => at.saturating_add(page).min(last),
        KeyCode::Home => 0,
        KeyCode::End => last,
        _ => return None,
    })
}

mod tabs;
pub use tabs::LensCursor;
#[cfg(test)]
mod tests;
