//! The terminal: taken at the beginning, given back in any case.

use super::draw::{self, Palette};
use super::state::State;
use crate::error::Error;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use std::io::IsTerminal;
use std::time::Duration;

/// A terminal in our hands. Dropping it gives it back, and so does a panic; signals that would end us are noted instead (see
/// `signals`), so that it is dropped. Only SIGKILL leaves it as it is.
pub struct Terminal {
    terminal: DefaultTerminal,
    palette: Palette,
}

/// Something came from the terminal.
pub enum Input {
    /// A key.
    Key(KeyEvent),
    /// The window has another size, or there is another reason to draw.
    Redraw,
}

impl Terminal {
    /// Whether there is a terminal to show anything on, and a person to press keys.
    pub fn check() -> Result<(), Error> {
        if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
            return Ok(());
        }
        Err(Error::Usage(
            "top: standard input and output must be a terminal; `unspin meter` needs none".into(),
        ))
    }

    /// Takes the terminal: its alternate screen, and each key as it is pressed.
    pub fn enter() -> Result<Terminal, Error> {
        // This installs a panic hook that gives the terminal back.
        let terminal = ratatui::try_init().inspect_err(|_| ratatui::restore()).map_err(failed)?;
        Ok(Terminal { terminal, palette: Palette::from_environment() })
    }

    /// Draws the picture.
    pub fn draw(&mut self, state: &mut State) -> Result<(), Error> {
        let palette = self.palette;
        self.terminal.draw(|frame| draw::draw(frame, state, palette)).map(drop).map_err(failed)
    }

    /// What comes from the terminal within that time.
    pub fn input(&self, patience: Duration) -> Result<Option<Input>, Error> {
        if !event::poll(patience).map_err(failed)? {
            return Ok(None);
        }
        Ok(Some(match event::read().map_err(failed)? {
            Event::Key(key) if key.kind != KeyEventKind::Release => Input::Key(key),
            _ => Input::Redraw,
        }))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::Environment(format!("the terminal: {error}"))
}
